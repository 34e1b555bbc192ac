package dev.toolway.bridge;

import dev.toolway.host.AuthorizationRequest;
import dev.toolway.host.AuthorizationUi;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A test's user of the phone: receives questions and answers them when the test decides. */
final class User implements AuthorizationUi {
    private static final long TIMEOUT_S = 60;

    private final BlockingQueue<AuthorizationRequest> asked = new LinkedBlockingQueue<>();
    private final BlockingQueue<AuthorizationRequest> opened = new LinkedBlockingQueue<>();
    private final BlockingQueue<AuthorizationRequest> offered = new LinkedBlockingQueue<>();
    private final BlockingQueue<Long> withdrawn = new LinkedBlockingQueue<>();

    @Override
    public void ask(AuthorizationRequest request) {
        asked.add(request);
    }

    @Override
    public void opened(AuthorizationRequest request) {
        opened.add(request);
    }

    @Override
    public void withdrawn(long question) {
        withdrawn.add(question);
    }

    @Override
    public void offer(AuthorizationRequest request) {
        offered.add(request);
    }

    /** Waits for the next question. */
    AuthorizationRequest nextAsked() {
        return next(asked, "a question");
    }

    /** Waits for the next open screen. */
    AuthorizationRequest nextOpened() {
        return next(opened, "an open screen");
    }

    /** Waits for the next offer. */
    AuthorizationRequest nextOffered() {
        return next(offered, "an offer");
    }

    /** Waits for the next withdrawn question. */
    long nextWithdrawn() {
        return next(withdrawn, "a withdrawal");
    }

    /** Returns true if the test has taken all questions. */
    boolean wasLeftAlone() {
        return asked.isEmpty() && opened.isEmpty();
    }

    private static <T> T next(BlockingQueue<T> from, String what) {
        try {
            T next = from.poll(TIMEOUT_S, TimeUnit.SECONDS);
            if (next == null) {
                throw new AssertionError("the user saw no " + what);
            }
            return next;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
