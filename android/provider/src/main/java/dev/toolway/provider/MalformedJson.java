package dev.toolway.provider;

/** A text that is not JSON, with where it stops being so. */
final class MalformedJson extends Exception {
    private static final long serialVersionUID = 1L;

    MalformedJson(String message, int at) {
        super(message + " at character " + at);
    }
}
