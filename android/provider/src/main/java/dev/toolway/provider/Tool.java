package dev.toolway.provider;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** A tool: its name, description, parameters and code. */
public final class Tool {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    private final String name;
    private final String description;
    private final JSONObject parameters;
    private final SchemaCheck check;
    private final ToolCode code;
    private final boolean acts;

    /**
     * Creates a read-only tool.
     *
     * @param name 1 to 64 letters (A to Z, a to z), digits, {@code _} and {@code -}; unique among the tools of this
     *     app
     * @param description its purpose and use, for the model that chooses a tool
     * @param parameters the schema of an object
     * @param code the code that runs it
     * @throws IllegalArgumentException if the name or the schema is invalid
     */
    public Tool(String name, String description, Schema parameters, ToolCode code) {
        this(name, description, StrictCopy.of(parameters), code, false);
    }

    private Tool(String name, String description, JSONObject parameters, ToolCode code, boolean acts) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "tool " + JsonValues.shown(name) + ": a name has 1 to 64 of A-Z, a-z, 0-9, _ and -");
        }
        this.name = name;
        this.description = Objects.requireNonNull(description, "description");
        this.parameters = parameters;
        this.code = Objects.requireNonNull(code, "code");
        this.acts = acts;
        try {
            check = SchemaCheck.of(parameters, "");
            if (!"object".equals(parameters.opt("type"))) {
                throw new IllegalArgumentException("schema: /type must be \"object\"");
            }
            checkDefaults();
        } catch (IllegalArgumentException error) {
            throw new IllegalArgumentException("tool " + name + ": " + error.getMessage(), error);
        }
    }

    /**
     * Marks the tool as one that changes, sends or deletes something. CETP version 1 does not list such tools; the
     * MCP dialects do.
     *
     * @return the marked tool
     */
    public Tool thatActs() {
        return new Tool(name, description, parameters, code, true);
    }

    /**
     * Returns the name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    String description() {
        return description;
    }

    boolean acts() {
        return acts;
    }

    ToolCode code() {
        return code;
    }

    /** Returns the schema of its parameters. Do not change it. */
    JSONObject parameters() {
        return parameters;
    }

    /** Returns the schemas of the single parameters. Do not change them. */
    JSONObject properties() {
        JSONObject properties = parameters.optJSONObject("properties");
        return properties == null ? new JSONObject() : properties;
    }

    String[] required() {
        JSONArray required = parameters.optJSONArray("required");
        String[] names = new String[required == null ? 0 : required.length()];
        for (int i = 0; i < names.length; i++) {
            names[i] = required.optString(i);
        }
        return names;
    }

    /** Returns the allowed types of an argument; null if any is allowed. */
    List<String> typesOf(String argument) {
        return check.typesOf(argument);
    }

    /** Validates arguments against the schema and fills in defaults. */
    void prepare(JSONObject arguments) throws ToolException {
        removeNulls(arguments);
        Violations found = new Violations();
        check.check(arguments, "", found);
        if (!found.isEmpty()) {
            throw ToolException.invalidArgs("invalid arguments: " + found);
        }
        JSONObject properties = properties();
        for (Iterator<String> names = properties.keys(); names.hasNext(); ) {
            String argument = names.next();
            Object value = defaultOf(argument);
            if (value != null && !arguments.has(argument)) {
                put(arguments, argument, value);
            }
        }
    }

    /** Removes optional arguments that are null although their schemas do not allow it: models mean "missing". */
    private void removeNulls(JSONObject arguments) {
        List<String> required = Arrays.asList(required());
        for (Iterator<String> names = properties().keys(); names.hasNext(); ) {
            String argument = names.next();
            boolean isNull = arguments.has(argument) && arguments.isNull(argument);
            if (isNull && !required.contains(argument) && !check.allowsNull(argument)) {
                arguments.remove(argument);
            }
        }
    }

    private void checkDefaults() {
        for (Iterator<String> names = properties().keys(); names.hasNext(); ) {
            String argument = names.next();
            Object value = defaultOf(argument);
            if (value == null) {
                continue;
            }
            JSONObject alone = new JSONObject();
            put(alone, argument, value);
            Violations found = new Violations();
            check.checkPresent(alone, "", found);
            if (!found.isEmpty()) {
                throw new IllegalArgumentException("invalid default: " + found);
            }
        }
    }

    /** Returns a copy, because the tool's code may change its arguments. */
    private Object defaultOf(String argument) {
        JSONObject schema = properties().optJSONObject(argument);
        Object value = schema == null ? null : schema.opt("default");
        return value == null ? null : StrictCopy.of(value);
    }

    private static void put(JSONObject object, String name, Object value) {
        try {
            object.put(name, value);
        } catch (JSONException error) {
            throw new IllegalArgumentException(name + ": " + error.getMessage(), error);
        }
    }
}
