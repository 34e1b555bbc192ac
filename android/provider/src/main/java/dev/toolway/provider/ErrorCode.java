package dev.toolway.provider;

/** Error codes of CETP version 1 (section 2.4). The names are sent unchanged. */
public enum ErrorCode {
    /** The user must first log in or allow access in this app. */
    AUTH_REQUIRED,
    /** The caller may not do this. */
    PERMISSION_DENIED,
    /** The tool or method does not exist. */
    TOOL_NOT_FOUND,
    /** The arguments are invalid. */
    INVALID_ARGS,
    /** The caller calls too often. */
    RATE_LIMITED,
    /** Something failed in this app. */
    INTERNAL_ERROR
}
