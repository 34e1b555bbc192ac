package dev.toolway.provider;

/** How often one caller may run tools. */
public final class RateLimit {
    final int calls;
    final long periodMillis;

    private RateLimit(int calls, long periodMillis) {
        this.calls = calls;
        this.periodMillis = periodMillis;
    }

    /**
     * So many calls in any such time, all of them at once if the caller likes.
     *
     * @param calls at least 1
     * @param periodMillis in milliseconds, at least 1
     * @return the limit
     */
    public static RateLimit of(int calls, long periodMillis) {
        if (calls < 1 || periodMillis < 1) {
            throw new IllegalArgumentException("a rate limit lets at least one call through in at least 1 ms");
        }
        return new RateLimit(calls, periodMillis);
    }
}
