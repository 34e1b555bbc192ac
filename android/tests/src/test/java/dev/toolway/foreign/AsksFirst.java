package dev.toolway.foreign;

import android.os.Bundle;

/** A CETP provider that checks authorization before every method, like the one in ClawSeed's CETP tutorial. */
public class AsksFirst extends Foreign {
    private static volatile boolean allowed;
    private static volatile String intent = "com.example.careful.ALLOW";

    /** The user's decision in the app. */
    public static void allow(boolean yes) {
        allowed = yes;
    }

    /** Its authorization action; null for none. */
    public static void name(String action) {
        intent = action;
    }

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        if (!allowed) {
            Bundle refusal = error("AUTH_REQUIRED", "Not before you are asked");
            refusal.putString("resolution_hint", "Allow it in Careful");
            if (intent != null) {
                refusal.putString("authorize_intent", intent);
            }
            return refusal;
        }
        switch (method) {
            case "list_tools":
                return success("{\"tools\":[{\"name\":\"read\",\"description\":\"Reads\",\"parameters\":{}}]}");
            case "execute_tool":
                return success("\"read\"");
            default:
                return error("TOOL_NOT_FOUND", "Unknown method: " + method);
        }
    }
}
