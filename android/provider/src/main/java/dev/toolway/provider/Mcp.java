package dev.toolway.provider;

import android.os.Bundle;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.json.JSONArray;
import org.json.JSONObject;

/** Implements the dialects of MCP over content providers. */
final class Mcp {
    /** Package of the class names that the dialect with several tools uses for the types of inputs. */
    private static final String INPUT_CLASSES = "se.premex.mcp.provider.ToolInput.";

    private Mcp() {}

    static Bundle answer(Exchange exchange, Declaration.McpEndpoint endpoint, String method, Bundle extras)
            throws Exception {
        if (Names.EXECUTE_TOOL.equals(method)) {
            Bundle bundle = success();
            bundle.putString(Names.TOOL_RESULT, Exchange.fitting(execute(exchange, endpoint, extras)));
            return bundle;
        }
        exchange.authorize(Request.Protocol.MCP, method, null);
        if (!Names.GET_TOOL_INFO.equals(method)) {
            throw ToolException.notFound("Unknown method: " + JsonValues.cut(String.valueOf(method), 100));
        }
        Declaration declaration = exchange.declaration();
        return endpoint.several ? info(declaration, endpoint.tools) : info(declaration.find(endpoint.tools.get(0)));
    }

    private static Bundle info(Tool tool) throws ToolException {
        Bundle bundle = success();
        bundle.putString(Names.TOOL_NAME, tool.name());
        bundle.putString(Names.TOOL_DESCRIPTION, tool.description());
        bundle.putString(Names.TOOL_INPUT_SCHEMA, Exchange.fitting(tool.properties().toString()));
        bundle.putStringArray(Names.TOOL_INPUT_REQUIRED, tool.required());
        return bundle;
    }

    private static Bundle info(Declaration declaration, List<String> names) throws ToolException {
        JSONObject tools = new JSONObject();
        for (String name : names) {
            Tool tool = declaration.find(name);
            Declaration.with(
                    tools, name, Declaration.object("description", tool.description(), "inputs", inputs(tool)));
        }
        Bundle bundle = success();
        bundle.putString(Names.TOOL, Exchange.fitting(Declaration.with(new JSONObject(), "tools", tools).toString()));
        return bundle;
    }

    private static JSONArray inputs(Tool tool) {
        Set<String> required = new HashSet<>(Arrays.asList(tool.required()));
        JSONArray inputs = new JSONArray();
        JSONObject properties = tool.properties();
        for (Iterator<String> names = properties.keys(); names.hasNext(); ) {
            String name = names.next();
            JSONObject schema = properties.optJSONObject(name);
            JSONObject input = Declaration.object("type", inputClass(tool.typesOf(name)), "name", name);
            Declaration.with(input, "description", schema == null ? "" : schema.optString("description"));
            inputs.put(Declaration.with(input, "required", required.contains(name)));
        }
        return inputs;
    }

    private static String inputClass(List<String> types) {
        String type = types == null ? "string" : types.get(0);
        return INPUT_CLASSES + Character.toUpperCase(type.charAt(0)) + type.substring(1) + "Input";
    }

    private static String execute(Exchange exchange, Declaration.McpEndpoint endpoint, Bundle extras) throws Exception {
        Tool tool = exchange.chosen(Request.Protocol.MCP, extras, it -> endpoint.tools.contains(it.name()));
        JSONObject arguments = McpArguments.read(tool, Extras.map(extras, Names.TOOL_ARGUMENTS));
        String requestId = Extras.string(extras, Names.REQUEST_ID);
        return exchange.run(tool, arguments, requestId).toText();
    }

    private static Bundle success() {
        Bundle bundle = new Bundle();
        bundle.putBoolean(Names.SUCCESS, true);
        return bundle;
    }

    /** Puts everything into the message, because these dialects have no codes and no hints. */
    static Bundle error(ToolException error) {
        Bundle bundle = new Bundle();
        bundle.putBoolean(Names.SUCCESS, false);
        String message = error.getMessage();
        bundle.putString(Names.ERROR_MESSAGE, error.hint() == null ? message : message + ". " + error.hint());
        return bundle;
    }
}
