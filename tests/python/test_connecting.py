"""Connecting: places of the token, negotiation, and the first messages of each version."""

import asyncio
import json

import pytest
from raw_ws import TEXT, RawSocket, Refused
from toolway_client import DeviceV2, refused, tool, unique

BAD = "twy_c_" + "A" * 43


@pytest.mark.parametrize("place", ["header", "subprotocol", "query"])
async def test_connecting_token_in_each_place(net, place):
    token = await net.pair("companion")
    if place == "header":
        socket = await net.socket("/ws/chat", token, v1=True)
    elif place == "subprotocol":
        socket = await net.socket("/ws/chat", protocols=(f"bearer.{token}",), v1=True)
        assert socket.ws.subprotocol is None, "bearer.* is never echoed"
    else:
        socket = await net.socket("/ws/chat", query={"token": token}, v1=True)
    assert (await socket.expect("session_start"))["v"] == 1


async def test_connecting_token_header_wins_over_the_others(net):
    token = await net.pair("companion")
    socket = await net.socket("/ws/chat", token, protocols=(f"bearer.{BAD}",), query={"token": BAD})
    await socket.expect("session_start")
    status, _ = await refused(net.gw, "/ws/chat", BAD, protocols=(f"bearer.{token}",), query={"token": token})
    assert status == 401


async def test_connecting_token_subprotocol_wins_over_query(net):
    token = await net.pair("companion")
    socket = await net.socket("/ws/chat", protocols=(f"bearer.{token}",), query={"token": BAD})
    await socket.expect("session_start")
    status, _ = await refused(net.gw, "/ws/chat", protocols=(f"bearer.{BAD}",), query={"token": token})
    assert status == 401


@pytest.mark.parametrize("path", ["/ws/chat", "/ws/device"])
@pytest.mark.parametrize("token", [None, "", "nonsense", BAD])
async def test_a_loopback_socket_needs_a_valid_token_r20(net, path, token):
    assert (await refused(net.gw, path, token))[0] == 401


@pytest.mark.parametrize(
    ("offered", "answered"),
    [
        ((), None),
        (("toolway.v2",), "toolway.v2"),
        (("clawseed.v1",), "clawseed.v1"),
        (("clawseed.v1", "toolway.v2"), "toolway.v2"),
        (("toolway.v2", "clawseed.v1"), "toolway.v2"),
        (("bearer", "toolway.v2"), "toolway.v2"),
        (("clawseed.v1", "bearer"), "clawseed.v1"),
        (("mqtt",), None),
    ],
)
async def test_connecting_one_subprotocol_is_answered(net, offered, answered):
    token = await net.pair("companion")
    offered = tuple(f"bearer.{token}" if p == "bearer" else p for p in offered)
    socket = await net.socket("/ws/chat", token, protocols=offered)
    assert socket.ws.subprotocol == answered
    assert (await socket.expect("session_start"))["v"] == (2 if answered == "toolway.v2" else 1)


async def test_connecting_v1_gets_only_version_1_fields(net):
    token = await net.pair("companion")
    socket = await net.socket("/ws/chat", token, v1=True)
    start = await socket.expect("session_start")
    assert set(start) - {"name", "persona"} == {"type", "v", "session_id", "resumed", "message_count"}
    assert (start["v"], start["resumed"], start["message_count"]) == (1, False, 0)
    assert isinstance(start["session_id"], str) and start["session_id"]
    await socket.send({"type": "connect"})
    assert await socket.expect("connected") == {
        "type": "connected",
        "v": 1,
        "message": "Connection established",
    }


async def test_connecting_session_start_comes_before_anything_is_sent(net):
    socket = await net.caller()
    assert socket.history[0]["type"] == "session_start"
    assert [f["type"] for f in socket.history] == ["session_start", "connected"]


