"""Results (docs/protocol.md, "Running a tool" and "Outcomes"): exactly one result counts; every error code of a device."""

import pytest
from shapes import call_code, call_status, check_error, check_success
from toolway_client import tool, unique


async def status(device, call):
    return (await device.expect("result_acknowledged", id=call))["status"]


async def test_the_first_result_is_accepted_and_the_second_is_a_duplicate(rig):
    net, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await device.result(request["id"], "first")
    assert await status(device, request["id"]) == "accepted"
    await device.result(request["id"], "second")
    assert await status(device, request["id"]) == "duplicate"
    await device.fail(request["id"], "third")
    assert await status(device, request["id"]) == "duplicate"
    check_success(await caller.answer(call), "first")
    await caller.barrier()
    assert len(caller.seen("call_result", id=call)) == 1


async def test_a_result_after_the_deadline_is_late_r8(rig):
    _, device, caller, name = rig
    call = await caller.start(name, timeout_ms=300)
    request = await device.request()
    check_error(await caller.answer(call), "timeout", dispatched=True)
    await device.result(request["id"], "too late")
    assert await status(device, request["id"]) == "late"
    await caller.barrier()
    assert len(caller.seen("call_result", id=call)) == 1


async def test_a_result_after_a_cancellation_is_late(rig):
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await caller.cancel(call)
    check_error(await caller.answer(call), "cancelled", dispatched=True)
    await device.result(request["id"])
    assert await status(device, request["id"]) == "late"


@pytest.mark.parametrize("call", ["0190b3a4-1111-7abc-8def-001122334455", "not-an-id", "", "x" * 4000])
async def test_a_result_for_an_unknown_call_is_unknown_r8(net, call):
    device = await net.v2([tool("work")])
    await device.result(call)
    assert await status(device, call) == "unknown"
    await device.fail(call)
    assert await status(device, call) == "unknown"


async def test_version_1_gets_exactly_one_acknowledgement(net):
    """Version 1 discards late, duplicate and unknown results without an acknowledgement."""
    device = await net.v1([tool("work")], name=unique("v1"))
    caller = await net.caller()
    name = f"{await net.source_with_socket(device)}__work"
    call = await caller.start(name)
    request = await device.request()
    await device.result(request["id"], "first")
    assert await device.expect("result_acknowledged") == {"type": "result_acknowledged", "id": request["id"]}
    check_success(await caller.answer(call), "first")
    late = await caller.start(name, timeout_ms=300)
    late_request = await device.request()
    check_error(await caller.answer(late), "timeout", dispatched=True)

    await device.result(request["id"], "again")
    await device.fail(request["id"], "again")
    await device.result(late_request["id"], "late")
    await device.result("0190b3a4-1111-7abc-8def-001122334455", "unknown")
    await device.barrier()
    assert device.seen("result_acknowledged") == [{"type": "result_acknowledged", "id": request["id"]}]
    assert [f for f in device.seen("error") if f.get("code") != "UNKNOWN_MESSAGE_TYPE"] == []


@pytest.mark.parametrize("same_token", [False, True])
async def test_another_devices_call_is_unknown_to_this_device(net, rig, same_token):
    _, device, caller, name = rig
    token = await net.pair()
    mine = await net.v2([tool("mine")], token=token)
    if same_token:
        device = await net.v2([tool("theirs")], token=token)
        name = f"{device.source}__theirs"
    call = await caller.start(name)
    request = await device.request()
    await mine.result(request["id"], "forged")
    assert await status(mine, request["id"]) == "unknown"
    await mine.fail(request["id"], "forged")
    assert await status(mine, request["id"]) == "unknown"
    await device.result(request["id"], "real")
    assert await status(device, request["id"]) == "accepted"
    check_success(await caller.answer(call), "real")


async def test_a_version_1_socket_cannot_answer_another_sockets_call(net):
    one = await net.v1([tool("work")], name=unique("one"))
    two = await net.v1([tool("work")], name=unique("two"))
    caller = await net.caller()
    call = await caller.start(f"{await net.source_with_socket(one)}__work")
    request = await one.request()
    await two.result(request["id"], "forged")
    await two.barrier()
    assert two.seen("result_acknowledged") == []
    await one.result(request["id"], "real")
    check_success(await caller.answer(call), "real")


async def test_the_call_log_has_exactly_one_outcome(rig):
    net, device, caller, name = rig
    call = await caller.start(name, timeout_ms=300)
    request = await device.request()
    check_error(await caller.answer(call), "timeout", dispatched=True)
    await device.result(request["id"], "late")
    await status(device, request["id"])
    entry = await net.logged(request["id"])
    assert (call_status(entry), call_code(entry)) == ("error", "timeout")


OUTPUTS = ["", "plain", '{"a": [1, 2]}', "null", "5", "üñí 電\u2028\n\t", "\\u0000", "x" * 100_000]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("output", OUTPUTS)
async def test_envelope_text_stays_text(net, version, output):
    """A device's output is never parsed."""
    bare = unique("text")
    await (net.v1 if version == 1 else net.v2)([tool(bare)], handler=lambda r: output)
    check_success(await (await net.caller()).call(bare), output)
    check_success(await net.rest().call(bare), output)


