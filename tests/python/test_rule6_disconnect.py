"""Disconnects (docs/protocol.md, "Losing the connection"): calls and tools after a disconnect and after a reconnect."""

import asyncio

import pytest
from shapes import check_error, check_success, is_connected
from toolway_client import DeviceV2, eventually, tool, unique

RESUME = ("resume", "progress", "cancel")


async def gone_from_list(net, source):
    async def gone():
        return await net.names(source) == set()

    await eventually(gone)


@pytest.mark.parametrize("how", ["close", "abort"])
async def test_a_version_1_disconnect_ends_its_calls_at_once_r1(net, clock, how):
    device = await net.v1([tool("work")], name=unique("v1"))
    caller = await net.caller()
    source = await net.source_with_socket(device)
    call = await caller.start(f"{source}__work")
    await device.request()
    begin = clock()
    if how == "close":
        await device.ws.close()
    else:
        device.abort()
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    assert clock() - begin < 1.0
    await gone_from_list(net, source)
    assert (await net.rest().get(f"/api/tools/{source}__work")).status_code == 404


async def test_the_calling_session_continues_after_a_version_1_disconnect_r1(net):
    """The lost call blocks no other tool of the same session."""
    device = await net.v1([tool("work")], name=unique("v1"))
    other = await net.v2([tool("other")], handler=lambda r: "free")
    caller = await net.caller()
    call = await caller.start(f"{await net.source_with_socket(device)}__work")
    await device.request()
    device.abort()
    check_success(await caller.call(f"{other.source}__other"), "free")
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)


@pytest.mark.parametrize("version", [1, 2])
async def test_seventy_parallel_calls_all_end_after_a_disconnect_r3(net, version):
    name = unique("many")
    device = await (net.v1 if version == 1 else net.v2)([tool("work")], name=name)
    source = await net.source_with_socket(device) if version == 1 else device.source
    if version == 1:
        await device.register([tool("work")])
    caller = await net.caller()
    calls = [await caller.start(f"{source}__work", {"n": n}) for n in range(70)]
    for _ in calls:
        await device.request()
    device.abort()
    for call in calls:
        check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    await gone_from_list(net, source)


async def test_version_2_without_resume_ends_calls_like_version_1(rig, clock):
    net, device, caller, name = rig
    call = await caller.start(name)
    await device.request()
    begin = clock()
    device.abort()
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    assert clock() - begin < 1.0
    await gone_from_list(net, device.source)


async def test_a_call_that_was_not_sent_yet_is_not_marked_as_dispatched(net):
    """dispatched is true only if the request was sent."""
    device = await net.v2([tool("one", sequential=True)])
    caller = await net.caller()
    first = await caller.start(f"{device.source}__one")
    await device.request()
    second = await caller.start(f"{device.source}__one")
    await caller.barrier()
    device.abort()
    check_error(await caller.answer(first), "device_disconnected", dispatched=True)
    check_error(await caller.answer(second), "device_disconnected", dispatched=False)


async def test_a_proper_close_has_no_grace_time(net, clock):
    """A device that closes properly has no grace time, even if it supports resume."""
    device = await net.v2([tool("work")], capabilities=RESUME)
    caller = await net.caller()
    call = await caller.start(f"{device.source}__work")
    await device.request()
    begin = clock()
    await device.close()
    assert device.close_code == 1000, "the goodbye is answered"
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    await gone_from_list(net, device.source)
    assert clock() - begin < 1.5, "not only when the grace time has passed"


class Resumable:
    """A v2 device with resume that can disconnect and reconnect."""

    def __init__(self, net, token, name):
        self.net, self.token, self.name = net, token, name
        self.device: DeviceV2 | None = None

    @classmethod
    async def start(cls, net, tools, handler=None):
        self = cls(net, await net.pair(), unique("res"))
        self.device = await net.v2(
            tools, token=self.token, name=self.name, device_id="r", capabilities=RESUME, handler=handler
        )
        return self

    async def cut(self):
        self.device.abort()
        await self.device.until_closed()

    async def back(self, resume=True, register=False, tools=(), handler=None):
        token = self.device.connected["resume_token"] if resume else None
        self.device = await self.net.v2(
            tools,
            token=self.token,
            name=self.name,
            device_id="r",
            capabilities=RESUME,
            resume_token=token,
            register=register,
            handler=handler,
        )
        return self.device


