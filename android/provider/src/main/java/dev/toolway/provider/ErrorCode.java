package dev.toolway.provider;

/** What went wrong, in the words of CETP version 1 (section 2.4). The names are what is sent. */
public enum ErrorCode {
    /** The user has to sign in, or to allow access, in this app first. */
    AUTH_REQUIRED,
    /** The caller may not do this. */
    PERMISSION_DENIED,
    /** There is no such tool, or no such method. */
    TOOL_NOT_FOUND,
    /** The arguments are not what the tool takes. */
    INVALID_ARGS,
    /** The caller calls too often. */
    RATE_LIMITED,
    /** Something failed in this app. */
    INTERNAL_ERROR
}
