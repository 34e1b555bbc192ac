package dev.toolway.provider;

/** Reports invalid JSON with the position of the error. */
final class MalformedJson extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedJson(String message, int at) {
        super(message + " at character " + at);
    }
}
