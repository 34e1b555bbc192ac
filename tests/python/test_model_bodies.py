"""What Toolway sends to model providers is what their official SDKs would send: bodies of a corpus of conversations
and tool schemas, held against JSON Schemas made from the SDKs' own types."""

import copy
import json
import os
import subprocess
from pathlib import Path

import pytest
from gateway_process import REPOSITORY
from sdk_schemas import complaints
from talking import KINDS

CONVERSATIONS, SCHEMAS = 40, 30

# The corpus.


@pytest.fixture(scope="session")
def corpus() -> dict[str, list[dict]]:
    """The bodies, by the kind of model provider."""
    if named := os.environ.get("TOOLWAY_BODIES"):
        text = Path(named).read_text()
    else:
        target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
        program = Path(target) / "debug" / "examples" / "bodies"
        assert program.is_file(), f"{program} is not there; cargo build --package toolway-models --example bodies"
        text = subprocess.run([program], capture_output=True, text=True, check=True, timeout=120).stdout
    bodies: dict[str, list[dict]] = {}
    for line in text.rstrip("\n").split("\n"):
        entry = json.loads(line)
        bodies.setdefault(entry["kind"], []).append(entry)
    return bodies


@pytest.mark.parametrize("kind", KINDS)
def test_the_corpus_is_large_enough(corpus, kind):
    entries = corpus[kind]
    assert len({entry["conversation"] for entry in entries}) >= CONVERSATIONS
    assert len({entry["schema"] for entry in entries} - {None}) >= SCHEMAS
    assert any(len(tools(kind, entry["body"])) >= 100 for entry in entries), "none with many tools"


@pytest.mark.parametrize("kind", KINDS)
def test_every_body_is_one_that_the_sdk_would_send(corpus, kind):
    wrong = [
        f"{entry['conversation']} × {entry['schema']}: {complaint}"
        for entry in corpus[kind]
        for complaint in complaints_about(kind, entry)
    ]
    assert not wrong, f"{len(wrong)} complaints\n" + "\n".join(wrong[:20])


#: What the older version of Anthropic's API takes, which the SDK does not speak any more.
SAMPLING = ("temperature", "top_p", "top_k")


def complaints_about(kind: str, entry: dict) -> list[str]:
    """Returns violations of the SDK's types in a body of the corpus."""
    body = entry["body"]
    if kind != "anthropic":
        return complaints(kind, body)
    found = []
    if entry["version"] == "2023-06-01":
        given = {name: body[name] for name in SAMPLING if name in body}
        found = [f"{name} is no number" for name, value in given.items() if not isinstance(value, int | float)]
        body = {name: value for name, value in body.items() if name not in SAMPLING}
    beta = "block_binding" in body.get("thinking", {})
    return found + complaints("anthropic-beta" if beta else "anthropic", body)


def tools(kind: str, body: dict) -> list:
    """Returns the tools in a body."""
    if kind == "gemini":
        return [each for group in body.get("tools", []) for each in group.get("functionDeclarations", [])]
    return body.get("tools", [])


# That the check can fail.

LAMP = {"type": "object", "properties": {"on": {"type": "boolean"}}}
PNG = "iVBORw0KGgo="

RIGHT = {
    "openai": {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "lamp", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "ok"},
        ],
        "tools": [{"type": "function", "function": {"name": "lamp", "description": "A lamp", "parameters": LAMP}}],
        "tool_choice": {"type": "function", "function": {"name": "lamp"}},
        "reasoning_effort": "low",
    },
    "openai-responses": {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look"},
                    {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
                ],
            },
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "call_id": "a", "name": "lamp", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "ok"},
        ],
        "tools": [{"type": "function", "name": "lamp", "parameters": LAMP, "strict": False}],
        "tool_choice": {"type": "function", "name": "lamp"},
    },
    "anthropic": {
        "model": "m",
        "stream": True,
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "thinking": {"type": "adaptive"},
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "x"},
                    {"type": "tool_use", "id": "a", "name": "lamp", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True},
                ],
            },
        ],
        "tools": [{"name": "lamp", "input_schema": LAMP}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "lamp", "args": {}}, "thoughtSignature": "eA=="}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "lamp", "response": {"output": "ok"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "lamp", "parametersJsonSchema": LAMP}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["lamp"]}},
        "generationConfig": {"temperature": 0.5, "thinkingConfig": {"includeThoughts": True}},
    },
}

