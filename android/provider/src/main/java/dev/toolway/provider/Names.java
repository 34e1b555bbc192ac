package dev.toolway.provider;

/** Names of both protocols: methods and keys of bundles. */
final class Names {
    static final String LIST_TOOLS = "list_tools";
    static final String EXECUTE_TOOL = "execute_tool";
    static final String GET_PROVIDER_INFO = "get_provider_info";
    static final String GET_TOOL_INFO = "get_tool_info";

    static final String TOOL_NAME = "tool_name";
    static final String ERROR_MESSAGE = "error_message";

    // CETP, sections 2.3 and 2.4.
    static final String ARGS = "args";
    static final String REQUEST_ID = "request_id";
    static final String STATUS = "status";
    static final String DATA = "data";
    static final String ERROR_CODE = "error_code";
    static final String RESOLUTION_HINT = "resolution_hint";
    static final String AUTHORIZE_INTENT = "authorize_intent";

    // MCP.
    static final String SUCCESS = "success";
    static final String TOOL = "tool";
    static final String TOOL_DESCRIPTION = "tool_description";
    static final String TOOL_INPUT_SCHEMA = "tool_input_schema";
    static final String TOOL_INPUT_REQUIRED = "tool_input_required";
    static final String TOOL_ARGUMENTS = "tool_arguments";
    static final String TOOL_RESULT = "tool_result";
    static final String MCP_TYPE = "application/vnd.mcp.tool";

    private Names() {}
}
