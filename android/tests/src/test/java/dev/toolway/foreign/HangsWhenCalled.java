package dev.toolway.foreign;

import android.os.Bundle;
import java.util.concurrent.CountDownLatch;

/** Lists one tool and never answers calls. */
public class HangsWhenCalled extends Foreign {
    private static volatile CountDownLatch held = new CountDownLatch(1);

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        if (method.equals("execute_tool")) {
            hold(held);
        }
        return method.equals("list_tools")
            ? success("{\"tools\":[{\"name\":\"wait\",\"description\":\"Never answers\",\"parameters\":null}]}")
            : error("TOOL_NOT_FOUND", "there is no " + method);
    }

    /** Releases the hanging calls. */
    public static void letGo() {
        held.countDown();
        held = new CountDownLatch(1);
    }
}
