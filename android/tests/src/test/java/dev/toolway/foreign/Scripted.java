package dev.toolway.foreign;

import android.os.Bundle;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A provider with one tool, "run". Each subclass decides the answer. Records the arguments. */
public abstract class Scripted extends Foreign {
    private static final List<Bundle> RUNS = Collections.synchronizedList(new ArrayList<>());

    @Override
    public final Bundle call(String method, String arg, Bundle extras) {
        switch (method) {
            case "list_tools":
                return success("{\"tools\":[{\"name\":\"run\",\"description\":\"Runs\"}]}");
            case "execute_tool":
                RUNS.add(new Bundle(extras));
                return run(extras);
            default:
                return error("TOOL_NOT_FOUND", "Unknown method: " + method);
        }
    }

    /** Returns the answer. */
    protected abstract Bundle run(Bundle extras);

    /** Returns the calls since the last time, oldest first. */
    public static List<Bundle> runs() {
        synchronized (RUNS) {
            List<Bundle> runs = new ArrayList<>(RUNS);
            RUNS.clear();
            return runs;
        }
    }
}
