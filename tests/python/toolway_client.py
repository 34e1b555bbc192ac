"""A small client and device for the gateway, written from the protocol document alone.

`DeviceV1` speaks as the existing v1 clients do, `DeviceV2` and `Caller` speak `toolway.v2`, `Rest`
is the HTTP side. Every wait is bounded. What v1 clients cannot read is looked for in every frame
sent to them, and raised when the socket is closed.
"""

import asyncio
import itertools
import json
import uuid
from urllib.parse import quote, urlencode

import httpx
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

#: How long a test waits for a message that has to come, in seconds.
WAIT = 8.0

_numbers = itertools.count(1)
_run = uuid.uuid4().hex[:4]


def unique(prefix: str) -> str:
    """A name that is a valid slug and was not used before in this run."""
    return f"{prefix}-{_run}{next(_numbers):x}"


def tool(name: str, properties: dict | None = None, required: list | None = None, **more) -> dict:
    """A tool's spec."""
    parameters = {"type": "object", "properties": properties or {}, "required": required or []}
    return {"name": name, "description": f"Does {name}", "parameters": parameters, **more}


# What a v1 client knows: the types and, for each, the fields it may see (the column "v" says 1).
V1_FIELDS = {
    "session_start": {"v", "session_id", "resumed", "message_count", "name", "persona"},
    "connected": {"v", "message"},
    "tools_registered": {"count", "registered", "rejected"},
    "registered_tools": {"tools"},
    "chunk": {"content"},
    "thinking": {"content"},
    "chunk_reset": set(),
    "tool_call": {"id", "name", "args"},
    "tool_result": {"id", "name", "output"},
    "tool_call_request": {"id", "name", "args"},
    "result_acknowledged": {"id"},
    "debug_prompt": {"messages", "estimated_tokens"},
    "done": {"full_response"},
    "aborted": set(),
    "abort_ack": {"status"},
    "title_updated": {"title"},
    "error": {"message", "code"},
}


def v1_faults(frame) -> list[str]:
    """Returns the parts of a frame that a v1 client can't parse."""
    if not isinstance(frame, dict):
        return [f"not an object: {frame!r}"]
    kind = frame.get("type")
    if kind not in V1_FIELDS:
        return [f"a type v1 does not know: {frame!r}"]
    faults = [f"{kind}.{k} is null" for k, v in frame.items() if v is None]
    unknown = set(frame) - V1_FIELDS[kind] - {"type"}
    if unknown:
        faults.append(f"{kind} has fields v1 does not know: {sorted(unknown)}")
    if "args" in frame and not isinstance(frame["args"], dict):
        faults.append(f"{kind}.args is no object: {frame['args']!r}")
    if kind == "debug_prompt" and not isinstance(frame.get("messages"), str):
        faults.append(f"debug_prompt.messages is no string: {frame.get('messages')!r}")
    for key in ("content", "output", "message", "code", "session_id", "name", "persona", "id"):
        if key in frame and not isinstance(frame[key], str):
            faults.append(f"{kind}.{key} is no string: {frame[key]!r}")
    if kind == "session_start" and not frame.get("session_id"):
        faults.append("session_start without session_id")
    return faults


