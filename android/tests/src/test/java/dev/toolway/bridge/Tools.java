package dev.toolway.bridge;

import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Waits for what a gateway lists. The gateway tells nobody of REST when its list changes, so it is looked again. */
final class Tools {
    private static final long TIMEOUT_MS = 60_000;
    private static final long PAUSE_MS = 20;

    private Tools() {
    }

    static List<String> await(Gateway gateway, String source, Predicate<List<String>> wanted) {
        long end = System.nanoTime() + TIMEOUT_MS * 1_000_000;
        List<String> tools = gateway.toolsOf(source);
        while (!wanted.test(tools)) {
            if (System.nanoTime() > end) {
                throw new AssertionError("still listed: " + tools);
            }
            LockSupport.parkNanos(PAUSE_MS * 1_000_000);
            tools = gateway.toolsOf(source);
        }
        return tools;
    }
}
