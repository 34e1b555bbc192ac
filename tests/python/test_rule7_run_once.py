"""Idempotency keys (docs/protocol.md, "Calling a tool"; pitfall R13): one key runs a call once."""

import asyncio

from shapes import check_error, check_success
from toolway_client import tool, unique


async def test_the_second_call_waits_and_gets_the_first_outcome_r13(rig):
    net, device, caller, name = rig
    key = unique("key")
    first = await caller.start(name, {"n": 1}, idempotency_key=key)
    request = await device.request()
    second = await caller.start(name, {"n": 1}, idempotency_key=key)
    third = await caller.start(name, {"n": 1}, idempotency_key=key)
    await caller.barrier()
    assert len(device.runs) == 1
    assert not caller.seen("call_result")
    await device.result(request["id"], "ran once")
    answers = [check_success(await caller.answer(c), "ran once") for c in (first, second, third)]
    assert {a["call_id"] for a in answers} == {request["id"]}
    check_success(await caller.call(name, {"n": 1}, idempotency_key=key), "ran once")
    await device.barrier()
    assert len(device.runs) == 1


async def test_an_idempotency_key_works_across_rest_and_websocket(net):
    device = await net.v2([tool("work")])
    token, name, key = await net.client(), f"{device.source}__work", unique("key")
    caller = await net.caller(token)
    call = await caller.start(name, {"n": 1}, idempotency_key=key)
    request = await device.request()
    rest = asyncio.create_task(net.rest(token).call(name, {"n": 1}, idempotency_key=key))
    await device.result(request["id"], "once")
    check_success(await caller.answer(call), "once")
    check_success(await rest, "once")
    assert len(device.runs) == 1


async def test_different_arguments_under_one_key_are_a_conflict(rig):
    net, device, caller, name = rig
    device.handler = lambda r: "ok"
    key = unique("key")
    check_success(await caller.call(name, {"n": 1}, idempotency_key=key), "ok")
    answer = await caller.call(name, {"n": 2}, idempotency_key=key)
    check_error(answer, "idempotency_conflict", dispatched=False)
    assert len(device.runs) == 1


async def test_a_different_tool_under_one_key_is_a_conflict(net):
    device = await net.v2([tool("a"), tool("b")], handler=lambda r: "ok")
    caller, key = await net.caller(), unique("key")
    check_success(await caller.call(f"{device.source}__a", idempotency_key=key), "ok")
    answer = await caller.call(f"{device.source}__b", idempotency_key=key)
    check_error(answer, "idempotency_conflict", dispatched=False)


async def test_a_conflict_is_reported_while_the_first_call_runs(rig):
    net, device, caller, name = rig
    key = unique("key")
    call = await caller.start(name, {"n": 1}, idempotency_key=key)
    request = await device.request()
    check_error(await caller.call(name, {"n": 2}, idempotency_key=key), "idempotency_conflict", dispatched=False)
    await device.result(request["id"])
    check_success(await caller.answer(call))


async def test_rest_answers_a_key_conflict_with_409(net):
    device = await net.v2([tool("work")], handler=lambda r: "ok")
    key, rest = unique("key"), net.rest(await net.client())
    path = f"/api/tools/{device.source}__work/call"
    first = await rest.post(path, {"args": {"n": 1}, "idempotency_key": key})
    assert first.status_code == 200
    conflict = await rest.post(path, {"args": {"n": 2}, "idempotency_key": key})
    assert conflict.status_code == 409
    body = conflict.json()
    assert (body["code"], body["error_type"]) == ("idempotency_conflict", "validation_error")


async def test_a_failed_outcome_is_stored_under_its_key(rig):
    net, device, caller, name = rig
    device.handler = lambda r: {"type": "tool_error", "error": "out of paper"}
    key = unique("key")
    for _ in range(2):
        answer = await caller.call(name, idempotency_key=key)
        check_error(answer, "tool_failed", dispatched=True, message="out of paper")
    assert len(device.runs) == 1


async def test_idempotency_keys_are_separate_for_each_principal(net):
    device = await net.v2([tool("work")], handler=lambda r: f"ran {len(device.runs)}")
    name, key = f"{device.source}__work", unique("key")
    one, two = await net.caller(), await net.caller()
    first = check_success(await one.call(name, {"n": 1}, idempotency_key=key), "ran 1")
    second = check_success(await two.call(name, {"n": 2}, idempotency_key=key), "ran 2")
    assert first["call_id"] != second["call_id"]
    check_success(await net.rest().call(name, {"n": 3}, idempotency_key=key), "ran 3")


async def test_one_principal_shares_its_keys_across_two_sockets(net):
    device = await net.v2([tool("work")])
    token, name, key = await net.client(), f"{device.source}__work", unique("key")
    one, two = await net.caller(token), await net.caller(token)
    first = await one.start(name, idempotency_key=key)
    request = await device.request()
    second = await two.start(name, idempotency_key=key)
    await two.barrier()
    await device.result(request["id"], "shared")
    check_success(await one.answer(first), "shared")
    check_success(await two.answer(second), "shared")
    assert len(device.runs) == 1


async def test_calls_without_a_key_always_run(rig):
    _, device, caller, name = rig
    device.handler = lambda r: "ok"
    for _ in range(3):
        check_success(await caller.call(name, {"n": 1}))
    assert len(device.runs) == 3
