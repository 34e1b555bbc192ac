"""The gateway's MCP server as the clients of others see it: TypeScript's and Python's official ones and FastMCP's, over
HTTP and over `toolway mcp`, in both eras of MCP, on the tools of a device. (docs/mcp-clients.md)"""

import asyncio
import json

import pytest
from conftest import PATIENT
from gateway_process import binary
from mcp_clients import CLIENTS, stdio_command
from node_process import environment, node_output
from toolway_client import eventually, tool, unique

SETTINGS = {
    "limits": PATIENT,
    "timeouts": {"approval_s": 10},
    "permissions": {"rules": [{"permission": "device.*", "state": "ask"}]},
}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#: With keywords and an order of keys that do not survive being parsed and written again by everybody.
ECHO = {
    "type": "object",
    "$defs": {"word": {"$anchor": "word", "type": "string", "maxLength": 100}},
    "properties": {"text": {"$ref": "#word"}, "count": {"minimum": 1, "type": "integer", "default": 1}},
    "required": ["text"],
    "additionalProperties": False,
}
READING = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}
TOOLS = [
    tool("echo") | {"parameters": ECHO, "title": "Echo", "annotations": {"readOnlyHint": True}},
    tool("picture"),
    tool("measure", output_schema=READING),
    tool("fails"),
    tool("slow"),
    tool("guarded", permissions=["device.location"]),
    tool("grow"),
]
EVERY_WAY = [
    pytest.param(name, transport, era, id=f"{name}-{transport}-{era}")
    for name, (_, eras) in CLIENTS.items()
    for transport in ("stdio", "http")
    for era in eras
]


class Phone:
    """A device with one tool for each behaviour."""

    def __init__(self):
        self.device, self.given_up = None, asyncio.Event()

    async def run(self, request):
        """Runs a tool."""
        name = request["name"]
        return await getattr(self, name)(request)

    async def echo(self, request):
        return json.dumps(request["args"], ensure_ascii=False)

    async def picture(self, _):
        return {"output": "a dot", "content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}

    async def measure(self, _):
        return {"output": "21.5 degrees", "structured": {"celsius": 21.5}}

    async def fails(self, _):
        raise RuntimeError("the sensor is broken")

    async def slow(self, request):
        for step in (1, 2):
            await self.device.progress(request["id"], step, total=10, message=f"step {step}")
        await self.device.expect("tool_call_cancel", id=request["id"])
        self.given_up.set()
        return "too late"

    async def guarded(self, _):
        return "51.5 N"

    async def grow(self, _):
        await self.device.register([*TOOLS, tool("late")])
        return "grown"

    async def late(self, _):
        return "in time"


@pytest.fixture
async def phone(net, gateway_factory):
    """A device with all kinds of tools, on a gateway that asks for permissions; and a client's token."""
    own, phone = net.on(gateway_factory(SETTINGS)), Phone()
    phone.device = await own.v2(TOOLS, name=unique("phone"), handler=phone.run)
    phone.net, phone.gw, phone.source = own, own.gw, phone.device.source
    phone.token = await own.client()
    return phone


def text(result):
    """Returns the only text of a result."""
    [part] = [part for part in result["content"] if part["type"] == "text"]
    return part["text"]


@pytest.mark.parametrize(("client", "transport", "era"), EVERY_WAY)
async def test_every_client_uses_the_tools_of_a_device(phone, client, transport, era):
    use, _ = CLIENTS[client]
    seen = await use(phone.gw, phone.token, transport, era, phone.source)
    named = {name: f"{phone.source}__{name}" for name in ("echo", "measure", "late", "slow")}

    echo = seen["tools"][named["echo"]]
    assert echo["inputSchema"] == ECHO
    assert (echo["title"], echo["annotations"]) == ("Echo", {"readOnlyHint": True})
    assert echo["description"] == "Does echo"
    assert seen["tools"][named["measure"]]["outputSchema"] == READING
    assert named["late"] not in seen["tools"]

    assert json.loads(text(seen["echo"])) == {"text": "héllo", "count": 2}
    assert not seen["echo"].get("isError")
    [image] = [part for part in seen["picture"]["content"] if part["type"] == "image"]
    assert (image["data"], image["mimeType"]) == (PNG, "image/png")
    assert seen["measure"]["structuredContent"] == {"celsius": 21.5}
    assert seen["fails"]["isError"] is True
    assert "the sensor is broken" in text(seen["fails"])
    assert seen["unknown"] == {"code": -32602}

    reports = [(it["progress"], it["total"], it["message"]) for it in seen["progress"]]
    assert reports[:2] == [(1, 10, "step 1"), (2, 10, "step 2")]
    assert "slow" not in seen and seen["cancelled"]
    await asyncio.wait_for(phone.given_up.wait(), 10)

    assert text(seen["guarded"]) == "51.5 N"
    [asked] = seen["asked"]
    assert "device.location" in asked and f"{phone.source}__guarded" in asked

    assert named["late"] in seen["grown"]
    assert text(seen["late"]) == "in time"


async def inspected(net, tmp_path, only: str) -> str:
    """Returns all findings of the inspector's strict mode on a source's tools, those of the list first."""
    command = stdio_command(net.gw, "--only", only)
    inspector = ["node_modules/.bin/mcp-inspector", "--cli", "--strict"]
    return await node_output(*inspector, *command, "--method", "tools/list", HOME=str(tmp_path))


async def test_the_inspector_accepts_the_built_in_tools(net, tmp_path):
    output = await inspected(net, tmp_path, "builtin/*")
    names = {entry["name"] for entry in json.loads(output)["tools"]}
    assert {"get_current_time", "read_file"} <= names


async def test_the_inspector_accepts_a_computers_tools(net, tmp_path):
    name, token = unique("computer"), tmp_path / "token"
    token.write_text(await net.pair("device"))
    token.chmod(0o600)
    command = [binary(), "device", "--gateway", net.gw.url, "--token-file", str(token), "--name", name]
    computer = await asyncio.create_subprocess_exec(
        *command,
        "--data-dir",
        str(tmp_path / "data"),
        env=environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:

        async def connected():
            return await net.names(name)

        assert await eventually(connected)
        output = await inspected(net, tmp_path, f"{name}/*")
        listed, end = json.JSONDecoder().raw_decode(output)
        assert all(entry["name"].startswith(f"{name}__") for entry in listed["tools"]) and listed["tools"]
        assert not output[end:].strip(), output[end:]
    finally:
        computer.terminate()
        await computer.wait()
