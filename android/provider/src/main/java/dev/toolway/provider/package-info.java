/**
 * Offers an app's tools to AI assistants through a content provider, with the protocols for Android: CETP version 1 and
 * the dialects of MCP.
 *
 * <p>An app extends {@link dev.toolway.provider.ToolProvider}, declares its tools once and decides who may use them.
 * The library answers the calls: it finds the tool, checks the caller, its rate and its arguments, runs the tool's
 * code, and converts the result or the error to the caller's protocol. It never opens a connection, starts a thread,
 * or stores anything except the grants that the app wants to store.
 */
package dev.toolway.provider;