class Socket:
    """A WebSocket whose frames are kept until a test asks for them."""

    def __init__(self, ws, v1: bool = False):
        self.ws, self.v1 = ws, v1
        self.inbox: list[dict] = []
        self.history: list[dict] = []
        self.faults: list[str] = []
        self.gone = False
        self._changed = asyncio.Condition()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(
        cls,
        gw,
        path: str,
        token: str | None = None,
        *,
        protocols: tuple = (),
        query: dict | None = None,
        headers: dict | None = None,
        origin: str | None = None,
        v1: bool = False,
        compression: str | None = "deflate",
        **more,
    ):
        """Upgrade; `token` goes into the Authorization header."""
        address = gw.ws_url + path + (f"?{urlencode(query)}" if query else "")
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        ws = await ws_connect(
            address,
            additional_headers=sent,
            subprotocols=list(protocols) or None,
            origin=origin,
            compression=compression,
            ping_interval=None,
            max_size=None,
            close_timeout=2,
            proxy=None,
        )
        return cls(ws, v1=v1, **more)

    async def _read(self):
        try:
            async for text in self.ws:
                if not isinstance(text, str):
                    self.faults.append(f"a binary frame: {text[:40]!r}")
                    continue
                try:
                    frame = json.loads(text)
                except ValueError:
                    self.faults.append(f"not JSON: {text[:200]!r}")
                    continue
                if self.v1:
                    self.faults += v1_faults(frame)
                if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
                    self.faults.append(f"no object with a type: {frame!r}")
                    continue
                async with self._changed:
                    self.history.append(frame)
                    if not self._take(frame):
                        self.inbox.append(frame)
                    self._changed.notify_all()
        except ConnectionClosed:
            pass
        finally:
            self.gone = True
            async with self._changed:
                self._changed.notify_all()

    def _take(self, frame: dict) -> bool:
        """Returns true if the frame was handled and must not be stored."""
        return False

    async def send(self, frame: dict) -> None:
        """Send one message."""
        await self.ws.send(json.dumps(frame))

    async def send_text(self, text: str) -> None:
        """Send a text frame unchanged."""
        await self.ws.send(text)

    async def expect(self, kind: str, *, timeout: float = WAIT, where=None, **fields) -> dict:
        """Take the first frame of this type with these field values; wait for it if needed."""

        def find():
            for index, frame in enumerate(self.inbox):
                if frame["type"] != kind or any(frame.get(k) != v for k, v in fields.items()):
                    continue
                if where is None or where(frame):
                    return self.inbox.pop(index)
            return None

        found: list[dict] = []

        def ready():
            hit = find()
            if hit is not None:
                found.append(hit)
            return bool(found) or self.gone

        async with self._changed:
            try:
                await asyncio.wait_for(self._changed.wait_for(ready), timeout)
            except TimeoutError:
                pass
        if not found:
            state = f"closed {self.close_code} {self.close_reason!r}" if self.gone else "open"
            raise AssertionError(f"no {kind} {fields} in {timeout} s; socket {state}; waiting: {self.inbox[-8:]}")
        return found[0]

    async def barrier(self) -> None:
        """Return when the gateway has read everything sent so far on this socket."""
        kind = unique("no-such-type")
        await self.send({"type": kind})
        await self.expect("error", code="UNKNOWN_MESSAGE_TYPE")

    def seen(self, kind: str, **fields) -> list[dict]:
        """Every frame of this type so far, including taken ones."""
        return [f for f in self.history if f["type"] == kind and all(f.get(k) == v for k, v in fields.items())]

    @property
    def close_code(self):
        """The close code that the gateway sent, once closed."""
        return self.ws.close_code

    @property
    def close_reason(self) -> str:
        """The reason that the gateway gave, once closed."""
        return self.ws.close_reason or ""

    async def until_closed(self, timeout: float = WAIT) -> tuple[int, str]:
        """Wait for the gateway to close; return the code and reason."""
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(lambda: self.gone), timeout)
        return self.close_code, self.close_reason

    def abort(self) -> None:
        """Drop the TCP connection without a close frame, like an unreachable phone."""
        self.ws.transport.abort()

    async def close(self) -> None:
        """Close, and raise an error for frames that this client could not parse."""
        try:
            await asyncio.wait_for(self.ws.close(), 5)
        except TimeoutError:
            self.abort()
        await asyncio.wait_for(asyncio.gather(self._reader, return_exceptions=True), 5)
        faults, self.faults = self.faults, []
        assert not faults, faults


