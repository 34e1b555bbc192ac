"""Limits (docs/protocol.md, "Limits"): each limit exceeded by one, and invalid frames."""

import asyncio
import json

import pytest
from raw_ws import BINARY, TEXT, RawSocket
from shapes import check_error, check_success
from toolway_client import eventually, tool, unique

FRAME, SPECS, OUTPUT = 65_536, 8_192, 4_000
LIMITS = {
    "limits": {
        "frame_bytes": FRAME,
        "tools_per_connection": 5,
        "spec_bytes_per_connection": SPECS,
        "calls_in_flight_per_device": 4,
        "calls_in_flight": 6,
        "output_bytes": OUTPUT,
    }
}


@pytest.fixture
def small(net, gateway_factory):
    """A gateway with small limits."""
    return net.on(gateway_factory(LIMITS))


def padded(size: int, **fields) -> str:
    """Returns a message of exactly this number of bytes."""
    text = json.dumps({**fields, "pad": ""})
    return text[:-2] + "p" * (size - len(text)) + '"}'


async def raw_device(net, token=None, path="/ws/device", **more):
    token = token or await net.pair("companion")
    headers = {"Authorization": f"Bearer {token}", "Sec-WebSocket-Protocol": "toolway.v2"}
    return await RawSocket.open(net.gw, path, headers, **more)


async def text_of(raw, kind, timeout=5.0):
    """Reads until a message of this type."""
    while True:
        frame = await raw.frame(timeout)
        assert frame is not None, f"closed before {kind}"
        if frame[0] == TEXT and json.loads(frame[1])["type"] == kind:
            return json.loads(frame[1])


@pytest.mark.parametrize("path", ["/ws/chat", "/ws/device"])
async def test_a_frame_at_the_limit_is_accepted_and_one_byte_more_closes_with_1009(small, path):
    token = await small.pair("companion")
    socket = await small.socket(path, token, protocols=("toolway.v2",), compression=None)
    text = padded(FRAME, type="get_registered_tools")
    assert len(text) == FRAME
    await socket.send_text(text)
    assert (await socket.expect("registered_tools"))["tools"] == []
    await socket.send_text(padded(FRAME + 1, type="get_registered_tools"))
    code, reason = await socket.until_closed()
    assert code == 1009 and reason


