"""Calls (docs/protocol.md, "Running a tool" and "Time"): deadlines, cancellation, concurrency, progress, and waiting for a person."""

import asyncio
import random

import pytest
from shapes import call_code, call_id, check_error, check_success, is_uuid7
from toolway_client import tool, unique


def near(milliseconds, limit):
    """Checks the rest of `limit` when the request reaches the device."""
    assert isinstance(milliseconds, int)
    assert limit - 1500 < milliseconds <= limit, (milliseconds, limit)


@pytest.mark.parametrize(
    ("spec", "caller", "least"),
    [
        (None, None, 30_000),
        (None, 5_000, 5_000),
        (None, 60_000, 30_000),
        (4_000, None, 4_000),
        (4_000, 9_000, 4_000),
        (9_000, 4_000, 4_000),
        (90_000, None, 90_000),
        (90_000, 60_000, 60_000),
        (10_000_000, 9_000_000, 3_600_000),
    ],
)
async def test_the_lowest_limit_is_the_deadline_r14(net, spec, caller, least):
    more = {"timeout_ms": spec} if spec else {}
    device = await net.v2([tool("work", **more)])
    asking = await net.caller()
    wanted = {"timeout_ms": caller} if caller else {}
    call = await asking.start(f"{device.source}__work", **wanted)
    request = await device.request()
    near(request["deadline_ms"], least)
    assert request["attempt"] == 1
    await device.result(request["id"])
    check_success(await asking.answer(call))


async def test_the_owners_timeout_setting_overrides_the_spec(net, gateway_factory):
    settings = {
        "timeouts": {"max_tool_s": 20, "tool_s": 8, "tools": {"ruled/longer": 10, "ruled/shorter": 3, "ruled/most": 50}}
    }
    other = net.on(gateway_factory(settings))
    device = await other.v2(
        [
            tool("longer", timeout_ms=5_000),
            tool("shorter", timeout_ms=5_000),
            tool("most"),
            tool("default"),
            tool("spec", timeout_ms=60_000),
        ],
        name="ruled",
    )
    assert device.source == "ruled"
    caller = await other.caller()
    for name, given, least in (
        ("longer", None, 10_000),
        ("longer", 6_000, 6_000),
        ("shorter", None, 3_000),
        ("most", None, 20_000),
        ("default", None, 8_000),
        ("default", 500_000, 8_000),
        ("spec", None, 20_000),
    ):
        call = await caller.start(f"ruled__{name}", **({"timeout_ms": given} if given else {}))
        request = await device.request(name=name)
        near(request["deadline_ms"], least)
        await device.result(request["id"])
        check_success(await caller.answer(call))


async def test_version_1_tools_have_a_deadline_too(net, clock):
    device = await net.v1([tool("work")], name=unique("v1"))
    caller = await net.caller()
    source = await net.source_with_socket(device)
    call = await caller.start(f"{source}__work", timeout_ms=400)
    request = await device.request()
    assert set(request) == {"type", "id", "name", "args"}
    answer = check_error(await caller.answer(call), "timeout", dispatched=True)
    assert 350 <= answer["duration_ms"] <= 2_500
    await device.barrier()
    assert device.seen("tool_call_cancel") == []


async def test_the_device_gets_a_cancellation_at_the_deadline(rig):
    _, device, caller, name = rig
    call = await caller.start(name, timeout_ms=400)
    request = await device.request()
    answer = check_error(await caller.answer(call), "timeout", dispatched=True)
    assert 350 <= answer["duration_ms"] <= 2_500
    cancel = await device.expect("tool_call_cancel")
    assert cancel["id"] == request["id"]
    assert isinstance(cancel["reason"], str) and cancel["reason"]


async def test_call_ids_are_uuid_v7_and_never_reused(rig):
    net, device, caller, name = rig
    device.handler = lambda request: "ok"
    answers = await asyncio.gather(*(caller.call(name) for _ in range(50)))
    ids = [a["call_id"] for a in answers]
    assert len(set(ids)) == 50 and all(map(is_uuid7, ids))
    assert {r["id"] for r in device.runs} == set(ids)