@pytest.mark.parametrize("structured", [{"a": 1}, {"deep": {"list": [1, 2.5, None, True]}}, {}])
async def test_envelope_structured_results_are_the_result(rig, structured):
    net, device, caller, name = rig
    device.handler = lambda r: {"output": "in words", "structured": structured}
    check_success(await caller.call(name), structured)
    check_success(await net.rest().call(name), structured)


async def test_envelope_other_parts_are_in_content(rig):
    _, device, caller, name = rig
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "file:///x", "name": "x"}
    device.handler = lambda r: {"output": "a picture", "content": [{"type": "text", "text": "a picture"}, image, link]}
    check_success(await caller.call(name), "a picture", content=[image, link])


async def test_envelope_success_defaults_to_true(rig):
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await device.send({"type": "tool_result", "id": request["id"], "output": "fine"})
    check_success(await caller.answer(call), "fine")


@pytest.mark.parametrize("version", [1, 2])
async def test_envelope_success_false_is_tool_failed(net, version):
    bare = unique("bad")
    await (net.v1 if version == 1 else net.v2)(
        [tool(bare)], handler=lambda r: {"output": "", "success": False, "error": "no paper"}
    )
    answer = await (await net.caller()).call(bare)
    check_error(answer, "tool_failed", dispatched=True, message="no paper")


@pytest.mark.parametrize("version", [1, 2])
async def test_envelope_tool_error_is_tool_failed(net, version):
    def broken(request):
        raise RuntimeError("Camera permission denied")

    bare = unique("err")
    await (net.v1 if version == 1 else net.v2)([tool(bare)], handler=broken)
    answer = await (await net.caller()).call(bare)
    check_error(answer, "tool_failed", dispatched=True, message="Camera permission denied")
    answer = await net.rest().call(bare)
    check_error(answer, "tool_failed", dispatched=True, message="Camera permission denied")


MAY_SAY = [
    "invalid_arguments",
    "denied",
    "denied_always",
    "auth_required",
    "rate_limited",
    "tool_failed",
    "tool_panicked",
    "file_not_found",
    "network",
]
MAY_NOT = ["made_up", "gateway_restarted", "cancelled", "tool_not_available", "timeout", "overloaded", "", "Denied"]


@pytest.mark.parametrize("code", MAY_SAY + MAY_NOT)
async def test_envelope_codes_that_devices_may_send(rig, code):
    """Any other code becomes tool_failed."""
    _, device, caller, name = rig
    device.handler = lambda r: {"type": "tool_error", "error": "because", "code": code, "hint": "do this"}
    wanted = code if code in MAY_SAY else "tool_failed"
    check_error(await caller.call(name), wanted, dispatched=True, message="because", hint="do this")


async def test_envelope_a_code_always_has_its_error_type(rig):
    """error_type belongs to the code, at every entry point."""
    _, device, caller, name = rig
    device.handler = lambda r: {"type": "tool_error", "error": "x", "code": "denied", "error_type": "timeout"}
    check_error(await caller.call(name), "denied", dispatched=True, message="x")


@pytest.mark.parametrize("retryable", [True, False])
async def test_envelope_retryable_is_forwarded(rig, retryable):
    _, device, caller, name = rig
    device.handler = lambda r: {"type": "tool_error", "error": "x", "code": "network", "retryable": retryable}
    check_error(await caller.call(name), "network", dispatched=True, retryable=retryable)


async def test_envelope_authorize_intent_is_forwarded(rig):
    _, device, caller, name = rig
    device.handler = lambda r: {
        "type": "tool_error",
        "error": "sign in first",
        "code": "auth_required",
        "authorize_intent": "intent://sign-in",
    }
    answer = check_error(await caller.call(name), "auth_required", dispatched=True, message="sign in first")
    assert answer["authorize_intent"] == "intent://sign-in"


async def test_envelope_is_the_same_over_rest_and_websocket(rig):
    net, device, caller, name = rig
    device.handler = lambda r: {"type": "tool_error", "error": "x", "code": "denied_always", "hint": "settings"}
    around = {"type", "id", "call_id", "duration_ms"}
    socket = {k: v for k, v in (await caller.call(name)).items() if k not in around}
    rest = {k: v for k, v in (await net.rest().call(name)).items() if k not in around}
    assert socket == rest


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "tool_result"},
        {"type": "tool_result", "id": 5, "output": "x"},
        {"type": "tool_result", "id": None, "output": "x"},
        {"type": "tool_error"},
        {"type": "tool_progress", "progress": 1},
    ],
)
async def test_a_result_without_a_valid_call_id_is_answered_and_ends_no_call(rig, wrong):
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await device.send(wrong)
    assert (await device.expect("error"))["message"]
    await device.result(request["id"], "real")
    check_success(await caller.answer(call), "real")


@pytest.mark.parametrize("output", [None, 5, {"a": 1}, ["x"]])
async def test_an_output_that_is_not_a_string_ends_the_call_once(rig, output):
    """The call does not hang: the result is rejected, or counts as a failure."""
    _, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await device.send({"type": "tool_result", "id": request["id"], "output": output})
    await device.result(request["id"], "real")
    answer = await caller.answer(call)
    assert answer["status"] in ("success", "error")
    assert len(caller.seen("call_result", id=call)) == 1
