package dev.toolway.provider;

import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/** Enforces a limit with the times of each uid's last calls. */
final class RateLimiter {
    /** Maximum number of callers; the least recently active one is removed for a new one. */
    private static final int MAX_CALLERS = 64;

    private final RateLimit limit;
    private final LongSupplier clock;
    private final Map<Integer, ArrayDeque<Long>> calls =
            new LinkedHashMap<Integer, ArrayDeque<Long>>(16, 0.75f, true) {
                @Override
                protected boolean removeEldestEntry(Map.Entry<Integer, ArrayDeque<Long>> eldest) {
                    return size() > MAX_CALLERS;
                }
            };

    /** Creates a limiter with a monotonic clock in milliseconds. */
    RateLimiter(RateLimit limit, LongSupplier clock) {
        this.limit = limit;
        this.clock = clock;
    }

    /** Counts one call, or rejects it. */
    synchronized void count(int uid) throws ToolException {
        long now = clock.getAsLong();
        ArrayDeque<Long> earlier = calls.get(uid);
        if (earlier == null) {
            earlier = new ArrayDeque<>();
            calls.put(uid, earlier);
        }
        while (!earlier.isEmpty() && now - earlier.peekFirst() >= limit.periodMillis) {
            earlier.removeFirst();
        }
        if (earlier.size() >= limit.calls) {
            long wait = limit.periodMillis - (now - earlier.peekFirst());
            throw ToolException.rateLimited("at most " + limit.calls + " calls in " + seconds(limit.periodMillis)
                    + "; retry in " + seconds(wait));
        }
        earlier.addLast(now);
    }

    private static String seconds(long millis) {
        return (millis + 999) / 1000 + " s";
    }
}
