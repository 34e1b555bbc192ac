"""Pitfall R12: nothing of one session reaches another."""

import pytest
from shapes import check_error, check_success, dig, rows
from toolway_client import tool, unique


async def test_errors_of_one_session_reach_no_other_session_r12(rig):
    net, device, caller, name = rig
    other = await net.caller()
    same = await net.caller()
    marker = unique("secret")
    device.handler = lambda r: {"type": "tool_error", "error": marker}
    check_error(await caller.call(name), "tool_failed", dispatched=True, message=marker)
    await caller.send_text("{" + marker)
    await caller.expect("error")
    await caller.send({"type": "message", "content": marker})
    await caller.expect("error")
    for socket in (other, same):
        await socket.barrier()
        assert marker not in str(socket.history)
        assert {f["type"] for f in socket.history} == {"session_start", "connected", "error"}


async def test_calls_and_progress_of_one_client_reach_no_other_client_r12(rig):
    net, device, caller, name = rig
    token = await net.client()
    one, two = await net.caller(token), await net.caller(token)
    call = await one.start(name)
    request = await device.request()
    await device.progress(request["id"], 1, message="mine")
    await one.expect("tool_progress")
    await device.result(request["id"])
    check_success(await one.answer(call))
    for socket in (two, caller):
        await socket.barrier()
        assert not {"tool_progress", "call_result", "tool_call", "tool_result"} & {f["type"] for f in socket.history}


async def test_a_client_cannot_cancel_another_clients_call(rig):
    net, device, caller, name = rig
    other = await net.caller()
    call = await caller.start(name)
    request = await device.request()
    for wanted in (call, request["id"]):
        await other.cancel(wanted)
    await other.barrier()
    await device.barrier()
    assert device.seen("tool_call_cancel") == []
    await device.result(request["id"], "done")
    check_success(await caller.answer(call), "done")


async def test_two_clients_can_use_the_same_call_id(rig):
    net, device, caller, name = rig
    other = await net.caller()
    for socket, who in ((caller, "one"), (other, "two")):
        await socket.send({"type": "call_tool", "id": "same", "name": name, "args": {"who": who}})
    for _ in range(2):
        request = await device.request()
        await device.result(request["id"], request["args"]["who"])
    check_success(await caller.answer("same"), "one")
    check_success(await other.answer("same"), "two")


async def test_a_client_reads_only_its_own_calls(net):
    device = await net.v2([tool("work")], handler=lambda r: "ok")
    name = f"{device.source}__work"
    mine, theirs = await net.client(), await net.client()
    own = (await net.rest(mine).call(name, {"whose": "mine"}))["call_id"]
    other = (await net.rest(theirs).call(name, {"whose": "theirs"}))["call_id"]
    await net.logged(own)
    await net.logged(other)
    listed = rows(await net.rest(mine).json("/api/calls"), "calls")
    assert {dig(e, "call_id", "id") for e in listed} == {own}
    assert (await net.rest(mine).get(f"/api/calls/{own}")).status_code == 200
    assert (await net.rest(mine).get(f"/api/calls/{other}")).status_code == 404


@pytest.mark.parametrize("version", [1, 2])
async def test_a_device_receives_only_the_fields_of_the_call(net, version):
    """The request does not identify the caller."""
    name = unique("told")
    device = await (net.v1 if version == 1 else net.v2)([tool("work")], name=name, handler=lambda r: "ok")
    check_success(await (await net.caller()).call(f"{name}__work", {"a": 1}))
    extra = {"deadline_ms", "attempt"} if version == 2 else set()
    assert set(device.runs[0]) == {"type", "id", "name", "args"} | extra


async def test_other_devices_receive_nothing_about_a_call(rig):
    net, device, caller, name = rig
    watching = await net.v2([tool("work")])
    device.handler = lambda r: "ok"
    check_success(await caller.call(name))
    await watching.barrier()
    assert {f["type"] for f in watching.history} == {"connected", "tools_registered", "error"}