async def test_small_fragments_count_as_one_message_against_the_limit(small):
    raw = await raw_device(small)
    raw.write(TEXT, b'{"type":"x","pad":"', final=False)
    for _ in range(FRAME // 1000 + 2):
        raw.write(0, b"p" * 1000, final=False)
    code, reason = await raw.until_close()
    assert code == 1009 and reason


async def test_an_announced_length_over_the_limit_is_refused_before_the_data(small):
    """A header that announces 2^62 bytes is refused before the data."""
    raw = await raw_device(small)
    raw.writer.write(b"\x81\xff" + (2**62).to_bytes(8, "big") + b"\0\0\0\0" + b"x" * 100)
    code, reason = await raw.until_close()
    assert code == 1009 and reason


async def test_an_oversized_frame_closes_only_its_own_socket(small):
    device = await small.v2([tool("work")], handler=lambda r: "fine")
    caller = await small.caller()
    bad = await small.socket("/ws/device", await small.pair(), protocols=("toolway.v2",))
    await bad.send_text("x" * (FRAME * 4))
    assert (await bad.until_closed())[0] == 1009
    check_success(await caller.call(f"{device.source}__work"), "fine")


@pytest.mark.parametrize("path", ["/ws/chat", "/ws/device"])
@pytest.mark.parametrize(
    "payload", [b"\xff\xfe", b'{"type":"\xc3\x28"}', b'{"type":"x","a":"\xed\xa0\x80"}', b'"\xf0\x9f"']
)
async def test_invalid_utf8_closes_with_1007(net, path, payload):
    raw = await raw_device(net, path=path)
    await raw.send(TEXT, payload)
    code, reason = await raw.until_close()
    assert code == 1007 and reason


async def test_utf8_split_over_fragments_is_valid(net):
    raw = await raw_device(net)
    text = json.dumps({"type": "get_registered_tools", "pad": "電話"}, ensure_ascii=False).encode()
    cut = text.index("電".encode()) + 1
    raw.write(TEXT, text[:cut], final=False)
    raw.write(0, text[cut:])
    await text_of(raw, "registered_tools")
    raw.abort()


@pytest.mark.parametrize("path", ["/ws/chat", "/ws/device"])
async def test_a_binary_frame_is_answered_and_the_socket_stays_open(net, path):
    raw = await raw_device(net, path=path)
    for payload in (b"\x00\x01\x02\xff", b"", json.dumps({"type": "get_registered_tools"}).encode()):
        await raw.send(BINARY, payload)
        assert (await text_of(raw, "error"))["message"]
    await raw.send(TEXT, b'{"type":"get_registered_tools"}')
    await text_of(raw, "registered_tools")
    raw.abort()


MALFORMED = [
    "",
    " ",
    "{",
    "}",
    "nul",
    "{'type':'connect'}",
    '{"type":"connect",}',
    '{"type":"connect"} x',
    "\0",
    "[1,2",
    '{"a":1e999999}x',
]
NO_MESSAGE = [
    "[]",
    "5",
    '"text"',
    "null",
    "true",
    "{}",
    '{"type":5}',
    '{"type":null}',
    '{"type":""}',
    '[{"type":"connect"}]',
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("path", ["/ws/chat", "/ws/device"])
async def test_malformed_json_is_answered_and_the_socket_stays_open(net, version, path):
    protocols = ("toolway.v2",) if version == 2 else ()
    socket = await net.socket(path, await net.pair("companion"), protocols=protocols, v1=version == 1)
    for text in MALFORMED:
        await socket.send_text(text)
        error = await socket.expect("error")
        assert error["code"] == "INVALID_JSON", (text, error)
        assert error["message"]
    for text in NO_MESSAGE:
        await socket.send_text(text)
        error = await socket.expect("error")
        assert error["code"] in ("INVALID_JSON", "UNKNOWN_MESSAGE_TYPE"), (text, error)
        assert error["message"]
    for kind in ("teleport", "TOOL_RESULT", "connected", "x" * 3000, "naïve\u202e"):
        await socket.send({"type": kind})
        assert (await socket.expect("error"))["code"] == "UNKNOWN_MESSAGE_TYPE"
    await socket.send({"type": "register_tools", "tools": [tool("fine")]})
    assert (await socket.expect("tools_registered"))["registered"] == 1


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "call_tool"},
        {"type": "call_tool", "id": "x"},
        {"type": "call_tool", "name": "x", "args": {}},
        {"type": "call_tool", "id": 5, "name": "x", "args": {}},
        {"type": "call_tool", "id": "x", "name": ["x"], "args": {}},
        {"type": "call_tool", "id": "x", "name": "x", "args": {}, "timeout_ms": "soon"},
        {"type": "call_tool", "id": "x", "name": "x", "args": {}, "timeout_ms": -5},
        {"type": "call_tool", "id": "x", "name": "x", "args": {}, "idempotency_key": 5},
        {"type": "cancel_call"},
        {"type": "cancel_call", "id": {}},
        {"type": "message"},
        {"type": "message", "content": 5},
        {"type": "connect", "v": "two"},
        {"type": "connect", "capabilities": "all"},
        {"type": "permission_answer"},
    ],
)
async def test_unknown_or_invalid_frames_are_answered(net, frame):
    caller = await net.caller()
    await caller.send(frame)
    error = await caller.expect("error", where=lambda f: f.get("code") != "UNKNOWN_MESSAGE_TYPE")
    assert error["message"]
    await caller.barrier()
    assert not caller.gone


def deep(depth: int) -> str:
    """Returns a message whose JSON has this depth; the message itself counts as 1."""
    return '{"type":"get_registered_tools","pad":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


async def test_json_depth_128_is_accepted_and_129_is_refused(net):
    device = await net.v2([tool("a")])
    await device.send_text(deep(128))
    await device.expect("registered_tools")
    await device.send_text(deep(129))
    assert (await device.expect("error"))["code"] == "INVALID_JSON"
    await device.barrier()
    assert await net.names(device.source) == {"a"}


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, '{"type":"message","content":' + "[" * 1_000_000])
async def test_deeply_nested_json_is_refused_without_damage(net, text):
    device = await net.v2([tool("a")])
    await device.send_text(text)
    assert (await device.expect("error"))["code"] == "INVALID_JSON"
    await device.barrier()


async def test_deeply_nested_arguments_over_rest_are_refused(net, rig):
    _, device, _, name = rig
    rest = net.rest()
    body = '{"args":{"a":' + "[" * 200 + "]" * 200 + "}}"
    response = await rest.request(
        "POST", f"/api/tools/{name}/call", content=body, headers={"Content-Type": "application/json"}
    )
    assert response.status_code == 400, response.text
    assert device.runs == []