async def test_connecting_session_id_is_echoed_or_generated(net):
    token = await net.pair("companion")
    wanted = unique("session")
    first = await net.socket("/ws/chat", token, query={"session_id": wanted}, v1=True)
    assert (await first.expect("session_start"))["session_id"] == wanted
    others = [await net.socket("/ws/chat", token, v1=True) for _ in range(2)]
    ids = {(await s.expect("session_start"))["session_id"] for s in others}
    assert len(ids) == 2 and wanted not in ids


async def test_connecting_the_query_session_named_null_counts_as_none(net):
    """v1 clients parse a missing field as the text "null" and send that when they reconnect."""
    sockets = [
        await net.socket("/ws/chat", await net.pair("companion"), query={"session_id": "null"}, v1=True)
        for _ in range(2)
    ]
    ids = {(await socket.expect("session_start"))["session_id"] for socket in sockets}
    assert len(ids) == 2 and "null" not in ids


async def test_connecting_v2_gets_source_resume_token_heartbeat_and_limits(net):
    name = unique("phone")
    device = await net.v2(name=name, capabilities=("resume", "progress", "cancel"))
    connected = device.connected
    assert connected["v"] == 2
    assert connected["message"] == "Connection established"
    assert connected["source"] == name
    assert isinstance(connected["resume_token"], str) and len(connected["resume_token"]) >= 16
    assert connected["heartbeat_ms"] == 20_000
    numbers = set(connected["limits"].values())
    assert {16 << 20, 4096, 8 << 20, 128, 256} <= numbers, connected["limits"]


@pytest.mark.parametrize("said", [2, 3, 99])
async def test_connecting_connect_selects_the_version_without_a_subprotocol(net, said):
    """A version that is too new gets the highest supported one."""
    socket = await net.socket("/ws/chat", await net.pair("companion"))
    assert (await socket.expect("session_start"))["v"] == 1
    await socket.send({"type": "connect", "v": said, "device_name": unique("chat")})
    assert (await socket.expect("connected"))["v"] == 2
    await socket.send({"type": "register_tools", "tools": [tool("")]})
    assert (await socket.expect("tools_registered"))["rejected"][0]["name"] == ""


async def test_connecting_the_subprotocol_alone_means_v2(net):
    socket = await net.socket("/ws/device", await net.pair(), protocols=("toolway.v2",))
    await socket.send({"type": "connect", "device_id": unique("id")})
    assert (await socket.expect("connected"))["v"] == 2


async def test_connecting_v1_on_the_device_address(net):
    device = await net.v1([tool("a")], token=await net.pair(), path="/ws/device")
    assert device.connected == {"type": "connected", "v": 1, "message": "Connection established"}
    assert device.registered == {"type": "tools_registered", "count": 1, "registered": 1}


async def test_connecting_the_device_address_starts_no_session(net):
    device = await net.v2()
    assert [f["type"] for f in device.history] == ["connected", "tools_registered"]


async def test_connecting_register_before_connect(net):
    """A v1 client may register at once."""
    device = await net.socket("/ws/chat", await net.pair("companion"), v1=True)
    await device.send({"type": "register_tools", "tools": [tool("early")]})
    registered = await device.expect("tools_registered")
    assert registered == {"type": "tools_registered", "count": 1, "registered": 1}


async def test_connecting_unknown_fields_are_ignored(net):
    socket = await net.socket("/ws/chat", await net.pair("companion"), v1=True)
    await socket.send({"type": "connect", "colour": "blue", "nested": {"a": [None]}, "device_name": unique("x")})
    assert (await socket.expect("connected"))["v"] == 1


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_connecting_permessage_deflate_offered_or_not(net, compression):
    socket = await net.socket("/ws/chat", await net.pair("companion"), v1=True, compression=compression)
    await socket.send({"type": "connect", "device_name": "n" * 200})
    await socket.expect("connected")


