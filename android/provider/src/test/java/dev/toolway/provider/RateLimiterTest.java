package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import org.junit.Test;

public class RateLimiterTest {
    private long now = 5_000;
    private final RateLimiter limiter = new RateLimiter(RateLimit.of(2, 10_000), () -> now);

    private String refusal(int uid) {
        ToolException error = assertThrows(ToolException.class, () -> limiter.count(uid));
        assertEquals(ErrorCode.RATE_LIMITED, error.code());
        return error.getMessage();
    }

    @Test
    public void limitHoldsInEveryPeriod() throws Exception {
        limiter.count(1);
        now += 4_000;
        limiter.count(1);
        now += 500;
        assertEquals("at most 2 calls in 10 s; retry in 6 s", refusal(1));
        // Refused calls do not count.
        now += 5_500;
        limiter.count(1);
        assertEquals("at most 2 calls in 10 s; retry in 4 s", refusal(1));
        now += 4_000;
        limiter.count(1);
    }

    @Test
    public void rateLimitIsPerCaller() throws Exception {
        limiter.count(1);
        limiter.count(1);
        limiter.count(2);
        refusal(1);
        limiter.count(2);
        refusal(2);
    }

    @Test
    public void rateLimitsAreValidated() {
        assertThrows(IllegalArgumentException.class, () -> RateLimit.of(0, 1_000));
        assertThrows(IllegalArgumentException.class, () -> RateLimit.of(1, 0));
        assertThrows(IllegalArgumentException.class, () -> RateLimit.of(10_001, 1_000));
    }
}
