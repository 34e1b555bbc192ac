package dev.toolway.provider;

/** How often one caller may run tools. */
public final class RateLimit {
    /** The time of each call is remembered. */
    private static final int MAX_CALLS = 10_000;

    final int calls;
    final long periodMillis;

    private RateLimit(int calls, long periodMillis) {
        this.calls = calls;
        this.periodMillis = periodMillis;
    }

    /**
     * So many calls in any such time, all of them at once if the caller likes.
     *
     * @param calls from 1 to 10,000
     * @param periodMillis in milliseconds, at least 1
     * @return the limit
     */
    public static RateLimit of(int calls, long periodMillis) {
        if (calls < 1 || calls > MAX_CALLS || periodMillis < 1) {
            throw new IllegalArgumentException(
                    "a rate limit lets 1 to " + MAX_CALLS + " calls through, in at least 1 ms");
        }
        return new RateLimit(calls, periodMillis);
    }
}
