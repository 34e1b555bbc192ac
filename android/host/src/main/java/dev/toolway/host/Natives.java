package dev.toolway.host;

/** The functions of the native library, which are found by the names of this class and its methods. */
final class Natives {
    private Natives() {
    }

    /** Starts a bridge and returns its number. */
    static native long start(ToolwayHost host, ToolwayBridge shell, byte[] settings);

    /** Stops a bridge and waits until it has ended. Returns true if it was running. */
    static native boolean stop(long bridge);

    /** Lists the tools of all apps again. Returns true if the bridge runs. */
    static native boolean rescan(long bridge);

    /** Takes the user to an app that requires authorization. Returns true if this has started. */
    static native boolean authorize(long bridge, String authority);

    /** Answers a question: 0 declined, 1 agreed, 2 returned. Returns true if it was pending. */
    static native boolean answer(long question, int answer);

    /** Reports a changed package, or any if null. Returns true if the listener is still registered. */
    static native boolean packageChanged(long listener, String packageName);
}
