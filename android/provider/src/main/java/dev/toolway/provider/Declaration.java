package dev.toolway.provider;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** The app's tools and properties, set once by {@link ToolProvider#declare}. */
public final class Declaration {
    private final Map<String, Tool> tools = new LinkedHashMap<>();
    private final Map<String, McpEndpoint> mcp = new LinkedHashMap<>();
    private final JSONArray scopes = new JSONArray();
    private String name;
    private String description;
    private RateLimit limit;

    Declaration() {}

    /**
     * Describes the app for {@code get_provider_info}. Without it, that method returns nothing.
     *
     * @param providerName name that users know
     * @param providerDescription description of its data
     * @return this
     */
    public Declaration info(String providerName, String providerDescription) {
        name = Objects.requireNonNull(providerName, "providerName");
        description = Objects.requireNonNull(providerDescription, "providerDescription");
        return this;
    }

    /**
     * Adds a part of the app's data for {@code get_provider_info}.
     *
     * @param scopeName short name
     * @param scopeDescription description of its content
     * @return this
     */
    public Declaration scope(String scopeName, String scopeDescription) {
        scopes.put(object("name", scopeName, "description", scopeDescription));
        return this;
    }

    /**
     * Adds a tool.
     *
     * @param tool the tool; its name must be unique
     * @return this
     */
    public Declaration tool(Tool tool) {
        if (tools.put(tool.name(), tool) != null) {
            throw new IllegalArgumentException("two tools have the name " + tool.name());
        }
        return this;
    }

    /**
     * Limits how often one caller may run tools. The default is no limit.
     *
     * @param rateLimit the limit
     * @return this
     */
    public Declaration limit(RateLimit rateLimit) {
        limit = rateLimit;
        return this;
    }

    /**
     * Serves a tool in the MCP dialects with one tool per authority. Authorities without a call of this method or
     * {@link #mcpTools} use CETP.
     *
     * @param authority authority of a provider in the manifest
     * @param toolName name of a declared tool
     * @return this
     */
    public Declaration mcpTool(String authority, String toolName) {
        return endpoint(authority, false, toolName);
    }

    /**
     * Serves tools in the MCP dialect with several tools per authority.
     *
     * @param authority authority of a provider in the manifest
     * @param toolNames names of declared tools
     * @return this
     */
    public Declaration mcpTools(String authority, String... toolNames) {
        return endpoint(authority, true, toolNames);
    }

    private Declaration endpoint(String authority, boolean several, String... names) {
        if (mcp.put(authority, new McpEndpoint(several, Arrays.asList(names))) != null) {
            throw new IllegalArgumentException(authority + " is declared twice");
        }
        return this;
    }

    /** Completes the declaration. */
    Declaration checked() {
        for (Map.Entry<String, McpEndpoint> endpoint : mcp.entrySet()) {
            for (String tool : endpoint.getValue().tools) {
                if (!tools.containsKey(tool)) {
                    throw new IllegalArgumentException(
                            endpoint.getKey() + " serves " + tool + ", which is not a declared tool");
                }
            }
        }
        return this;
    }

    RateLimit limit() {
        return limit;
    }

    /** Returns null if there is none. */
    Tool find(String toolName) {
        return tools.get(toolName);
    }

    Collection<Tool> tools() {
        return Collections.unmodifiableCollection(tools.values());
    }

    /** Returns null if the authority uses CETP. */
    McpEndpoint endpoint(String authority) {
        return mcp.get(authority);
    }

    /** Returns null if {@link #info} was not called. */
    JSONObject info() {
        if (name == null) {
            return null;
        }
        JSONObject info = object("provider_name", name, "description", description);
        return scopes.length() == 0 ? info : with(info, "scopes", scopes);
    }

    static JSONObject object(String key, Object value, String otherKey, Object otherValue) {
        return with(with(new JSONObject(), key, value), otherKey, otherValue);
    }

    static JSONObject with(JSONObject object, String key, Object value) {
        try {
            return object.put(key, Objects.requireNonNull(value, key));
        } catch (JSONException error) {
            throw new IllegalArgumentException(key + ": " + error.getMessage(), error);
        }
    }

    /** Tools that an authority serves in MCP. */
    static final class McpEndpoint {
        final boolean several;
        final List<String> tools;

        McpEndpoint(boolean several, List<String> tools) {
            this.several = several;
            this.tools = new ArrayList<>(tools);
        }
    }
}