async def test_deeply_nested_arguments_given_as_text_are_refused(rig):
    """JSON in a string, as models write it: the parser of the frame does not see its depth."""
    net, device, caller, name = rig
    device.handler = lambda request: "ran"
    text = '{"a":' + "[" * 100 + "]" * 100 + "}"
    check_success(await caller.call(name, text), "ran")
    assert device.runs[0]["args"] == json.loads(text)
    text = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    check_error(await caller.call(name, text), "invalid_arguments", dispatched=False)
    check_error(await net.rest().call(name, text), "invalid_arguments", dispatched=False)
    assert len(device.runs) == 1


@pytest.mark.parametrize("version", [1, 2])
async def test_one_tool_over_the_limit_is_rejected_and_the_others_stay(small, version):
    tools = [tool(f"t{n}") for n in range(6)]
    device = await (small.v1 if version == 1 else small.v2)(tools)
    assert (device.registered["count"], device.registered["registered"]) == (6, 5)
    assert [r["name"] for r in device.registered["rejected"]] == ["t5"]
    assert device.registered["rejected"][0]["reason"]
    if version == 2:
        assert await small.names(device.source) == {f"t{n}" for n in range(5)}
        answer = await device.register([tool("more")], mode="add")
        assert (answer["registered"], [r["name"] for r in answer["rejected"]]) == (5, ["more"])
        assert (await device.register([tool("t1")], mode="add")).get("rejected", []) == []


