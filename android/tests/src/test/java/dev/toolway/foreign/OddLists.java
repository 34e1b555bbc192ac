package dev.toolway.foreign;

import android.os.Bundle;

/** Lists with some invalid entries. */
public class OddLists extends Foreign {
    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        switch (method) {
            case "list_tools":
                return success("{\"tools\":[{\"name\":\"null_parameters\",\"description\":\"One\",\"parameters\":null},"
                    + "{\"name\":\"no_parameters\",\"description\":\"Two\"},"
                    + "{\"name\":\"list_parameters\",\"description\":\"Three\",\"parameters\":[]},"
                    + "{\"description\":\"nameless\"},"
                    + "{\"name\":\"bad\",\"description\":\"Four\",\"parameters\":{\"type\":\"strange\"}},"
                    + "{\"name\":\"new\",\"description\":\"Five\",\"parameters\":{\"type\":\"object\"},"
                    + "\"icon\":{\"from\":\"the future\"}}]}");
            case "execute_tool":
                return success(extras.getString("args"));
            default:
                return error("TOOL_NOT_FOUND", "no " + method);
        }
    }
}
