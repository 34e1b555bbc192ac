package dev.toolway.provider;

import android.os.Bundle;
import org.json.JSONArray;
import org.json.JSONObject;

/** Implements CETP version 1. */
final class Cetp {
    private Cetp() {}

    static Bundle answer(Exchange exchange, String method, Bundle extras) throws Exception {
        if (Names.EXECUTE_TOOL.equals(method)) {
            return success(execute(exchange, extras));
        }
        exchange.authorize(Request.Protocol.CETP, method, null);
        if (Names.LIST_TOOLS.equals(method)) {
            return success(list(exchange.declaration()).toString());
        }
        JSONObject info = Names.GET_PROVIDER_INFO.equals(method) ? exchange.declaration().info() : null;
        if (info == null) {
            throw ToolException.notFound("Unknown method: " + JsonValues.cut(String.valueOf(method), 100));
        }
        return success(info.toString());
    }

    private static JSONObject list(Declaration declaration) {
        JSONArray tools = new JSONArray();
        for (Tool tool : declaration.tools()) {
            if (!tool.acts()) {
                JSONObject spec = Declaration.object("name", tool.name(), "description", tool.description());
                tools.put(Declaration.with(spec, "parameters", tool.parameters()));
            }
        }
        return Declaration.with(new JSONObject(), "tools", tools);
    }

    private static String execute(Exchange exchange, Bundle extras) throws Exception {
        Tool tool = exchange.chosen(Request.Protocol.CETP, extras, it -> !it.acts());
        String args = Extras.string(extras, Names.ARGS);
        String requestId = Extras.string(extras, Names.REQUEST_ID);
        return exchange.run(tool, args == null ? new JSONObject() : arguments(args), requestId).toJson();
    }

    private static JSONObject arguments(String args) throws ToolException {
        Object read;
        try {
            read = StrictJson.parse(args);
        } catch (MalformedJson error) {
            throw ToolException.invalidArgs("args is not JSON: " + error.getMessage());
        }
        if (!(read instanceof JSONObject)) {
            throw ToolException.invalidArgs("args must be a JSON object, is " + JsonValues.typeOf(read));
        }
        return (JSONObject) read;
    }

    private static Bundle success(String data) throws ToolException {
        Bundle bundle = new Bundle();
        bundle.putString(Names.DATA, Exchange.fitting(data));
        bundle.putString(Names.STATUS, "success");
        return bundle;
    }

    static Bundle error(ToolException error) {
        Bundle bundle = new Bundle();
        bundle.putString(Names.STATUS, "error");
        bundle.putString(Names.ERROR_CODE, error.code().name());
        bundle.putString(Names.ERROR_MESSAGE, error.getMessage());
        if (error.hint() != null) {
            bundle.putString(Names.RESOLUTION_HINT, error.hint());
        }
        if (error.authorizeAction() != null) {
            bundle.putString(Names.AUTHORIZE_INTENT, error.authorizeAction());
        }
        return bundle;
    }
}
