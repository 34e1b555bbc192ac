"""Heartbeat (docs/protocol.md, "What can go wrong"): the gateway sends pings; two missed pongs close the connection."""

import asyncio
import json

import pytest
from raw_ws import CLOSE, PING, PONG, TEXT, RawSocket
from shapes import check_error, last_heard
from toolway_client import tool, unique


@pytest.fixture
def quick(net, gateway_factory):
    """A gateway with heartbeat_s = 1."""
    return net.on(gateway_factory({"timeouts": {"heartbeat_s": 1}}))


async def check_heartbeat(quick, path):
    """Runs a client that answers pings and one that does not at the same time."""
    token = await quick.pair("companion")
    head = {"Authorization": f"Bearer {token}"}
    loop = asyncio.get_running_loop()

    async def watch(answers: bool):
        """(seconds to each ping, seconds to the end or None) over at most six seconds."""
        raw = await RawSocket.open(quick.gw, path, head)
        name = unique("beat")
        raw.write(TEXT, json.dumps({"type": "connect", "device_name": name, "device_id": name}).encode())
        begin, pings = loop.time(), []
        while loop.time() - begin < 6:
            try:
                frame = await raw.frame(6.2 - (loop.time() - begin))
            except TimeoutError:
                break
            if frame is None or frame[0] == CLOSE:
                return pings, loop.time() - begin
            if frame[0] == PING:
                pings.append(loop.time() - begin)
                if answers:
                    await raw.send(PONG, frame[1])
        raw.abort()
        return pings, None

    (silent_pings, silent_end), (pings, end) = await asyncio.gather(watch(False), watch(True))
    assert end is None, "who answers stays"
    assert 4 <= len(pings) <= 7, pings
    assert silent_end is not None, "who does not is closed"
    assert 1.5 < silent_end < 4.6, silent_end
    assert len(silent_pings) >= 2


async def test_unanswered_pings_close_the_connection(quick):
    await asyncio.gather(*(check_heartbeat(quick, path) for path in ("/ws/chat", "/ws/device")))


async def test_the_connected_message_contains_the_heartbeat_interval(quick):
    device = await quick.v2()
    assert device.connected["heartbeat_ms"] == 1000


async def test_the_device_list_shows_the_last_heartbeat_r16(quick):
    device = await quick.v2([tool("a")])
    first = last_heard(await quick.device_entry(device.source))
    assert first
    for _ in range(60):
        if last_heard(await quick.device_entry(device.source)) > first:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("no newer heartbeat in three seconds")


async def test_the_calls_of_a_silent_device_end_with_its_connection(quick):
    """An unreachable phone sends no FIN, so the missing pongs detect it."""
    token, name = await quick.pair(), unique("still")
    raw = await RawSocket.open(
        quick.gw, "/ws/device", {"Authorization": f"Bearer {token}", "Sec-WebSocket-Protocol": "toolway.v2"}
    )
    raw.write(TEXT, json.dumps({"type": "connect", "v": 2, "device_id": name, "device_name": name}).encode())
    raw.write(TEXT, json.dumps({"type": "register_tools", "tools": [tool("work")]}).encode())
    seen = []
    while "tools_registered" not in seen:
        opcode, payload = await raw.frame()
        if opcode == TEXT:
            seen.append(json.loads(payload)["type"])
    caller = await quick.caller()
    answer = await caller.call(f"{name}__work")
    check_error(answer, "device_disconnected", dispatched=True)
    assert answer["duration_ms"] < 5_000
    raw.abort()
