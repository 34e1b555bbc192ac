package dev.toolway.bridge;

import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Waits for a gateway's list of tools, by polling. */
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
