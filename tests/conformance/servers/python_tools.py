"""The tools of the conformance server with the official Python SDK. Questions of tools come in both styles: pushed
while the tool runs (up to MCP 2025-11-25) and as a result that requires input (since 2026-07-28)."""

import asyncio
import json
from pathlib import Path

import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
# Pause between the messages of a tool, in seconds.
PAUSE_S = 0.05
# Changes for the clients that listen.
CHANGES = InMemorySubscriptionBus()
# The tool that `test_trigger_tool_change` adds and removes.
SOMETIMES = "test_sometimes"
HIDDEN = {SOMETIMES}
# Names and schemas are those of the tests' own server, so that both can be compared.
DECLARED = json.loads((Path(__file__).parents[2] / "fake-mcp" / "src" / "tools.json").read_text())


def content(*parts: dict) -> dict:
    return {"content": list(parts)}


def text(said: str) -> dict:
    return content({"type": "text", "text": said})


def form(message: str, properties: dict, required: list[str]) -> dict:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def name(message: str = "What is your name?") -> dict:
    return form(message, {"name": {"type": "string"}}, ["name"])


def sampling(prompt: str, most: int) -> dict:
    messages = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": most}}


SURE = form("Are you sure?", {"ok": {"type": "boolean"}}, ["ok"])
GREETING = sampling("Generate a greeting", 50)
ROOTS = {"method": "roots/list"}
DEFAULTS = {
    "name": {"type": "string", "description": "Name", "default": "John Doe"},
    "age": {"type": "integer", "description": "Age", "default": 30},
    "score": {"type": "number", "description": "Score", "default": 95.5},
    "status": {
        "type": "string",
        "description": "Status",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "description": "Verified", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]


def titled(noun: str) -> list[dict]:
    titles = enumerate(("First", "Second", "Third"), 1)
    return [{"const": f"value{at}", "title": f"{title} {noun}"} for at, title in titles]


CHOICES = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": titled("Option")},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
}


def ask(context, params, rounds: list[dict], say, has_state: bool = False) -> dict:
    """Asks for input until every question has an answer. `say` returns the result. With `has_state`, the answers so
    far travel in the request state."""
    answers = json.loads(params.request_state) if params.request_state else {}
    brought = params.input_responses or {}
    form_of = {"mode": "json", "by_alias": True, "exclude_none": True}
    answers |= {key: answer.model_dump(**form_of) for key, answer in brought.items()}
    for questions in rounds:
        missing = {key: question for key, question in questions.items() if key not in answers}
        if missing:
            require_capabilities(context, missing)
            state = {"requestState": json.dumps(answers)} if has_state else {}
            return {"resultType": "input_required", "inputRequests": missing} | state
    return say(answers)


def require_capabilities(context, questions: dict) -> None:
    """Refuses to ask a client that cannot be asked."""
    methods = {question["method"].split("/")[0] for question in questions.values()}
    can = context.session.client_capabilities.model_dump(exclude_none=True)
    lacking = {method: {} for method in methods if method not in can}
    if lacking:
        code, data = types.MISSING_REQUIRED_CLIENT_CAPABILITY, {"requiredCapabilities": lacking}
        raise MCPError(code=code, message="the client cannot be asked this", data=data)


async def push(context, question: dict, label: str) -> dict:
    """Asks the person with a request of the server."""
    params = question["params"]
    answer = await context.session.elicit_form(params["message"], params["requestedSchema"], context.request_id)
    return text(f"{label}: action={answer.action}, content={json.dumps(answer.content)}")


async def log(context) -> dict:
    for at, message in enumerate(("Tool execution started", "Tool processing data", "Tool execution completed")):
        if at:
            await asyncio.sleep(PAUSE_S)
        await context.session.send_log_message("info", message, related_request_id=context.request_id)
    return text("Three messages were written.")


async def progress(context) -> dict:
    for done in (0, 50, 100):
        if done:
            await asyncio.sleep(PAUSE_S)
        await context.session.report_progress(done, 100, f"{done} of 100")
    return text("Progress was told three times.")


async def reconnect(context) -> dict:
    if context.close_sse_stream:
        await context.close_sse_stream()
    await asyncio.sleep(4 * PAUSE_S)
    return text("You came back.")


async def sample(context, prompt: str) -> dict:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    answer = await context.session.create_message([message], max_tokens=100, related_request_id=context.request_id)
    return text(f"LLM response: {answer.content.text}")


def capabilities(context, params) -> dict:
    can = context.session.client_capabilities
    questions = {"user_name": name()} if can.elicitation else {}
    questions |= {"greeting": GREETING} if can.sampling else {}
    questions |= {"client_roots": ROOTS} if can.roots else {}
    return ask(context, params, [questions], lambda answers: text(f"Answered: {json.dumps(answers)}"))


