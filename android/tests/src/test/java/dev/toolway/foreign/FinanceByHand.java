package dev.toolway.foreign;

import android.os.Bundle;

/** A CETP provider from ClawSeed's CETP tutorial, without any library. */
public class FinanceByHand extends Foreign {
    static final String TOOLS = "{\"tools\":[{\"name\":\"get_portfolio_holdings\","
        + "\"description\":\"Get current portfolio holdings\",\"parameters\":{\"type\":\"object\",\"properties\":"
        + "{\"account_type\":{\"type\":\"string\",\"enum\":[\"stock\",\"fund\",\"all\"]}},\"required\":[]}}]}";

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        switch (method) {
            case "list_tools":
                return success(TOOLS);
            case "execute_tool":
                String tool = extras == null ? null : extras.getString("tool_name");
                if (tool == null) {
                    return error("INVALID_ARGS", "missing tool_name");
                }
                return tool.equals("get_portfolio_holdings") ? success("{\"args\":" + extras.getString("args")
                    + ",\"request_id\":\"" + extras.getString("request_id") + "\"}")
                    : error("TOOL_NOT_FOUND", "Unknown tool: " + tool);
            case "get_provider_info":
                return success("{\"provider_name\":\"MyFinance\",\"description\":\"Personal finance data\",\"scopes\":"
                    + "[{\"name\":\"holdings\",\"description\":\"Portfolio holdings\"}]}");
            default:
                return error("TOOL_NOT_FOUND", "Unknown method: " + method);
        }
    }
}
