package dev.toolway.foreign;

import android.os.Bundle;
import java.util.Map;

/** An MCP provider with the action that describes its tools with class names, in one key. */
public class CalculatorByClasses extends Foreign {
    private static final String INPUT = "se.premex.mcp.core.tool.ToolInput.";

    @Override
    @SuppressWarnings({"unchecked", "deprecation"})
    public Bundle call(String method, String arg, Bundle extras) {
        if (method.equals("get_tool_info")) {
            Bundle info = new Bundle();
            info.putBoolean("success", true);
            info.putString("tool", "{\"tools\":{\"calculator\":{\"description\":\"Adds or multiplies\",\"inputs\":["
                + input("StringInput", "operation") + "," + input("NumberInput", "a") + "," + input("NumberInput", "b")
                + "]}}}");
            return info;
        }
        Map<String, String> arguments = (Map<String, String>) extras.getSerializable("tool_arguments");
        int a = Integer.parseInt(arguments.get("a"));
        int b = Integer.parseInt(arguments.get("b"));
        return result(String.valueOf(arguments.get("operation").equals("add") ? a + b : a * b));
    }

    private static String input(String type, String name) {
        return "{\"type\":\"" + INPUT + type + "\",\"name\":\"" + name + "\",\"description\":\"" + name
            + "\",\"required\":true}";
    }
}