async def change(event) -> dict:
    if isinstance(event, ToolsListChanged):
        HIDDEN.symmetric_difference_update({SOMETIMES})
    await CHANGES.publish(event)
    return text("Changed.")


def fail() -> dict:
    return text("This tool intentionally returns an error for testing") | {"isError": True}


COLOR = form("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])
USER = {"username": {"type": "string"}, "email": {"type": "string"}}
THREE = {"user_name": name(), "greeting": GREETING, "client_roots": ROOTS}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}


def resource(uri: str, mime_type: str, said: str) -> dict:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": said}}


TOOLS = {
    "test_simple_text": lambda c, p: text("This is a simple text response for testing."),
    "test_image_content": lambda c, p: content(IMAGE),
    "test_audio_content": lambda c, p: content({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": lambda c, p: content(
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": lambda c, p: content(
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'),
    ),
    "test_error_handling": lambda c, p: fail(),
    "json_schema_2020_12_tool": lambda c, p: text("The arguments fit."),
    "test_header_params": lambda c, p: text(f"The region is {p.arguments['region']}"),
    "test_tool_with_logging": lambda c, p: log(c),
    "test_logging_tool": lambda c, p: log(c),
    "test_tool_with_progress": lambda c, p: progress(c),
    "test_reconnection": lambda c, p: reconnect(c),
    "test_sampling": lambda c, p: sample(c, p.arguments["prompt"]),
    "test_elicitation": lambda c, p: push(c, form(p.arguments["message"], USER, list(USER)), "User response"),
    "test_elicitation_sep1034_defaults": lambda c, p: push(
        c, form("Please look over this", DEFAULTS, []), "Elicitation completed"
    ),
    "test_elicitation_sep1330_enums": lambda c, p: push(c, form("Please choose", CHOICES, []), "Elicitation completed"),
    "test_streaming_elicitation": lambda c, p: stream(c, p),
    "test_missing_capability": lambda c, p: ask(c, p, [{"greeting": GREETING}], lambda a: text(json.dumps(a))),
    "test_input_required_result_elicitation": lambda c, p: ask(
        c,
        p, [{"user_name": name()}], lambda a: text(f"Hello, {a['user_name'].get('content', {}).get('name')}!")
    ),
    "test_input_required_result_sampling": lambda c, p: ask(
        c,
        p,
        [{"capital_question": sampling("What is the capital of France?", 100)}],
        lambda a: text(a["capital_question"]["content"]["text"]),
    ),
    "test_input_required_result_list_roots": lambda c, p: ask(
        c,
        p, [{"client_roots": ROOTS}], lambda a: text(f"Roots: {a['client_roots']['roots'][0]['uri']}")
    ),
    "test_input_required_result_request_state": lambda c, p: ask(
        c,
        p, [{"confirm": SURE}], lambda a: text("state-ok"), True
    ),
    "test_input_required_result_tampered_state": lambda c, p: ask(
        c,
        p, [{"confirm": SURE}], lambda a: text("state-ok"), True
    ),
    "test_input_required_result_multiple_inputs": lambda c, p: ask(
        c,
        p, [THREE], lambda a: text(f"All was answered: {json.dumps(a)}"), True
    ),
    "test_input_required_result_multi_round": lambda c, p: ask(
        c,
        p,
        [{"step1": name("Step 1: What is your name?")}, {"step2": COLOR}],
        lambda a: text(f"{a['step1']['content']['name']} likes {a['step2']['content']['color']}"),
        True,
    ),
    "test_input_required_result_capabilities": capabilities,
    SOMETIMES: lambda c, p: text("It is offered now."),
    "test_trigger_tool_change": lambda c, p: change(ToolsListChanged()),
    "test_trigger_prompt_change": lambda c, p: change(PromptsListChanged()),
    "test_trigger_resource_change": lambda c, p: change(ResourcesListChanged()),
    "test_trigger_resource_update": lambda c, p: change(ResourceUpdated(uri="test://watched-resource")),
}


async def stream(context, params) -> dict:
    """Reports progress before it asks."""
    await context.session.report_progress(10, 100)
    return ask(context, params, [{"confirm": SURE}], lambda answers: text("Elicitation completed"))


def tools() -> list[types.Tool]:
    """Lists the tools."""
    return [types.Tool.model_validate(tool) for tool in DECLARED if tool["name"] in TOOLS.keys() - HIDDEN]


async def call(context, params):
    """Calls a tool."""
    if params.name not in TOOLS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"there is no tool {params.name}")
    result = TOOLS[params.name](context, params)
    return finish(types.CallToolResult, await result if asyncio.iscoroutine(result) else result)


def finish(complete, result: dict):
    """Returns a result as the model of its type, of which `complete` is the usual one."""
    needs_input = result.get("resultType") == "input_required"
    return (types.InputRequiredResult if needs_input else complete).model_validate(result)
