package dev.toolway.host;

/** The functions of the native library, found by the spelling of this class and their names. */
final class Natives {
    private Natives() {
    }

    /** Starts a bridge and gives its number. */
    static native long start(ToolwayHost host, ToolwayBridge shell, byte[] settings);

    /** Stops a bridge and waits until it has ended. Whether it ran. */
    static native boolean stop(long bridge);

    /** Asks all apps again. Whether the bridge runs. */
    static native boolean rescan(long bridge);

    /** Takes the user to an app that wants to be allowed. Whether that has begun. */
    static native boolean authorize(long bridge, String authority);

    /** What the user answers to a question: 0 no, 1 yes, 2 back again. Whether anybody waited for it. */
    static native boolean answer(long question, int answer);

    /** A package came, went or changed; any may have where none is named. Whether the listener listens still. */
    static native boolean packageChanged(long listener, String packageName);
}