async def test_a_cancellation_reaches_the_device_at_once_r10(rig, clock):
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    begin = clock()
    await caller.cancel(call)
    check_error(await caller.answer(call), "cancelled", dispatched=True)
    assert (await device.expect("tool_call_cancel"))["id"] == request["id"]
    assert clock() - begin < 0.5


async def test_cancelling_one_call_does_not_affect_the_others(rig):
    _, device, caller, name = rig
    first, second = await caller.start(name, {"n": 1}), await caller.start(name, {"n": 2})
    requests = {r["args"]["n"]: r["id"] for r in (await device.request(), await device.request())}
    await caller.cancel(first)
    check_error(await caller.answer(first), "cancelled", dispatched=True)
    await device.result(requests[2], "two")
    check_success(await caller.answer(second), "two")
    assert (await device.expect("tool_call_cancel"))["id"] == requests[1]
    await device.barrier()
    assert len(device.seen("tool_call_cancel")) == 1


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_the_device_gets_a_cancellation_when_the_caller_disconnects(rig, how):
    net, device, caller, name = rig
    await caller.start(name)
    request = await device.request()
    if how == "close":
        await caller.close()
    else:
        caller.abort()
    assert (await device.expect("tool_call_cancel"))["id"] == request["id"]
    entry = await net.logged(request["id"])
    assert call_id(entry) == request["id"] and call_code(entry) == "cancelled"


async def test_requests_run_concurrently_and_results_come_in_any_order(rig):
    _, device, caller, name = rig
    calls = [await caller.start(name, {"n": n}) for n in range(40)]
    requests = [await device.request() for _ in calls]
    random.Random(7).shuffle(requests)
    for request in requests:
        await device.result(request["id"], f"answer {request['args']['n']}")
    for n, call in enumerate(calls):
        check_success(await caller.answer(call), f"answer {n}")


async def test_version_1_devices_run_calls_concurrently_too(net):
    device = await net.v1([tool("work")], name=unique("v1"))
    caller = await net.caller()
    name = f"{await net.source_with_socket(device)}__work"
    calls = [await caller.start(name, {"n": n}) for n in range(10)]
    requests = [await device.request() for _ in calls]
    for request in reversed(requests):
        await device.result(request["id"], str(request["args"]["n"]))
    for n, call in enumerate(calls):
        check_success(await caller.answer(call), str(n))


async def test_a_sequential_tool_runs_one_call_at_a_time(net):
    """Its calls overlap with no other call of the same source."""
    device = await net.v2([tool("one", sequential=True), tool("other")])
    bystander = await net.v2([tool("work")], handler=lambda r: "at once")
    caller = await net.caller()
    names = ["one", "one", "other", "one"]
    calls = [await caller.start(f"{device.source}__{name}", {"n": n}) for n, name in enumerate(names)]
    for n, call in enumerate(calls):
        request = await device.request()
        assert (request["name"], request["args"]) == (names[n], {"n": n}), "in the order of asking"
        # Other sources do not wait; by the time one of them has answered, whatever else this one
        # would wrongly be asked for is on its way.
        check_success(await caller.call(f"{bystander.source}__work"), "at once")
        await device.barrier()
        assert len(device.runs) == n + 1
        await device.result(request["id"], f"done {n}")
        check_success(await caller.answer(call), f"done {n}")


async def test_queueing_for_a_sequential_tool_counts_against_the_deadline(net):
    device = await net.v2([tool("one", sequential=True)])
    caller = await net.caller()
    first = await caller.start(f"{device.source}__one")
    request = await device.request()
    second = await caller.start(f"{device.source}__one", timeout_ms=300)
    check_error(await caller.answer(second), "timeout", dispatched=False)
    third = await caller.start(f"{device.source}__one")
    await device.result(request["id"])
    check_success(await caller.answer(first))
    await device.result((await device.request())["id"], "third")
    check_success(await caller.answer(third), "third")
    assert len(device.runs) == 2


