"""A small MCP server with the official Python SDK, for the conformance suite: MCP 2026-07-28 and, with sessions, every
version before. Listens on a free port and prints its address."""

import asyncio
import json
import warnings

import mcp_types as types
import python_tools
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

NAME = "toolway-conformance-python"
# Time after which a client should come back to a closed stream, in milliseconds.
RETRY_MS = 100
WORDS = ("paris", "park", "party", "test-city")
TEXTS = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "It changes when a tool says so.",
}
BINARY = "test://static-binary"


class Events(EventStore):
    """The events of streams, for clients that come back."""

    def __init__(self) -> None:
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        stream = self.events[int(last_event_id) - 1][0]
        for at, (of, message) in enumerate(self.events[int(last_event_id) :], int(last_event_id) + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(at)))
        return stream


async def list_tools(context, params):
    return types.ListToolsResult(tools=python_tools.tools())


def prompt(name: str, *arguments: str) -> types.Prompt:
    given = [types.PromptArgument(name=argument, description=argument, required=True) for argument in arguments]
    return types.Prompt(name=name, description=name, arguments=given or None)


async def list_prompts(context, params):
    return types.ListPromptsResult(
        prompts=[
            prompt("test_simple_prompt"),
            prompt("test_prompt_with_arguments", "arg1", "arg2"),
            prompt("test_prompt_with_embedded_resource", "resourceUri"),
            prompt("test_prompt_with_image"),
            prompt("test_input_required_result_prompt"),
        ]
    )


def messages(*contents: dict) -> dict:
    return {"messages": [{"role": "user", "content": content} for content in contents]}


def said(text: str) -> dict:
    return {"type": "text", "text": text}


async def get_prompt(context, params):
    return python_tools.finish(types.GetPromptResult, prompt_result(context, params))


def prompt_result(context, params) -> dict:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return messages(said("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            return messages(said(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"))
        case "test_prompt_with_embedded_resource":
            text = "Embedded resource content for testing."
            resource = python_tools.resource(given["resourceUri"], "text/plain", text)
            return messages(resource, said("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return messages(python_tools.IMAGE, said("Please analyze the image above."))
        case "test_input_required_result_prompt":
            properties = {"context": {"type": "string"}}
            question = python_tools.form("What context should the prompt use?", properties, ["context"])
            return python_tools.ask(
                context,
                params,
                [{"user_context": question}],
                lambda answers: messages(said(f"Use this context: {json.dumps(answers)}")),
            )
    raise MCPError(code=types.INVALID_PARAMS, message=f"there is no prompt {params.name}")


async def list_resources(context, params):
    texts = [types.Resource(uri=uri, name=uri.split("/")[-1], mime_type="text/plain") for uri in TEXTS]
    binary = types.Resource(uri=BINARY, name="static-binary", mime_type="image/png")
    return types.ListResourcesResult(resources=[*texts, binary])


async def list_templates(context, params):
    template = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="template", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(context, params):
    uri = str(params.uri)
    if uri in TEXTS:
        return contents(uri, "text/plain", text=TEXTS[uri])
    if uri == BINARY:
        return contents(uri, "image/png", blob=python_tools.PNG)
    if uri.startswith("test://template/") and uri.endswith("/data"):
        id = uri.removeprefix("test://template/").removesuffix("/data")
        text = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
        return contents(uri, "application/json", text=text)
    raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": uri})


def contents(uri: str, mime_type: str, **content: str) -> types.ReadResourceResult:
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, "mimeType": mime_type} | content]})


async def complete(context, params):
    values = [word for word in WORDS if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def acknowledge(context, params):
    return types.EmptyResult()


def server() -> Server:
    """Creates the server."""
    with warnings.catch_warnings():
        # Log levels are deprecated, and older versions of MCP need them.
        warnings.simplefilter("ignore")
        created = Server(
            NAME,
            version="1.0.0",
            on_list_tools=list_tools,
            on_call_tool=python_tools.call,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=acknowledge,
            on_unsubscribe_resource=acknowledge,
            on_subscriptions_listen=ListenHandler(python_tools.CHANGES),
            on_completion=complete,
            on_set_logging_level=acknowledge,
            get_tool_input_schema=lambda name: next(
                (tool["inputSchema"] for tool in python_tools.DECLARED if tool["name"] == name), None
            ),
        )
    created.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return created


async def main() -> None:
    """Serves until the process is ended."""
    app = server().streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    serving = uvicorn.Server(config)
    socket = config.bind_socket()
    print(f"http://127.0.0.1:{socket.getsockname()[1]}/mcp", flush=True)
    await serving.serve([socket])


if __name__ == "__main__":
    asyncio.run(main())