async def test_specs_over_the_byte_limit_are_rejected(small):
    half = "d" * (SPECS // 2 - 500)
    device = await small.v2([{**tool("a"), "description": half}, {**tool("b"), "description": half}])
    assert device.registered["registered"] == 2
    answer = await device.register([{**tool("c"), "description": half}], mode="add")
    assert (answer["registered"], [r["name"] for r in answer["rejected"]]) == (2, ["c"])
    answer = await device.register([{**tool("big"), "description": "d" * (SPECS + 1)}, tool("little")])
    assert (answer["registered"], [r["name"] for r in answer["rejected"]]) == (1, ["big"])
    assert await small.names(device.source) == {"little"}


@pytest.mark.parametrize("version", [1, 2])
async def test_calls_over_the_device_limit_are_overloaded(small, version):
    name = unique("busy")
    device = await (small.v1 if version == 1 else small.v2)([tool("work")], name=name)
    caller = await small.caller()
    calls = [await caller.start(f"{name}__work", {"n": n}) for n in range(4)]
    requests = [await device.request() for _ in calls]
    check_error(await caller.call(f"{name}__work"), "overloaded", dispatched=False, retryable=True)
    await device.result(requests[0]["id"], "room")
    first = next(c for n, c in enumerate(calls) if n == requests[0]["args"]["n"])
    check_success(await caller.answer(first), "room")
    again = await caller.start(f"{name}__work")
    request = await device.request()
    for waiting in [*requests[1:], request]:
        await device.result(waiting["id"])
    for call in [c for c in calls if c != first] + [again]:
        check_success(await caller.answer(call))


async def test_calls_over_the_gateway_limit_are_overloaded(small):
    one, two = await small.v2([tool("work")]), await small.v2([tool("work")])
    caller = await small.caller()
    names = [f"{one.source}__work"] * 3 + [f"{two.source}__work"] * 3
    calls = [await caller.start(n) for n in names]
    requests = [(d, await d.request()) for d in (one, one, one, two, two, two)]
    check_error(await caller.call(names[0]), "overloaded", dispatched=False, retryable=True)
    check_error(await small.rest().call(names[0]), "overloaded", dispatched=False, retryable=True)
    for device, request in requests:
        await device.result(request["id"])
    for call in calls:
        check_success(await caller.answer(call))


async def test_calls_over_the_connection_limit_are_overloaded(net, gateway_factory):
    other = net.on(gateway_factory({"limits": {"calls_in_flight_per_connection": 3}}))
    device = await other.v2([tool("work")])
    name, token = f"{device.source}__work", await other.client()
    caller, neighbour = await other.caller(token), await other.caller(token)
    calls = [await caller.start(name) for _ in range(3)]
    requests = [await device.request() for _ in calls]
    check_error(await caller.call(name), "overloaded", dispatched=False, retryable=True)
    # It is the connection's limit, not the token's.
    elsewhere = await neighbour.start(name)
    await device.result((await device.request())["id"], "elsewhere")
    check_success(await neighbour.answer(elsewhere), "elsewhere")
    for request in requests:
        await device.result(request["id"], "done")
    for call in calls:
        check_success(await caller.answer(call), "done")
    again = await caller.start(name)
    await device.result((await device.request())["id"], "room again")
    check_success(await caller.answer(again), "room again")


async def test_an_output_over_the_limit_is_an_error_r19(small):
    device = await small.v2([tool("work")], handler=lambda r: "x" * r["args"]["n"])
    caller = await small.caller()
    name = f"{device.source}__work"
    check_success(await caller.call(name, {"n": OUTPUT}), "x" * OUTPUT)
    check_error(await caller.call(name, {"n": OUTPUT + 1}), "output_too_large", dispatched=True)
    device.handler = lambda r: {"output": "", "structured": {"a": "x" * OUTPUT}}
    check_error(await caller.call(name), "output_too_large", dispatched=True)


async def test_a_device_that_stops_reading_is_closed(net, gateway_factory):
    settings = {
        "limits": {"send_queue": 32, "calls_in_flight_per_device": 1000},
        "timeouts": {"heartbeat_s": 600, "write_s": 1},
    }
    other = net.on(gateway_factory(settings))
    stuck = await raw_device(other, await other.pair(), receive_buffer=8_192)
    name = unique("stuck")
    stuck.write(TEXT, json.dumps({"type": "connect", "v": 2, "device_id": name, "device_name": name}).encode())
    stuck.write(TEXT, json.dumps({"type": "register_tools", "tools": [tool("work")]}).encode())
    await text_of(stuck, "tools_registered")

    healthy = await other.v2([tool("work")], handler=lambda r: "fine")
    callers = [await other.caller() for _ in range(10)]
    before = other.gw.rss_bytes()
    argument = {"pad": "p" * 100_000}
    # Few for each caller, so that no caller's own queue is what overflows.
    calls = []
    for n in range(250):
        caller = callers[n % len(callers)]
        calls.append((caller, await caller.start(f"{name}__work", argument, timeout_ms=20_000)))
    for caller, call in calls:
        # Long before their deadlines: with the device, not with their time.
        answer = await caller.answer(call, timeout=8)
        assert answer["status"] == "error"
        assert answer["code"] in ("device_disconnected", "overloaded", "tool_not_available"), answer
    check_success(await callers[0].call(f"{healthy.source}__work"), "fine")
    assert await other.names(name) == set()
    assert other.gw.rss_bytes() - before < 100 << 20
    # The stream ends once what the kernel holds is read.
    async with asyncio.timeout(10):
        while await stuck.frame(5) is not None:
            pass


async def test_a_chat_client_that_stops_reading_is_closed(net, gateway_factory):
    settings = {
        "limits": {"send_queue": 8, "calls_in_flight_per_device": 1000},
        "timeouts": {"heartbeat_s": 600, "write_s": 0.5},
    }
    other = net.on(gateway_factory(settings))
    device = await other.v2([tool("work")], handler=lambda r: "x" * 100_000)
    stuck = await raw_device(other, await other.pair("companion"), path="/ws/chat", receive_buffer=8_192)
    await text_of(stuck, "session_start")
    for n in range(200):
        frame = {"type": "call_tool", "id": f"c{n}", "name": f"{device.source}__work", "args": {}}
        await stuck.send(TEXT, json.dumps(frame).encode())
    caller = await other.caller()
    assert (await caller.call(f"{device.source}__work"))["status"] == "success"

    async def sockets():
        text = (await other.rest().get("/metrics")).text
        [line] = [line for line in text.splitlines() if line.startswith("toolway_websockets{") and "chat" in line]
        return float(line.split()[-1])

    assert await sockets() == 2

    async def closed():
        return await sockets() == 1

    await eventually(closed)

    async def drained():
        count = 0
        while (frame := await stuck.frame(8)) is not None:
            count += frame[0] == TEXT
        return count

    # It reads again at last, and finds an end before the two hundred answers.
    assert await asyncio.wait_for(drained(), 20) < 200


async def test_a_burst_of_results_does_not_close_a_client_that_reads(net):
    """Two devices with 250 calls each of one caller drop at once: more answers in one moment than
    the send queue holds (256), for a client that reads all along."""
    devices = [await net.v2([tool("work")]) for _ in range(2)]
    caller = await net.caller()
    calls = [await caller.start(f"{d.source}__work") for d in devices for _ in range(250)]
    for device in devices:
        for _ in range(250):
            await device.request(timeout=20)
    for device in devices:
        device.abort()
    for call in calls:
        check_error(await caller.answer(call), "device_disconnected", dispatched=True)