async def test_progress_reaches_the_caller(rig):
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    part = [{"type": "text", "text": "half of it"}]
    await device.progress(request["id"], 1)
    await device.progress(request["id"], 2, total=4, message="half", content=part)
    await device.result(request["id"], "whole")
    check_success(await caller.answer(call), "whole")
    first, second = caller.seen("tool_progress")
    assert first["id"] == second["id"] == call
    assert first["name"] == second["name"] == name
    assert first["progress"] == 1 and "total" not in first and "message" not in first
    assert (second["progress"], second["total"], second["message"]) == (2, 4, "half")
    assert second["content"] == part


async def test_progress_does_not_move_the_deadline(rig):
    _, device, caller, name = rig
    call = await caller.start(name, timeout_ms=600)
    request = await device.request()
    answered = asyncio.create_task(caller.answer(call))
    step = 0
    while not answered.done():
        step += 1
        await device.progress(request["id"], step)
        await asyncio.sleep(0.05)
    answer = check_error(await answered, "timeout", dispatched=True)
    assert 550 <= answer["duration_ms"] <= 2_500


async def test_silence_longer_than_the_progress_timeout_ends_the_call_r14(net):
    device = await net.v2([tool("long", timeout_ms=20_000, progress_timeout_ms=400)])
    caller = await net.caller()
    call = await caller.start(f"{device.source}__long")
    request = await device.request()
    answer = check_error(await caller.answer(call), "no_progress", dispatched=True)
    assert 350 <= answer["duration_ms"] <= 3_000
    assert (await device.expect("tool_call_cancel"))["id"] == request["id"]


async def test_progress_resets_the_progress_timeout_and_the_result_counts_r15(net):
    device = await net.v2([tool("long", timeout_ms=20_000, progress_timeout_ms=600)])
    caller = await net.caller()
    call = await caller.start(f"{device.source}__long")
    request = await device.request()
    for step in range(9):
        await asyncio.sleep(0.15)
        await device.progress(request["id"], step)
    await device.result(request["id"], "done after all")
    answer = check_success(await caller.answer(call), "done after all")
    assert answer["duration_ms"] > 1_200


async def test_the_deadline_pauses_while_a_person_is_asked(rig):
    """tool_waiting: the run clock stops until the next frame for that id."""
    _, device, caller, name = rig
    call = await caller.start(name, timeout_ms=700)
    request = await device.request()
    await device.waiting(request["id"], "permission", prompt="May I?")
    # Longer than the call's own limit, shorter than what a person is given (approval_s = 2).
    await asyncio.sleep(1.2)
    await device.result(request["id"], "allowed")
    answer = check_success(await caller.answer(call), "allowed")
    assert answer["duration_ms"] >= 1_100


async def test_the_deadline_resumes_with_the_next_frame(rig):
    _, device, caller, name = rig
    call = await caller.start(name, timeout_ms=700)
    request = await device.request()
    await device.waiting(request["id"], "authorization", hint="in the app")
    await asyncio.sleep(0.9)
    await device.progress(request["id"], 1)
    answer = check_error(await caller.answer(call), "timeout", dispatched=True)
    assert 1_400 <= answer["duration_ms"] <= 3_500


async def test_waiting_for_a_person_has_a_total_limit_per_call(rig):
    """approval_s = 2 here, for all waits of one call together."""
    _, device, caller, name = rig
    call = await caller.start(name, timeout_ms=500)
    request = await device.request()
    await device.waiting(request["id"])
    await asyncio.sleep(1.0)
    await device.waiting(request["id"])
    answer = check_error(await caller.answer(call), "timeout", dispatched=True)
    assert 2_000 <= answer["duration_ms"] <= 4_500, answer
    assert (await device.expect("tool_call_cancel"))["id"] == request["id"]