#: A path into the right body, and what stands there instead; `...` takes it away.
BROKEN = {
    "openai": [
        ("stream", False),
        ("model", ...),
        ("messages", ...),
        ("surprise", 1),
        ("max_completion_tokens", "100"),
        ("reasoning_effort", "enormous"),
        ("stream_options/usage", True),
        ("messages/0/role", "teacher"),
        ("messages/0/cache", True),
        ("messages/1/content", ...),
        ("messages/1/content/0/type", "words"),
        ("messages/1/content/1/image_url", f"data:image/png;base64,{PNG}"),
        ("messages/1/content/1/image_url/mime", "image/png"),
        ("messages/2/tool_calls/0/id", ...),
        ("messages/2/tool_calls/0/type", "tool"),
        ("messages/2/tool_calls/0/function/arguments", {}),
        ("messages/2/tool_calls/0/index", 0),
        ("messages/3/tool_call_id", ...),
        ("messages/3/content", {"ok": True}),
        ("messages/3/is_error", True),
        ("tools/0/name", "lamp"),
        ("tools/0/function/name", ...),
        ("tools/0/function/input_schema", LAMP),
        ("tools/0/function/parameters", "none"),
        ("tool_choice", {"type": "tool", "name": "lamp"}),
    ],
    "openai-responses": [
        ("stream", False),
        ("messages", []),
        ("surprise", 1),
        ("include", ["everything"]),
        ("input/0/content/0/type", "text"),
        ("input/0/content/1/image_url", {"url": "x"}),
        ("input/0/role", "teacher"),
        ("input/1/summary", ...),
        ("input/1/summary", "Hm"),
        ("input/2/arguments", {}),
        ("input/2/call_id", ...),
        ("input/2/index", 0),
        ("input/3/output", ...),
        ("input/3/is_error", True),
        ("input/3/output", [{"type": "image", "data": PNG}]),
        ("tools/0/strict", ...),
        ("tools/0/parameters", ...),
        ("tools/0/function", {"name": "lamp"}),
        ("tool_choice", {"type": "function", "function": {"name": "lamp"}}),
    ],
    "anthropic": [
        ("stream", False),
        ("max_tokens", ...),
        ("max_tokens", "4096"),
        ("surprise", 1),
        ("system", {"text": "Be brief."}),
        ("system/0/type", "words"),
        ("system/0/cache_control/type", "forever"),
        ("thinking", {"type": "enabled"}),
        ("thinking/effort", "low"),
        ("messages/0/role", "tool"),
        ("messages/0/name", "x"),
        ("messages/0/content/0/source/media_type", "image/tiff"),
        ("messages/0/content/0/source/data", ...),
        ("messages/0/content/0/mime", "image/png"),
        ("messages/1/content/0/signature", ...),
        ("messages/1/content/1/id", ...),
        ("messages/1/content/1/input", "{}"),
        ("messages/1/content/1/arguments", {}),
        ("messages/2/content/0/tool_use_id", ...),
        ("messages/2/content/0/is_error", "yes"),
        ("messages/2/content/0/name", "lamp"),
        ("messages/2/content/0/content", {"text": "no"}),
        ("messages/2/content/0/type", "tool_output"),
        ("tools/0/input_schema", ...),
        ("tools/0/parameters", LAMP),
        ("tool_choice", "auto"),
        ("tool_choice/type", "tool"),
    ],
    "gemini": [
        ("contents", ...),
        ("messages", []),
        ("contents/0/content", "hi"),
        ("contents/0/parts", {"text": "Look"}),
        ("contents/0/parts/0/type", "text"),
        ("contents/0/parts/1/inlineData/media_type", "image/png"),
        ("contents/1/parts/0/functionCall/args", "{}"),
        ("contents/1/parts/0/functionCall/arguments", {}),
        ("contents/1/parts/0/signature", "x"),
        ("contents/2/parts/0/functionResponse/response", "ok"),
        ("contents/2/parts/0/functionResponse/is_error", True),
        ("systemInstruction", "Be brief."),
        ("tools/0/functions", []),
        ("tools/0/functionDeclarations/0/input_schema", LAMP),
        ("tools/0/functionDeclarations/0/parameters", {"type": "OBJECT", "oneOf": []}),
        ("tools/0/functionDeclarations/0/parameters", {"type": "OBJECT", "$schema": "x"}),
        ("tools/0/functionDeclarations/0/parameters", {"type": ["STRING", "NULL"]}),
        ("toolConfig/functionCallingConfig/mode", "SOMETIMES"),
        ("toolConfig/mode", "ANY"),
        ("generationConfig/max_tokens", 5),
        ("generationConfig/thinkingConfig/effort", "low"),
        ("generationConfig/temperature", "warm"),
    ],
}


@pytest.mark.parametrize("kind", RIGHT)
def test_a_valid_body_is_accepted(kind):
    assert complaints(kind, RIGHT[kind]) == []


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [(kind, path, value) for kind, changes in BROKEN.items() for path, value in changes],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value, default=lambda _: "gone")[:30],
)
def test_a_malformed_body_is_rejected(kind, path, value):
    body = copy.deepcopy(RIGHT[kind])
    *parents, name = path.split("/")
    place = body
    for parent in parents:
        place = place[int(parent) if isinstance(place, list) else parent]
    if value is ...:
        del place[name]
    else:
        place[int(name) if isinstance(place, list) else name] = value
    assert complaints(kind, body), f"{path} = {value} passes"
