package dev.toolway.provider;

/** Code that runs a tool. */
@FunctionalInterface
public interface ToolCode {
    /**
     * Runs the tool. The system calls this on its own threads, also concurrently, with this app's identity. It may
     * block. The arguments match the tool's schema.
     *
     * @param call the call with its arguments and caller
     * @return the result for the caller
     * @throws ToolException to end the call with an error of your choice
     * @throws Exception any other exception; the caller gets its message as {@link ErrorCode#INTERNAL_ERROR}
     */
    ToolResult run(ToolCall call) throws Exception;
}