async def test_resume_sends_unanswered_requests_again(net, clock):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    name = f"{phone.name}__work"
    answered = await caller.start(name, {"n": 0})
    request = await phone.device.request()
    await phone.device.result(request["id"], "before")
    check_success(await caller.answer(answered), "before")

    calls = {n: await caller.start(name, {"n": n}) for n in range(1, 6)}
    before = {}
    for _ in calls:
        request = await phone.device.request()
        before[request["args"]["n"]] = request
        assert request["attempt"] == 1
    await phone.cut()
    assert await net.names(phone.name) == {"work"}, "they stay listed"
    again = await phone.back()
    assert again.source == phone.name
    for _ in calls:
        request = await again.request()
        first = before[request["args"]["n"]]
        assert request["id"] == first["id"]
        assert request["attempt"] == 2
        assert request["deadline_ms"] <= first["deadline_ms"]
        assert (request["name"], request["args"]) == (first["name"], first["args"])
        await again.result(request["id"], f"after {request['args']['n']}")
        assert (await again.expect("result_acknowledged", id=request["id"]))["status"] == "accepted"
    for n, call in calls.items():
        check_success(await caller.answer(call), f"after {n}")
    assert len(again.runs) == 5, "the one that was answered is not sent again"


async def test_a_device_in_its_grace_time_is_listed_as_reconnecting(net):
    phone = await Resumable.start(net, [tool("work")])
    await phone.cut()

    async def reconnecting():
        [entry] = [e for e in await net.tools() if e["id"] == f"{phone.name}/work"]
        return "reconnecting" in entry.values()

    await eventually(reconnecting, 1.5)
    assert not is_connected(await net.device_entry(phone.name))
    await phone.back()

    async def back():
        [entry] = [e for e in await net.tools() if e["id"] == f"{phone.name}/work"]
        return "reconnecting" not in entry.values()

    await eventually(back)
    assert is_connected(await net.device_entry(phone.name))


async def test_tools_stay_after_resume_without_a_new_registration(net):
    phone = await Resumable.start(net, [tool("work"), tool("more")])
    await phone.cut()
    again = await phone.back(handler=lambda r: "still")
    assert await net.names(phone.name) == {"work", "more"}
    caller = await net.caller()
    check_success(await caller.call(f"{phone.name}__more"), "still")
    # As SDKs do, it registers all of them once more: nothing doubles.
    answer = await again.register([tool("work"), tool("more")])
    assert answer["registered"] == 2
    check_success(await caller.call(f"{phone.name}__work"), "still")


async def test_a_repeated_result_after_resume_counts_once(net):
    """The device ran it and its answer was lost; the stored answer is the result."""
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    request = await phone.device.request()
    await phone.cut()
    again = await phone.back()
    await again.result(request["id"], "kept")
    check_success(await caller.answer(call), "kept")
    await again.result(request["id"], "kept")
    statuses = [await again.expect("result_acknowledged", id=request["id"]) for _ in range(2)]
    assert [s["status"] for s in statuses] == ["accepted", "duplicate"]


async def test_a_result_sent_again_after_a_lost_acknowledgement_is_a_duplicate(net):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    request = await phone.device.request()
    await phone.device.result(request["id"], "once")
    check_success(await caller.answer(call), "once")
    await phone.cut()
    again = await phone.back()
    await again.result(request["id"], "once")
    assert (await again.expect("result_acknowledged", id=request["id"]))["status"] == "duplicate"
    assert again.runs == []


async def test_a_second_disconnect_leads_to_a_third_attempt(net):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    seen = [await phone.device.request()]
    for _ in range(2):
        await phone.cut()
        again = await phone.back()
        seen.append(await again.request())
    assert len({r["id"] for r in seen}) == 1
    attempts = [r["attempt"] for r in seen]
    assert attempts == sorted(set(attempts)), "higher each time"
    await phone.device.result(seen[0]["id"], "third time")
    check_success(await caller.answer(call), "third time")


async def test_the_deadline_continues_while_the_device_is_disconnected(net):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work", timeout_ms=500)
    request = await phone.device.request()
    await phone.cut()
    answer = check_error(await caller.answer(call), "timeout", dispatched=True)
    assert 400 <= answer["duration_ms"] <= 1_900
    again = await phone.back()
    await again.result(request["id"], "late")
    assert (await again.expect("result_acknowledged", id=request["id"]))["status"] == "late"
    assert again.runs == [], "an ended call is not sent again"


