"""MCP clients of other projects. Each runs the same steps on a device's tools and returns the results in one
form, regardless of library, transport and era."""

import asyncio
import contextlib
import json

import httpx2
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from gateway_process import binary
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp_types import ElicitResult
from node_process import environment, node_output

#: Timeout for expected events, in seconds.
TIMEOUT = 15


def stdio_command(gw, *args: str) -> list[str]:
    """Starts `toolway mcp` in front of a gateway."""
    return [binary(), "mcp", "--data-dir", str(gw.data_dir), *args]


def plain(value):
    """Returns a model of a library as JSON."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def through_node(gw, token, library, transport, era, source) -> dict:
    """Runs one of the TypeScript clients."""
    output = await node_output(
        "mcp.mjs",
        library,
        transport,
        era,
        source,
        MCP_URL=f"{gw.url}/mcp",
        MCP_TOKEN=token,
        MCP_COMMAND=json.dumps(stdio_command(gw)),
    )
    return json.loads(output.splitlines()[-1])


class Steps:
    """The common part of the Python clients."""

    def __init__(self, source: str):
        self.source, self.seen = source, {"progress": [], "asked": []}
        self.changed = asyncio.Event()

    def named(self, tool: str) -> str:
        """Returns the tool's full name."""
        return f"{self.source}__{tool}"

    def told(self, message) -> None:
        """Handles a notification."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.changed.set()

    async def run(self, client, listening) -> dict:
        """Runs all steps. `client` has `list`, `call` and `error`."""
        seen, named = self.seen, self.named
        tools = await client.list()
        seen["tools"] = {tool["name"]: tool for tool in tools}
        seen["echo"] = await client.call(named("echo"), {"text": "héllo", "count": 2})
        for tool in ("picture", "measure", "fails"):
            seen[tool] = await client.call(named(tool), {})
        try:
            seen["unknown"] = await client.call(named("nothing"), {})
        except MCPError as error:
            seen["unknown"] = {"code": error.error.code}
        await self.cancel(client)
        seen["guarded"] = await client.call(named("guarded"), {})
        async with listening():
            await client.call(named("grow"), {})
            await asyncio.wait_for(self.changed.wait(), TIMEOUT)
            seen["grown"] = [tool["name"] for tool in await client.list()]
        seen["late"] = await client.call(named("late"), {})
        return seen

    @contextlib.asynccontextmanager
    async def listening(self, session):
        """Receives change notifications with a subscription (2026-07-28)."""
        async with listen(session, tools_list_changed=True) as events:

            async def follow():
                async for _ in events:
                    self.changed.set()

            following = asyncio.create_task(follow())
            yield
            following.cancel()

    async def cancel(self, client) -> None:
        """Calls an endless tool and cancels the call after its second report."""
        enough = asyncio.Event()

        async def report(progress, total, message):
            self.seen["progress"].append({"progress": progress, "total": total, "message": message})
            if len(self.seen["progress"]) == 2:
                enough.set()

        calling = asyncio.create_task(client.call(self.named("slow"), {}, report))
        await asyncio.wait_for(enough.wait(), TIMEOUT)
        calling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await calling
        self.seen["cancelled"] = "given up"


@contextlib.asynccontextmanager
async def nothing():
    """Receives change notifications without a subscription."""
    yield


class Official:
    """The `mcp` package."""

    def __init__(self, client: Client):
        self.client = client

    async def list(self):
        """Returns the tools, page by page."""
        tools, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += [plain(tool) for tool in page.tools]
            if not (cursor := page.next_cursor):
                return tools

    async def call(self, name, args, report=None):
        """Returns a call's result."""
        return plain(await self.client.call_tool(name, args, progress_callback=report))


async def through_python(gw, token, transport, era, source) -> dict:
    """The official Python client."""
    steps = Steps(source)

    async def answer(_context, params):
        steps.seen["asked"].append(params.message)
        return ElicitResult(action="accept", content={"decision": "allow"})

    async def told(message):
        steps.told(message)

    async with contextlib.AsyncExitStack() as stack:
        if transport == "stdio":
            command, *args = stdio_command(gw)
            server = StdioServerParameters(command=command, args=args, env=environment())
        else:
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30)
            await stack.enter_async_context(http)
            server = streamable_http_client(f"{gw.url}/mcp", http_client=http)
        client = Client(
            server,
            mode="legacy" if era == "legacy" else "auto",
            elicitation_callback=answer,
            message_handler=told,
        )
        await stack.enter_async_context(client)
        steps.seen["version"] = client.protocol_version

        listening = nothing if era == "legacy" else lambda: steps.listening(client.session)
        return await steps.run(Official(client), listening)


class Fast:
    """The `fastmcp` package."""

    def __init__(self, client: FastClient):
        self.client = client

    async def list(self):
        """Returns the tools."""
        return [plain(tool) for tool in await self.client.list_tools()]

    async def call(self, name, args, report=None):
        """Returns a call's result."""
        return plain(await self.client.call_tool_mcp(name, args, progress_handler=report))


async def through_fastmcp(gw, token, transport, era, source) -> dict:
    """FastMCP's client."""
    steps = Steps(source)

    async def answer(message, _response_type, _params, _context):
        steps.seen["asked"].append(message)
        return {"decision": "allow"}

    async def told(message):
        steps.told(message)

    if transport == "stdio":
        command, *args = stdio_command(gw)
        server = StdioTransport(command, args, env=environment(), keep_alive=False)
    else:
        server = StreamableHttpTransport(f"{gw.url}/mcp", headers={"Authorization": f"Bearer {token}"})
    mode = "legacy" if era == "legacy" else "auto"
    client = FastClient(server, mode=mode, elicitation_handler=answer, message_handler=told, cache=False)
    async with client:
        listening = nothing if era == "legacy" else lambda: steps.listening(client.session)
        return await steps.run(Fast(client), listening)


#: Every client with its eras.
CLIENTS = {
    "typescript-2": (lambda *how: through_node(how[0], how[1], "client", *how[2:]), ("legacy", "modern")),
    "typescript-1": (lambda *how: through_node(how[0], how[1], "sdk", *how[2:]), ("legacy",)),
    "python": (through_python, ("legacy", "modern")),
    "fastmcp": (through_fastmcp, ("legacy", "modern")),
}