class Device(Socket):
    """Answers tool_call_request through `handler(request)`, or leaves it to the test without one.

    A handler gives a string (the output) or a dict (fields of tool_result, or a whole message with
    its own `type`); what it raises goes back as tool_error. It may be a coroutine function.
    """

    def __init__(self, ws, v1: bool = False, handler=None):
        self.handler = handler
        self.runs: list[dict] = []
        self._tasks: set = set()
        super().__init__(ws, v1=v1)

    def _take(self, frame: dict) -> bool:
        if frame["type"] != "tool_call_request":
            return False
        self.runs.append(frame)
        if self.handler is None:
            return False
        task = asyncio.create_task(self._run(frame))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _run(self, request: dict) -> None:
        try:
            answer = self.handler(request)
            if asyncio.iscoroutine(answer):
                answer = await answer
        except Exception as error:  # whatever a tool raises is its error text
            answer = {"type": "tool_error", "error": str(error)}
        if not isinstance(answer, dict):
            answer = {"output": answer}
        try:
            await self.send({"type": "tool_result", "id": request["id"], **answer})
        except ConnectionClosed:
            pass

    async def register(self, tools: list, timeout: float = WAIT, **fields) -> dict:
        """Register and wait for the answer."""
        await self.send({"type": "register_tools", "tools": tools, **fields})
        return await self.expect("tools_registered", timeout=timeout)

    async def request(self, **fields) -> dict:
        """The next tool_call_request."""
        return await self.expect("tool_call_request", **fields)

    async def result(self, call: str, output: str = "ok", **fields) -> None:
        """Answer with a result."""
        await self.send({"type": "tool_result", "id": call, "output": output, **fields})

    async def fail(self, call: str, error: str = "it broke", **fields) -> None:
        """Answer with a tool_error."""
        await self.send({"type": "tool_error", "id": call, "error": error, **fields})


class DeviceV1(Device):
    """Like existing clients: one socket on /ws/chat, connect and register_tools together, no subprotocol."""

    #: The gateway's first messages.
    session_start: dict
    connected: dict
    registered: dict

    @classmethod
    async def join(cls, gw, token, tools=(), *, name=None, session_id=None, handler=None, path="/ws/chat"):
        """Connect like a v1 client; wait only after everything is sent."""
        query = {"session_id": session_id} if session_id else None
        self = await cls.open(gw, path, token, query=query, v1=True, handler=handler)
        first = {"type": "connect", "capabilities": ["tools"]}
        if name:
            first["device_name"] = name
        await self.send(first)
        await self.send({"type": "register_tools", "tools": list(tools)})
        if path == "/ws/chat":
            self.session_start = await self.expect("session_start")
        self.connected = await self.expect("connected")
        self.registered = await self.expect("tools_registered")
        return self


class DeviceV2(Device):
    """A device on /ws/device (or a chat client with tools, with `path="/ws/chat"`)."""

    connected: dict
    registered: dict

    @classmethod
    async def join(
        cls,
        gw,
        token,
        tools=(),
        *,
        device_id=None,
        name=None,
        capabilities=("progress", "cancel"),
        resume_token=None,
        handler=None,
        path="/ws/device",
        register=True,
        query=None,
    ):
        """Connect, wait for `connected`, register and wait for the answer."""
        self = await cls.open(gw, path, token, protocols=("toolway.v2",), query=query, handler=handler)
        first = {"type": "connect", "v": 2, "capabilities": list(capabilities)}
        first |= {"platform": "linux", "app_version": "1.0"}
        if device_id:
            first["device_id"] = device_id
        if name:
            first["device_name"] = name
        if resume_token:
            first["resume_token"] = resume_token
        await self.send(first)
        self.connected = await self.expect("connected")
        if register:
            self.registered = await self.register(list(tools))
        return self

    @property
    def source(self) -> str:
        """The slug that the gateway assigned."""
        return self.connected["source"]

    async def progress(self, call: str, progress: float, **fields) -> None:
        """Report progress."""
        await self.send({"type": "tool_progress", "id": call, "progress": progress, **fields})

    async def waiting(self, call: str, for_: str = "permission", **fields) -> None:
        """Report that the tool waits for a person."""
        await self.send({"type": "tool_waiting", "id": call, "for": for_, **fields})


