package dev.toolway.host;

/** The first byte of an answer to the native library: a failure of the system, or success. */
final class Replies {
    private static final int DONE = 0;
    private static final int SECURITY = 1;
    private static final int UNKNOWN_AUTHORITY = 2;
    private static final int DIED = 3;
    private static final int TOO_LARGE = 4;
    private static final int THREW = 5;

    private Replies() {
    }

    static Writer done() {
        return new Writer().raw(DONE);
    }

    static byte[] done(boolean answer) {
        return done().flag(answer).toBytes();
    }

    static byte[] security(SecurityException e) {
        return failure(SECURITY, e);
    }

    static byte[] unknownAuthority(String authority) {
        return new Writer().raw(UNKNOWN_AUTHORITY).text("Unknown authority " + authority).toBytes();
    }

    static byte[] died(Exception e) {
        return failure(DIED, e);
    }

    static byte[] tooLarge(Exception e) {
        return failure(TOO_LARGE, e);
    }

    static byte[] threw(Throwable e) {
        return new Writer().raw(THREW).text(e.getClass().getName()).text(String.valueOf(e.getMessage())).toBytes();
    }

    private static byte[] failure(int kind, Exception e) {
        String message = e.getMessage();
        return new Writer().raw(kind).text(message == null ? e.getClass().getName() : message).toBytes();
    }
}
