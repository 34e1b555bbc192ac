package dev.toolway.foreign;

import android.os.Bundle;
import java.util.concurrent.CountDownLatch;

/** Does not answer when it is asked for its tools, until a test lets it. */
public class HangsWhenListed extends Foreign {
    private static volatile CountDownLatch held = new CountDownLatch(1);

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        hold(held);
        return method.equals("list_tools") ? success(FinanceByHand.TOOLS) : error("TOOL_NOT_FOUND", "no " + method);
    }

    /** Those that are held go on, and no further ones are. */
    public static void letGo() {
        held.countDown();
    }

    /** Further ones are held. */
    public static void holdAgain() {
        held.countDown();
        held = new CountDownLatch(1);
    }
}
