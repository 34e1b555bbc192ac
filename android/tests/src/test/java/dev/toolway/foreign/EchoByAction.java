package dev.toolway.foreign;

import android.os.Bundle;
import java.util.Map;

/** An MCP provider with the action: the keys of the dialect `mcp-b`, and a permission. */
public class EchoByAction extends Foreign {
    @Override
    @SuppressWarnings({"unchecked", "deprecation"})
    public Bundle call(String method, String arg, Bundle extras) {
        if (method.equals("get_tool_info")) {
            Bundle info = new Bundle();
            info.putBoolean("success", true);
            info.putString("tool_name", "echo");
            info.putString("tool_description", "Says it again");
            info.putString("tool_input_schema", "{\"text\":{\"type\":\"string\"}}");
            info.putStringArray("tool_input_required", new String[] {"text"});
            return info;
        }
        return result(((Map<String, String>) extras.getSerializable("tool_arguments")).get("text"));
    }
}
