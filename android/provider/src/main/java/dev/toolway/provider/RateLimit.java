package dev.toolway.provider;

/** Limit of one caller's calls in a period. */
public final class RateLimit {
    /** Maximum number of calls, because the time of each is stored. */
    private static final int MAX_CALLS = 10_000;

    final int calls;
    final long periodMillis;

    private RateLimit(int calls, long periodMillis) {
        this.calls = calls;
        this.periodMillis = periodMillis;
    }

    /**
     * Creates a limit of calls in any period of this length. The caller may make all of them at once.
     *
     * @param calls from 1 to 10,000
     * @param periodMillis length of the period in milliseconds, at least 1
     * @return the limit
     */
    public static RateLimit of(int calls, long periodMillis) {
        if (calls < 1 || calls > MAX_CALLS || periodMillis < 1) {
            throw new IllegalArgumentException(
                    "a rate limit must allow 1 to " + MAX_CALLS + " calls in at least 1 ms");
        }
        return new RateLimit(calls, periodMillis);
    }
}