async def test_connecting_everything_at_once(net):
    """Sends connect, register_tools and message together, before reading the first answer."""
    token = await net.pair("companion")
    raw = await RawSocket.open(net.gw, "/ws/chat", {"Authorization": f"Bearer {token}"})
    for frame in (
        {"type": "connect"},
        {"type": "register_tools", "tools": [tool("a"), tool("b")]},
        {"type": "message", "content": "hello"},
    ):
        raw.write(TEXT, json.dumps(frame).encode())
    seen = []
    while not {"session_start", "connected", "tools_registered", "error"} <= set(seen):
        opcode, payload = await raw.frame()
        if opcode == TEXT:
            seen.append(json.loads(payload)["type"])
    assert seen[0] == "session_start"
    raw.abort()


ORIGINS = [("https://evil.example", False), ("null", False), ("OWN", True), (None, True)]


@pytest.mark.parametrize(("origin", "accepted"), ORIGINS)
@pytest.mark.parametrize("path", ["/ws/chat", "/ws/device"])
async def test_connecting_foreign_origins_are_refused(net, path, origin, accepted):
    token = await net.pair("companion")
    origin = net.gw.url if origin == "OWN" else origin
    if accepted:
        await net.socket(path, token, origin=origin)
    else:
        assert (await refused(net.gw, path, token, origin=origin))[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "169.254.169.254"])
async def test_connecting_foreign_hosts_are_refused(net, host):
    token = await net.pair("companion")
    with pytest.raises(Refused) as error:
        await RawSocket.open(net.gw, "/ws/chat", {"Authorization": f"Bearer {token}", "Host": host})
    assert 400 <= error.value.status < 500
    response = await net.rest(token).get("/api/tools", headers={"Host": host})
    assert 400 <= response.status_code < 500 and response.status_code != 401


async def test_connecting_loopback_names_are_accepted(net):
    token = await net.pair("companion")
    port = net.gw.address[1]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        raw = await RawSocket.open(net.gw, "/ws/chat", {"Authorization": f"Bearer {token}", "Host": host})
        raw.abort()


async def test_connecting_listed_hosts_and_origins_are_accepted(net, gateway_factory):
    settings = {
        "public_url": "https://tools.example.org",
        "allowed_hosts": ["inner.example"],
        "allowed_origins": ["https://ui.example"],
    }
    other = net.on(gateway_factory(settings))
    token = await other.pair("companion")
    for host in ("tools.example.org", "inner.example"):
        raw = await RawSocket.open(other.gw, "/ws/chat", {"Authorization": f"Bearer {token}", "Host": host})
        raw.abort()
    await other.socket("/ws/chat", token, origin="https://ui.example")
    assert (await refused(other.gw, "/ws/chat", token, origin="https://ui.example.evil"))[0] == 403
    with pytest.raises(Refused):
        await RawSocket.open(other.gw, "/ws/chat", {"Authorization": f"Bearer {token}", "Host": "other.example"})


async def test_connecting_the_token_is_never_logged(net, gateway_factory):
    """`?token=` is redacted wherever a URL is logged."""
    other = net.on(gateway_factory({"log": {"level": "trace"}}))
    token = await other.pair("companion")
    socket = await other.socket("/ws/chat", query={"token": token}, v1=True)
    await socket.expect("session_start")
    await refused(other.gw, "/ws/chat", query={"token": BAD})
    text = other.gw.whole_log() + "".join(other.gw.stdout)
    assert token not in text and BAD not in text and other.gw.owner_token not in text


async def test_many_devices_reconnect_with_their_existing_tokens_r17(net):
    token, name = await net.pair(), unique("again")
    for _ in range(5):
        device = await DeviceV2.join(net.gw, token, [tool("t")], device_id="the-one", name=name)
        assert device.source == name
        await device.close()


async def test_small_frames_do_not_stall_r18(rig, clock):
    """40 ms a call would be Nagle against delayed acknowledgements."""
    _, device, caller, name = rig
    device.handler = lambda request: "pong"
    times = []
    for _ in range(40):
        begin = asyncio.get_running_loop().time()
        assert (await caller.call(name))["result"] == "pong"
        times.append(asyncio.get_running_loop().time() - begin)
    assert sorted(times)[20] < 0.03, sorted(times)
