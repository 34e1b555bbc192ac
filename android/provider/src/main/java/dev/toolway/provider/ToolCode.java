package dev.toolway.provider;

/** What a tool does. */
@FunctionalInterface
public interface ToolCode {
    /**
     * Runs the tool. It is called on the caller's behalf on a thread of the system, several at once, with this
     * app's own identity; it may block. Arguments have been checked against the tool's schema.
     *
     * @param call the arguments, who calls, and the like
     * @return what the caller gets
     * @throws ToolException to end the call with an error of your choice
     * @throws Exception whatever else; the caller is told its message as {@link ErrorCode#INTERNAL_ERROR}
     */
    ToolResult run(ToolCall call) throws Exception;
}
