package dev.toolway.provider;

/** A caller's request, as {@link ToolProvider#access} needs it. */
public final class Request {
    /** The protocols. */
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
     * Returns the protocol.
     *
     * @return the protocol
     */
    public Protocol protocol() {
        return protocol;
    }

    /**
     * Returns the method as the caller wrote it: {@code list_tools}, {@code execute_tool}, {@code get_provider_info},
     * {@code get_tool_info}, or an unknown one.
     *
     * @return its name
     */
    public String method() {
        return method;
    }

    /**
     * Returns true if the request runs a tool. Other methods only list tools.
     *
     * @return true for {@code execute_tool}
     */
    public boolean runsTool() {
        return Names.EXECUTE_TOOL.equals(method);
    }

    /**
     * Returns the tool to run.
     *
     * @return its name, or null if the request runs none, or an unknown one
     */
    public String tool() {
        return tool == null ? null : tool.name();
    }
}
