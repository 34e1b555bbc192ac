package dev.toolway.foreign;

import android.os.Bundle;
import java.util.concurrent.CountDownLatch;

/** Does not list its tools until the test allows it. */
public class HangsWhenListed extends Foreign {
    private static volatile CountDownLatch held = new CountDownLatch(1);

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        hold(held);
        return method.equals("list_tools") ? success(FinanceByHand.TOOLS) : error("TOOL_NOT_FOUND", "no " + method);
    }

    /** Releases hanging calls and answers further ones. */
    public static void letGo() {
        held.countDown();
    }

    /** Makes further calls hang. */
    public static void holdAgain() {
        held.countDown();
        held = new CountDownLatch(1);
    }
}