class Caller(Socket):
    """A v2 chat client that calls tools directly."""

    @classmethod
    async def join(cls, gw, token, **fields):
        """Connect on /ws/chat."""
        self = await cls.open(gw, "/ws/chat", token, protocols=("toolway.v2",))
        await self.send({"type": "connect", "v": 2, **fields})
        self.session_start = await self.expect("session_start")
        self.connected = await self.expect("connected")
        return self

    async def start(self, name: str, args=None, **fields) -> str:
        """Send call_tool; return the id that this client chose."""
        call = unique("c")
        args = {} if args is None else args
        await self.send({"type": "call_tool", "id": call, "name": name, "args": args, **fields})
        return call

    async def answer(self, call: str, timeout: float = WAIT) -> dict:
        """The call_result of a call that was started."""
        return await self.expect("call_result", id=call, timeout=timeout)

    async def call(self, name: str, args=None, timeout: float = WAIT, **fields) -> dict:
        """Call and wait for the outcome."""
        return await self.answer(await self.start(name, args, **fields), timeout)

    async def cancel(self, call: str) -> None:
        """Cancel a call that was started."""
        await self.send({"type": "cancel_call", "id": call})


class Rest:
    """The HTTP side, with one token."""

    def __init__(self, gw, token: str | None, http: httpx.AsyncClient):
        self.gw, self.token, self.http = gw, token, http

    def _headers(self, more: dict | None) -> dict:
        headers = dict(more or {})
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers

    async def request(self, method: str, path: str, *, headers=None, **more) -> httpx.Response:
        """Any request."""
        return await self.http.request(method, self.gw.url + path, headers=self._headers(headers), **more)

    async def get(self, path: str, **more) -> httpx.Response:
        """GET."""
        return await self.request("GET", path, **more)

    async def post(self, path: str, body=None, **more) -> httpx.Response:
        """POST of JSON."""
        return await self.request("POST", path, json={} if body is None else body, **more)

    async def patch(self, path: str, body) -> httpx.Response:
        """PATCH with JSON."""
        return await self.request("PATCH", path, json=body)

    async def delete(self, path: str) -> httpx.Response:
        """DELETE."""
        return await self.request("DELETE", path)

    async def json(self, path: str, **more):
        """GET that has to succeed."""
        response = await self.get(path, **more)
        assert response.status_code == 200, (path, response.status_code, response.text)
        return response.json()

    async def call(self, name: str, args=None, **fields) -> dict:
        """Call a tool; the request itself has to be accepted."""
        body = {"args": {} if args is None else args, **fields}
        response = await self.post(f"/api/tools/{quote(name, safe='')}/call", body)
        assert response.status_code == 200, (response.status_code, response.text)
        return response.json()

    async def events(self, method: str, path: str, body=None):
        """Server-sent events of a request as (event, data); ends when the gateway ends the stream.

        Closing the generator closes the request.
        """
        headers = self._headers({"Accept": "text/event-stream"})
        async with self.http.stream(method, self.gw.url + path, headers=headers, json=body) as response:
            assert response.status_code == 200, (response.status_code, await response.aread())
            assert response.headers["content-type"].startswith("text/event-stream"), response.headers
            event, data = "message", []
            async for line in response.aiter_lines():
                if line == "":
                    if data:
                        yield event, json.loads("\n".join(data))
                    event, data = "message", []
                elif line.startswith("event:"):
                    event = line[6:].strip()
                elif line.startswith("data:"):
                    data.append(line[5:].removeprefix(" "))


async def refused(gw, path: str, token=None, **more) -> tuple[int, str]:
    """Return the status and body of a refused upgrade."""
    try:
        socket = await Socket.open(gw, path, token, **more)
    except InvalidStatus as error:
        return error.response.status_code, (error.response.body or b"").decode()
    await socket.close()
    raise AssertionError(f"{path} was accepted")


async def eventually(check, timeout: float = WAIT):
    """Wait until `check` (a coroutine function) returns something true, and return it."""
    end = asyncio.get_running_loop().time() + timeout
    while True:
        value = await check()
        if value:
            return value
        if asyncio.get_running_loop().time() > end:
            raise AssertionError(f"did not come true in {timeout} s: {getattr(check, '__name__', check)}")
        await asyncio.sleep(0.02)
