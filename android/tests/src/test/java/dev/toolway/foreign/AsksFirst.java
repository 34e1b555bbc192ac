package dev.toolway.foreign;

import android.os.Bundle;

/** A CETP provider that checks before every method, like the one in ClawSeed's tutorial: it lists no tools without permission. */
public class AsksFirst extends Foreign {
    private static volatile boolean allowed;
    private static volatile String intent = "com.example.careful.ALLOW";

    /** What the user has said in the app. */
    public static void allow(boolean yes) {
        allowed = yes;
    }

    /** The action that it names; null for none. */
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
