package dev.toolway.host;

/** The functions of the native library, found by the spelling of this class and their names. */
final class Natives {
    private Natives() {
    }

    /** A package came, went or changed; any may have where none is named. Whether the listener listens still. */
    static native boolean packageChanged(long listener, String packageName);
}