async def test_a_call_cancelled_during_a_disconnect_is_not_sent_again(net):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    await phone.device.request()
    await phone.cut()
    await caller.cancel(call)
    check_error(await caller.answer(call), "cancelled", dispatched=True)
    again = await phone.back()
    await again.barrier()
    assert again.runs == []


async def test_a_call_made_during_a_disconnect_ends_once(net):
    phone = await Resumable.start(net, [tool("work")])
    await phone.cut()
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    await caller.barrier()
    await phone.back(handler=lambda r: "came back")
    answer = await caller.answer(call)
    if answer["status"] == "success":
        check_success(answer, "came back")
        assert len(phone.device.runs) == 1
    else:
        check_error(answer, "device_disconnected", dispatched=False)
        assert phone.device.runs == []


async def test_calls_end_and_tools_disappear_after_the_grace_time(net, clock):
    """resume_grace_s = 2 here."""
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    await phone.device.request()
    begin = clock()
    await phone.cut()
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    assert 1.5 < clock() - begin < 4.5
    await gone_from_list(net, phone.name)
    again = await phone.back(register=True, tools=[tool("work")])
    await again.barrier()
    assert again.runs == [], "nothing of the lost calls is sent again"
    assert again.source == phone.name


async def test_a_restarted_device_process_gets_no_request_again(net, clock):
    """The same device without the resume token, within the grace time."""
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    calls = [await caller.start(f"{phone.name}__work") for _ in range(3)]
    for _ in calls:
        await phone.device.request()
    await phone.cut()
    begin = clock()
    again = await phone.back(resume=False, register=True, tools=[tool("work")])
    for call in calls:
        check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    assert clock() - begin < 1.5, "not only when the grace time has passed"
    again.handler = lambda r: "new"
    check_success(await caller.call(f"{phone.name}__work"), "new")
    assert len(again.runs) == 1


@pytest.mark.parametrize("wrong", ["nonsense", "", "0190b3a4-1111-7abc-8def-001122334455"])
async def test_an_invalid_resume_token_resumes_nothing(net, wrong):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    await phone.device.request()
    await phone.cut()
    phone.device.connected["resume_token"] = wrong
    again = await phone.back(register=True, tools=[tool("work")])
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    await again.barrier()
    assert again.runs == []


async def test_resume_replaces_a_socket_that_still_looks_open(net):
    """A phone changed its network, and the gateway has not detected it yet."""
    phone = await Resumable.start(net, [tool("work")])
    old = phone.device
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work")
    first = await old.request()
    again = await phone.back()
    _, reason = await old.until_closed()
    assert reason
    request = await again.request()
    assert (request["id"], request["attempt"]) == (first["id"], 2)
    await again.result(request["id"], "moved")
    check_success(await caller.answer(call), "moved")
    assert await net.names(phone.name) == {"work"}


async def test_closing_a_replaced_socket_removes_no_tools_r2(net):
    phone = await Resumable.start(net, [tool("work")])
    old = phone.device
    await phone.back(resume=False, register=True, tools=[tool("work")], handler=lambda r: "new")
    await old.until_closed()
    old.abort()
    caller = await net.caller()
    # Past the old socket's grace time: whatever its end sets off has happened by then.
    end = asyncio.get_running_loop().time() + 2.5
    while asyncio.get_running_loop().time() < end:
        check_success(await caller.call(f"{phone.name}__work"), "new")
        await asyncio.sleep(0.1)
    assert await net.names(phone.name) == {"work"}


async def test_a_call_that_waits_for_a_person_survives_resume(net):
    phone = await Resumable.start(net, [tool("work")])
    caller = await net.caller()
    call = await caller.start(f"{phone.name}__work", timeout_ms=3_000)
    request = await phone.device.request()
    await phone.device.waiting(request["id"])
    await phone.cut()
    again = await phone.back()
    request = await again.request()
    await again.result(request["id"], "yes")
    check_success(await caller.answer(call), "yes")


async def test_the_device_list_shows_the_real_state_r16(net):
    device = await net.v2([tool("a")])
    entry = await net.device_entry(device.source)
    assert is_connected(entry)
    await device.close()

    async def offline():
        entry = await net.device_entry(device.source)
        return entry is not None and not is_connected(entry)

    await eventually(offline)
