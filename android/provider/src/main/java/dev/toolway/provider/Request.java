package dev.toolway.provider;

/** What a caller asks for, as the question for its access needs it. */
public final class Request {
    /** The protocol that a caller speaks. */
    public enum Protocol {
        /** ClawSeed's External Tool Protocol, version 1. */
        CETP,
        /** One of the dialects of MCP over content providers. */
        MCP
    }

    private final Protocol protocol;
    private final String method;
    private final Tool tool;

    Request(Protocol protocol, String method, Tool tool) {
        this.protocol = protocol;
        this.method = method;
        this.tool = tool;
    }

    /**
     * Which protocol it speaks.
     *
     * @return the protocol
     */
    public Protocol protocol() {
        return protocol;
    }

    /**
     * The method as the caller wrote it: {@code list_tools}, {@code execute_tool}, {@code get_provider_info},
     * {@code get_tool_info}, or one that does not exist.
     *
     * @return its name
     */
    public String method() {
        return method;
    }

    /**
     * Whether a tool is to run. All other methods only tell what there is.
     *
     * @return true for {@code execute_tool}
     */
    public boolean runsTool() {
        return Names.EXECUTE_TOOL.equals(method);
    }

    /**
     * The tool that is to run.
     *
     * @return its name, or null where none is to run, or none of that name is there
     */
    public String tool() {
        return tool == null ? null : tool.name();
    }
}
