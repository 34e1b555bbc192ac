"""/ws/chat without a model: everything except turns works, and turns return an error."""

import asyncio

import pytest
from shapes import check_error, check_success, dig, expires_in
from toolway_client import Socket, eventually, tool, unique


@pytest.mark.parametrize("version", [1, 2])
async def test_chat_a_message_without_a_configured_model_is_an_error(net, version):
    socket = await net.socket(
        "/ws/chat", await net.pair("companion"), protocols=("toolway.v2",) if version == 2 else (), v1=version == 1
    )
    await socket.send({"type": "message", "content": "hello"})
    error = await socket.expect("error")
    assert error["code"] == "NO_MODEL"
    assert "model" in error["message"].lower()
    await socket.barrier()
    assert not socket.seen("done")


@pytest.mark.parametrize("content", ["", "   ", "\n"])
async def test_chat_an_empty_message_is_an_error(net, content):
    socket = await net.socket("/ws/chat", await net.pair("companion"), v1=True)
    await socket.send({"type": "message", "content": content})
    assert (await socket.expect("error"))["code"] == "EMPTY_CONTENT"


async def test_chat_abort_without_a_turn_is_answered(net):
    socket = await net.socket("/ws/chat", await net.pair("companion"), v1=True)
    await socket.send({"type": "abort"})
    assert (await socket.expect("abort_ack"))["status"]


async def test_chat_tools_work_after_a_message_failed(net):
    device = await net.v1([tool("work")], name=unique("chat"), handler=lambda r: "ok")
    await device.send({"type": "message", "content": "hello"})
    assert (await device.expect("error"))["code"] == "NO_MODEL"
    name = f"{await net.source_with_socket(device)}__work"
    check_success(await (await net.caller()).call(name))


async def test_chat_a_client_cannot_register_tools(net):
    caller = await net.caller()
    bare = unique("not-allowed")
    await caller.send({"type": "register_tools", "tools": [tool(bare)]})
    assert (await caller.expect("error"))["message"]
    assert not caller.seen("tools_registered")
    assert bare not in str(await net.tools())


async def test_chat_a_companion_is_client_and_device(net):
    token = await net.pair("companion")
    own = await net.v2([tool("work")], token=token, path="/ws/chat", handler=lambda r: "mine")
    other = await net.v2([tool("work")], handler=lambda r: "theirs")
    for source, result in ((own.source, "mine"), (other.source, "theirs")):
        await own.send({"type": "call_tool", "id": result, "name": f"{source}__work", "args": {}})
        check_success(await own.expect("call_result", id=result), result)


async def test_the_device_address_rejects_calls(net):
    """/ws/device only offers tools, with every token."""
    bare = unique("target")
    target = await net.v2([tool(bare)], handler=lambda r: "ran")
    for role in ("device", "companion"):
        device = await net.v2([], token=await net.pair(role))
        await device.send({"type": "call_tool", "id": "c1", "name": bare, "args": {}})
        frames = device.history

        async def answered():
            return [f for f in frames if f["type"] in ("error", "call_result")]

        [answer] = await eventually(answered)
        assert answer["type"] == "error" or answer["status"] == "error"
        await device.send({"type": "message", "content": "hello"})
        await device.barrier()
        assert not device.seen("done")
    assert target.runs == []


async def test_revoking_closes_the_live_socket_with_a_reason(net):
    record = await net.client_record()
    caller = await net.caller(record["token"])
    identity = dig({k: v for k, v in record.items() if k != "token"}, "id")
    assert (await net.rest().delete(f"/api/tokens/{identity}")).status_code in (200, 204)
    code, reason = await caller.until_closed()
    assert "revoked" in reason.lower(), (code, reason)
    response = await net.rest(record["token"]).get("/api/tools")
    assert response.status_code == 401


async def test_revoking_a_device_closes_it_ends_its_calls_and_blocks_reconnection_r17(rig):
    net, device, caller, name = rig
    call = await caller.start(name)
    await device.request()
    assert (await net.revoke_device(device.source)).status_code in (200, 204)
    _, reason = await device.until_closed()
    assert "revoked" in reason.lower() or "removed" in reason.lower(), reason
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    assert await net.names(device.source) == set()
    assert await net.device_entry(device.source) is None


async def test_expiry_closes_the_live_socket_with_a_reason(net):
    caller = await net.caller(await net.client(**expires_in(await net.api(), 1)))
    _, reason = await caller.until_closed()
    assert "expired" in reason.lower(), reason


async def test_shutdown_ends_calls_with_an_error_in_time(net, gateway_factory):
    other = net.on(gateway_factory({"timeouts": {"shutdown_s": 1}}, fresh=True))
    device = await other.v2([tool("work")])
    idle = await other.v2()
    caller = await other.caller()
    call = await caller.start(f"{device.source}__work")
    await device.request()
    other.gw.terminate()
    check_error(await caller.answer(call), "shutting_down", dispatched=True)
    for socket in (caller, device, idle):
        code, reason = await socket.until_closed()
        assert code not in (None, 1000, 1006) and reason, (code, reason)
    status = await asyncio.get_running_loop().run_in_executor(None, other.gw.process.wait, 6)
    assert status == 0
    assert not (other.gw.data_dir / "gateway.json").exists()


async def test_shutdown_waits_for_calls_up_to_the_limit(net, gateway_factory):
    other = net.on(gateway_factory({"timeouts": {"shutdown_s": 8}}, fresh=True))
    device = await other.v2([tool("work")])
    caller = await other.caller()
    call = await caller.start(f"{device.source}__work")
    request = await device.request()
    other.gw.terminate()

    async def closing():
        """Returns true once new callers are refused."""
        try:
            socket = await Socket.open(other.gw, "/ws/chat", other.gw.owner_token)
        except Exception:  # refused in whatever way
            return True
        await socket.close()
        return False

    await eventually(closing)
    await device.result(request["id"], "in time")
    check_success(await caller.answer(call), "in time")
    assert await asyncio.get_running_loop().run_in_executor(None, other.gw.process.wait, 10) == 0
