package dev.toolway.foreign;

import android.os.Bundle;

/** Lists ten typical tools and answers calls immediately. */
public class TenTools extends Foreign {
    private static final String LIST = list();

    private static String list() {
        StringBuilder tools = new StringBuilder("{\"tools\":[{\"name\":\"run\",\"description\":\"Does nothing\"}");
        for (int i = 1; i < 10; i++) {
            tools.append(",{\"name\":\"get_transactions_").append(i).append("\",\"description\":\"Get transaction "
                + "history\",\"parameters\":{\"type\":\"object\",\"properties\":{\"start_date\":{\"type\":\"string\","
                + "\"description\":\"Start date in ISO 8601 format (YYYY-MM-DD)\"},\"end_date\":{\"type\":\"string\","
                + "\"description\":\"End date in ISO 8601 format (YYYY-MM-DD)\"},\"limit\":{\"type\":\"integer\","
                + "\"default\":50,\"description\":\"Maximum number of results\"}},\"required\":[\"start_date\"]}}");
        }
        return tools.append("]}").toString();
    }

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        switch (method) {
            case "list_tools":
                return success(LIST);
            case "execute_tool":
                return success("1");
            default:
                return error("TOOL_NOT_FOUND", "no " + method);
        }
    }
}