async def test_the_caller_sees_the_question_to_the_person(rig):
    """The caller gets the last progress; nothing if the device sends none."""
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await device.waiting(request["id"], "permission")
    await device.waiting(request["id"], "authorization", prompt="May I?", hint="in the app")
    await device.progress(request["id"], 3, total=4)
    await device.waiting(request["id"], "authorization", prompt="May I?" + "x" * 2_000)
    await device.result(request["id"], "allowed")
    check_success(await caller.answer(call), "allowed")
    told = [(f["progress"], f.get("total"), f.get("message")) for f in caller.seen("tool_progress")]
    assert told == [(0, None, "May I? (in the app)"), (3, 4, None), (3, 4, "May I?" + "x" * 1_994)]


async def test_a_device_cannot_pause_the_deadline_of_another_devices_call(net, rig):
    _, device, caller, name = rig
    other = await net.v2()
    call = await caller.start(name, timeout_ms=500)
    request = await device.request()
    await other.waiting(request["id"])
    await other.progress(request["id"], 50)
    answer = check_error(await caller.answer(call), "timeout", dispatched=True)
    assert answer["duration_ms"] < 1_900
    assert caller.seen("tool_progress") == []


@pytest.mark.parametrize("arguments", [{"n": 1, "deep": {"a": [1, 2.5, None, "ü"]}}, {}, {"big": 2**53 - 1}])
@pytest.mark.parametrize("version", [1, 2])
async def test_arguments_arrive_unchanged(net, version, arguments):
    bare = unique("args")
    device = await (net.v1 if version == 1 else net.v2)([tool(bare)], handler=lambda r: "ok")
    check_success(await (await net.caller()).call(bare, arguments))
    assert device.runs[0]["args"] == arguments


async def test_arguments_that_violate_the_schema_never_reach_the_device(net):
    properties = {
        "count": {"type": "integer", "minimum": 1},
        "who": {"type": "object", "properties": {"name": {"type": "string"}}},
    }
    device = await net.v2([tool("strict", properties, ["count"])])
    caller = await net.caller()
    name = f"{device.source}__strict"
    wrong = [
        ({"count": 0, "who": {"name": 5}}, ["/count", "/who/name"]),
        ({"count": "1"}, ["/count"]),
        ({}, ["count"]),
        ({"count": None}, ["/count"]),
    ]
    for arguments, pointers in wrong:
        for answer in (await caller.call(name, arguments), await net.rest().call(name, arguments)):
            check_error(answer, "invalid_arguments", dispatched=False)
            text = answer["message"] + answer.get("hint", "")
            assert all(pointer in text for pointer in pointers), (arguments, answer)
    assert device.runs == []
    device.handler = lambda r: "ok"
    check_success(await caller.call(name, {"count": 5.0}), "ok")


async def test_null_is_neither_an_integer_nor_absent_e3(net):
    device = await net.v2([tool("strict", {"a": {"type": "string"}}, ["a"])])
    caller = await net.caller()
    check_error(await caller.call(f"{device.source}__strict", {"a": None}), "invalid_arguments", dispatched=False)
    assert device.runs == []


@pytest.mark.parametrize("arguments", [[], "text", 5, True])
async def test_arguments_that_are_not_an_object_are_refused(net, rig, arguments):
    _, device, caller, name = rig
    await caller.send({"type": "call_tool", "id": "bad", "name": name, "args": arguments})
    # As an outcome, or as a message that makes no sense: answered either way.
    async with asyncio.timeout(5):
        while not [f for f in caller.history if f["type"] in ("call_result", "error")]:
            await asyncio.sleep(0.01)
    [answer] = [f for f in caller.history if f["type"] in ("call_result", "error")]
    if answer["type"] == "call_result":
        check_error(answer, "invalid_arguments", dispatched=False)
    assert device.runs == []
