/**
 * Offers an app's tools to AI assistants through a content provider, in the protocols that are spoken on Android:
 * CETP version 1 and the dialects of MCP.
 *
 * <p>An app extends {@link dev.toolway.provider.ToolProvider}, declares its tools once and says who may use them.
 * The library answers the calls: it finds the tool, checks who asks, how often, and with which arguments, runs the
 * tool's code, and puts the result or the error into the form of whichever protocol was spoken. It never opens a
 * connection, starts a thread, or keeps anything but the grants that the app asks it to keep.
 */
package dev.toolway.provider;
