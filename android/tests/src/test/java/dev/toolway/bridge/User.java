package dev.toolway.bridge;

import dev.toolway.host.AuthorizationRequest;
import dev.toolway.host.AuthorizationUi;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The phone's user, as a test plays them: sees questions and answers when the test wants. */
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

    /** The next question. */
    AuthorizationRequest nextAsked() {
        return next(asked, "a question");
    }

    /** The next screen that is open. */
    AuthorizationRequest nextOpened() {
        return next(opened, "an open screen");
    }

    /** The next offer. */
    AuthorizationRequest nextOffered() {
        return next(offered, "an offer");
    }

    /** The next question that nobody waits for any more. */
    long nextWithdrawn() {
        return next(withdrawn, "a withdrawal");
    }

    /** Whether nothing was asked that was not looked at. */
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
