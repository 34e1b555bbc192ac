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

/** What an app offers: filled in once, by {@link ToolProvider#declare}. */
public final class Declaration {
    private final Map<String, Tool> tools = new LinkedHashMap<>();
    private final Map<String, McpDoor> mcp = new LinkedHashMap<>();
    private final JSONArray scopes = new JSONArray();
    private String name;
    private String description;
    private RateLimit limit;

    Declaration() {}

    /**
     * Says what the app is, to those who ask ({@code get_provider_info}). Without it they are told nothing.
     *
     * @param providerName how users know it
     * @param providerDescription what data it has
     * @return this
     */
    public Declaration info(String providerName, String providerDescription) {
        name = Objects.requireNonNull(providerName, "providerName");
        description = Objects.requireNonNull(providerDescription, "providerDescription");
        return this;
    }

    /**
     * Names a part of the app's data, for {@code get_provider_info}.
     *
     * @param scopeName short
     * @param scopeDescription what it holds
     * @return this
     */
    public Declaration scope(String scopeName, String scopeDescription) {
        scopes.put(object("name", scopeName, "description", scopeDescription));
        return this;
    }

    /**
     * Offers a tool.
     *
     * @param tool of a name that no other has
     * @return this
     */
    public Declaration tool(Tool tool) {
        if (tools.put(tool.name(), tool) != null) {
            throw new IllegalArgumentException("two tools are named " + tool.name());
        }
        return this;
    }

    /**
     * Bounds how often one caller may run tools. There is no bound without it.
     *
     * @param rateLimit the bound
     * @return this
     */
    public Declaration limit(RateLimit rateLimit) {
        limit = rateLimit;
        return this;
    }

    /**
     * Serves a tool in the dialects of MCP that know one tool for each authority. The authorities that are not
     * named here or in {@link #mcpTools} speak CETP.
     *
     * @param authority of a provider in the manifest
     * @param toolName of a declared tool
     * @return this
     */
    public Declaration mcpTool(String authority, String toolName) {
        return door(authority, false, toolName);
    }

    /**
     * Serves tools in the dialect of MCP that knows several for each authority.
     *
     * @param authority of a provider in the manifest
     * @param toolNames of declared tools
     * @return this
     */
    public Declaration mcpTools(String authority, String... toolNames) {
        return door(authority, true, toolNames);
    }

    private Declaration door(String authority, boolean several, String... names) {
        if (mcp.put(authority, new McpDoor(several, Arrays.asList(names))) != null) {
            throw new IllegalArgumentException(authority + " is named twice");
        }
        return this;
    }

    /** To be called when all is declared. */
    Declaration checked() {
        for (Map.Entry<String, McpDoor> door : mcp.entrySet()) {
            for (String tool : door.getValue().tools) {
                if (!tools.containsKey(tool)) {
                    throw new IllegalArgumentException(door.getKey() + " is to serve " + tool + ", which is no tool");
                }
            }
        }
        return this;
    }

    RateLimit limit() {
        return limit;
    }

    /** Null where there is none. */
    Tool find(String toolName) {
        return tools.get(toolName);
    }

    Collection<Tool> tools() {
        return Collections.unmodifiableCollection(tools.values());
    }

    /** Null where the authority speaks CETP. */
    McpDoor door(String authority) {
        return mcp.get(authority);
    }

    /** Null where nothing was said. */
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

    /** What an authority serves in MCP. */
    static final class McpDoor {
        final boolean several;
        final List<String> tools;

        McpDoor(boolean several, List<String> tools) {
            this.several = several;
            this.tools = new ArrayList<>(tools);
        }
    }
}
