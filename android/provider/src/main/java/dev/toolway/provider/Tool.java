package dev.toolway.provider;

import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** A tool: its name, what it is for, what it takes and what it does. */
public final class Tool {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    private final String name;
    private final String description;
    private final JSONObject parameters;
    private final SchemaCheck check;
    private final ToolCode code;
    private final boolean acts;

    /**
     * A tool that only reads.
     *
     * @param name 1 to 64 of the letters A to Z in either case, digits, {@code _} and {@code -}; of its own among
     *     the tools of this app
     * @param description what it does and when it is of use, for the model that chooses
     * @param parameters an object's schema
     * @param code what it does
     * @throws IllegalArgumentException where the name or the schema is not as it has to be
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
     * The same tool, said to do more than read: it changes, sends or deletes. CETP version 1 has no such tools
     * and does not list it; the dialects of MCP do.
     *
     * @return the tool that acts
     */
    public Tool thatActs() {
        return new Tool(name, description, parameters, code, true);
    }

    /**
     * Its name.
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

    /** The schema of its parameters; not to be changed. */
    JSONObject parameters() {
        return parameters;
    }

    /** The schemas of the single parameters; not to be changed. */
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

    /** The types that an argument may have; null where any will do. */
    List<String> typesOf(String argument) {
        return check.typesOf(argument);
    }

    /** Refuses arguments that the schema does not allow, and fills in what they leave out. */
    void prepare(JSONObject arguments) throws ToolException {
        Violations found = new Violations();
        check.check(arguments, "", found);
        if (!found.isEmpty()) {
            throw ToolException.invalidArgs("the arguments do not fit: " + found);
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
                throw new IllegalArgumentException("the default does not fit: " + found);
            }
        }
    }

    /** A copy, since the tool's code may change its arguments. */
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
