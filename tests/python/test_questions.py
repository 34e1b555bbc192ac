"""Questions to persons: to the caller over /ws/chat, to the owner over REST; and grants."""

import asyncio
import contextlib
import json
from types import SimpleNamespace

import pytest
from conftest import PATIENT
from shapes import check_error, check_success, refusal, rows
from toolway_client import WAIT, eventually, tool, unique

ASKING = {
    "limits": PATIENT,
    "permissions": {"rules": [{"permission": "device.*", "state": "ask"}]},
    "policy": {
        "rules": [
            {"name": "careful", "effect": "ask", "caller_may_answer": True, "when": {"tools": ["*/careful"]}},
            {"name": "owners", "effect": "ask", "when": {"tools": ["*/owners"]}},
        ]
    },
}

LOCATE = tool("locate", {"exact": {"type": "boolean"}, "password": {"type": "string"}}, permissions=["device.location"])
TOOLS = [LOCATE, tool("careful"), tool("owners"), tool("contacts", permissions=["READ_CONTACTS"])]


@pytest.fixture
async def asks(net, gateway_factory):
    """A gateway that asks for approval, a client, and a device whose tools answer immediately."""
    other = net.on(gateway_factory(ASKING))
    record = await other.client_record(label=unique("label"))
    caller = await other.caller(record["token"])
    device = await other.v2(TOOLS, handler=lambda r: "ran")
    return SimpleNamespace(
        net=other,
        device=device,
        caller=caller,
        token=record["token"],
        id=record["id"],
        name=lambda bare: f"{device.source}__{bare}",
        rest=other.rest(record["token"]),
    )


async def question(socket, **fields):
    """Waits for the next question on this connection."""
    return await socket.expect("permission_request", **fields)


async def decide(socket, asked, decision, **fields):
    """Answers it there."""
    await socket.send({"type": "permission_answer", "id": asked["id"], "decision": decision, **fields})


async def approvals(rest):
    """Returns the open questions that a token sees."""
    return rows(await rest.json("/api/approvals"), "approvals")


class Watch:
    """The owner's stream of questions. While it is open, calls wait for an answer."""

    def __init__(self, response):
        self.lines = response.aiter_lines()

    async def next(self, wanted, **fields):
        """Waits for the next event of this kind with these fields."""

        async def read():
            kind = None
            async for line in self.lines:
                if line.startswith("event:"):
                    kind = line[6:].strip()
                elif line.startswith("data:") and kind == wanted:
                    data = json.loads(line[5:])
                    if all(data.get(k) == v for k, v in fields.items()):
                        return data
            raise AssertionError(f"the stream ended without {wanted}")

        return await asyncio.wait_for(read(), WAIT)


@contextlib.asynccontextmanager
async def watching(net):
    """An owner with an open stream."""
    headers = {"Authorization": f"Bearer {net.gw.owner_token}", "Accept": "text/event-stream"}
    async with net.http.stream("GET", f"{net.gw.url}/api/approvals/watch", headers=headers) as response:
        assert response.status_code == 200
        yield Watch(response)


async def answered(rest, asked, decision, **fields):
    """Answers over REST and returns the response."""
    return await rest.post(f"/api/approvals/{asked['id']}", {"decision": decision, **fields})


# Over WebSocket, to whoever made the call.


async def test_questions_the_permission_is_requested_before_the_tool_runs(asks):
    call = await asks.caller.start(asks.name("locate"), {"exact": True, "password": "hunter2"})
    asked = await question(asks.caller)
    assert set(asked) == {"type", "id", "kind", "tool", "permission", "reason", "args_preview", "expires_ms"}
    assert (asked["kind"], asked["permission"]) == ("permission", "device.location")
    assert asked["tool"] == asks.name("locate")
    assert f"{asks.device.source}/locate" in asked["reason"] and "device.location" in asked["reason"]
    assert json.loads(asked["args_preview"]) == {"exact": True, "password": "[redacted]"}
    assert 0 < asked["expires_ms"] <= 120_000
    assert asks.device.runs == []
    [listed] = await approvals(asks.rest)
    assert listed["id"] == asked["id"] and listed["caller_may_answer"] is True
    await decide(asks.caller, asked, "granted")
    check_success(await asks.caller.answer(call), "ran")
    assert asks.device.runs[0]["args"] == {"exact": True, "password": "hunter2"}
    assert await approvals(asks.rest) == []
    # Once was once.
    await asks.caller.start(asks.name("locate"))
    assert (await question(asks.caller))["id"] != asked["id"]


async def test_questions_a_denial_is_reported_and_nothing_runs(asks):
    call = await asks.caller.start(asks.name("locate"))
    await decide(asks.caller, await question(asks.caller), "denied")
    answer = await asks.caller.answer(call)
    check_error(answer, "denied", dispatched=False, message="Permission device.location was denied by the user")
    assert asks.device.runs == []


async def test_a_permanent_denial_has_its_own_code_and_is_not_asked_again_e2(asks):
    call = await asks.caller.start(asks.name("locate"))
    await decide(asks.caller, await question(asks.caller), "denied_always", scope="session")
    answer = check_error(await asks.caller.answer(call), "denied_always", dispatched=False)
    assert answer["hint"], "what can change it"
    again = check_error(await asks.caller.call(asks.name("locate")), "denied_always", dispatched=False)
    assert again["hint"]
    assert len(asks.caller.seen("permission_request")) == 1
    # It was said in one session.
    other = await asks.net.caller(asks.token)
    await other.start(asks.name("locate"))
    await question(other)
    assert asks.device.runs == []


async def test_questions_an_answer_for_the_session_applies_only_there(asks):
    call = await asks.caller.start(asks.name("locate"))
    await decide(asks.caller, await question(asks.caller), "granted", scope="session")
    check_success(await asks.caller.answer(call), "ran")
    check_success(await asks.caller.call(asks.name("locate")), "ran")
    assert len(asks.caller.seen("permission_request")) == 1
    other = await asks.net.caller(asks.token)
    await other.start(asks.name("locate"))
    await question(other)


async def test_several_questions_are_open_and_each_gets_its_own_answer_e1(asks):
    calls = {n: await asks.caller.start(asks.name("locate"), {"n": n}) for n in range(4)}
    asked = {}
    for _ in calls:
        one = await question(asks.caller)
        asked[json.loads(one["args_preview"])["n"]] = one
    assert len(await approvals(asks.rest)) == 4
    # Other calls go on meanwhile.
    check_success(await asks.caller.call(asks.name("contacts")), "ran")
    for n in (3, 0, 2):
        await decide(asks.caller, asked[n], "denied" if n == 0 else "granted")
        answer = await asks.caller.answer(calls[n])
        if n == 0:
            check_error(answer, "denied", dispatched=False)
        else:
            check_success(answer, "ran")
    [left] = await approvals(asks.rest)
    assert left["id"] == asked[1]["id"]
    await decide(asks.caller, asked[1], "granted")
    check_success(await asks.caller.answer(calls[1]), "ran")


@pytest.mark.parametrize("scope", ["always", "agent"])
async def test_questions_only_the_owner_can_answer_permanently(asks, scope):
    call = await asks.caller.start(asks.name("locate"))
    asked = await question(asks.caller)
    await decide(asks.caller, asked, "granted", scope=scope)
    assert (await asks.caller.expect("error"))["message"]
    assert asks.device.runs == []
    await decide(asks.caller, asked, "granted")
    check_success(await asks.caller.answer(call), "ran")
    assert not [g for g in await grants(asks.net) if g.get("principal") == asks.id or "agent" in g]


async def test_questions_late_and_unknown_answers_are_errors(asks):
    await decide(asks.caller, {"id": "01920000-0000-7000-8000-0000000000ab"}, "granted")
    assert (await asks.caller.expect("error"))["message"]
    call = await asks.caller.start(asks.name("locate"))
    asked = await question(asks.caller)
    await decide(asks.caller, asked, "denied")
    check_error(await asks.caller.answer(call), "denied", dispatched=False)
    await decide(asks.caller, asked, "granted")
    assert (await asks.caller.expect("error"))["message"]
    for wrong in ({"decision": "perhaps"}, {"decision": 1}, {}, {"decision": "granted", "scope": "for ever"}):
        await asks.caller.send({"type": "permission_answer", "id": asked["id"], **wrong})
        assert (await asks.caller.expect("error"))["code"] == "INVALID_MESSAGE"
    assert asks.device.runs == []
    await asks.caller.barrier()


async def test_questions_are_visible_and_answerable_only_by_their_recipients(asks):
    other = await asks.net.caller()
    same = await asks.net.caller(asks.token)
    call = await asks.caller.start(asks.name("locate"))
    asked = await question(asks.caller)
    await decide(other, asked, "granted")
    assert (await other.expect("error"))["message"]
    assert await approvals(asks.net.rest(other_token := await asks.net.client())) == []
    assert (await answered(asks.net.rest(other_token), asked, "granted")).status_code == 404
    for socket in (other, same):
        await socket.barrier()
        assert not socket.seen("permission_request")
    assert asks.device.runs == []
    await decide(asks.caller, asked, "granted")
    check_success(await asks.caller.answer(call), "ran")


async def test_questions_version_1_is_never_asked(asks):
    """It does not know questions. Nobody else can answer, so the call ends immediately."""
    token = await asks.net.pair("companion")
    old = await asks.net.socket("/ws/chat", token)
    await old.send({"type": "connect", "device_name": unique("old")})
    await old.expect("connected")
    for bare in ("locate", "careful"):
        await old.send({"type": "call_tool", "id": bare, "name": asks.name(bare), "args": {}})
        answer = await old.expect("call_result", id=bare)
        check_error(answer, "approval_unavailable", dispatched=False)
    # Nor is it told of those that others are asked.
    call = await asks.caller.start(asks.name("locate"))
    await decide(asks.caller, await question(asks.caller), "granted")
    check_success(await asks.caller.answer(call), "ran")
    await old.barrier()
    assert not old.seen("permission_request")
    # As one that only offers tools it is not sent anything of them either.
    device = await asks.net.v1([LOCATE], name=unique("v1"), handler=lambda r: "ran")
    call = await asks.caller.start(f"{await asks.net.source_with_socket(device)}__locate")
    await decide(asks.caller, await question(asks.caller), "granted")
    check_success(await asks.caller.answer(call), "ran")
    assert {f["type"] for f in device.history} <= {
        "session_start",
        "connected",
        "tools_registered",
        "tool_call_request",
        "result_acknowledged",
    }


async def test_questions_have_their_own_timeout(asks):
    """The deadline starts when it may run."""
    call = await asks.caller.start(asks.name("locate"), timeout_ms=300)
    asked = await question(asks.caller)
    await asyncio.sleep(0.5)
    await decide(asks.caller, asked, "granted")
    answer = check_success(await asks.caller.answer(call), "ran")
    entry = await asks.net.logged(answer["call_id"])
    assert entry["user_wait_ms"] >= 450 and entry["running_ms"] < 300, entry
    assert entry["approved_by"] == asks.id


async def test_questions_without_an_answer_expire(net, gateway_factory):
    other = net.on(gateway_factory(ASKING | {"timeouts": {"approval_s": 1}}))
    device = await other.v2(TOOLS, handler=lambda r: "ran")
    caller = await other.caller()
    call = await caller.start(f"{device.source}__locate")
    assert (await question(caller))["expires_ms"] <= 1000
    answer = check_error(await caller.answer(call), "approval_unavailable", dispatched=False)
    assert "grant" in answer["hint"]
    assert device.runs == []
    assert await approvals(other.rest()) == []


@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_questions_of_a_cancelled_call_are_withdrawn(asks, how):
    async with watching(asks.net) as watch:
        call = await asks.caller.start(asks.name("locate"))
        asked = await question(asks.caller)
        await watch.next("approval_requested", id=asked["id"])
        if how == "cancel":
            await asks.caller.cancel(call)
            check_error(await asks.caller.answer(call), "cancelled", dispatched=False)
        else:
            asks.caller.abort()
        over = await watch.next("approval_resolved", id=asked["id"])
        assert over["resolution"] == "cancelled" and not {"decision", "scope", "answered_by"} & set(over)
    assert await approvals(asks.net.rest()) == []
    assert asks.device.runs == []


async def test_questions_go_to_the_caller_only_if_a_rule_says_so(asks):
    call = await asks.caller.start(asks.name("careful"))
    asked = await question(asks.caller)
    assert asked["kind"] == "approval" and "permission" not in asked
    assert "careful" in asked["reason"]
    await decide(asks.caller, asked, "granted")
    check_success(await asks.caller.answer(call), "ran")
    # The owner alone may answer this one, and does not watch.
    answer = check_error(await asks.caller.call(asks.name("owners")), "approval_unavailable", dispatched=False)
    assert "grant" in answer["hint"]
    assert len(asks.caller.seen("permission_request")) == 1


async def test_questions_a_phone_asks_for_its_own_permissions(asks):
    entry = await asks.rest.json(f"/api/tools/{asks.name('contacts')}")
    assert entry["permissions"] == ["READ_CONTACTS"], "shown"
    check_success(await asks.caller.call(asks.name("contacts")), "ran")
    assert not asks.caller.seen("permission_request")


# Over REST, to the owner.


async def test_approvals_the_owner_sees_and_answers_while_it_watches(asks):
    owner = asks.net.rest()
    async with watching(asks.net) as watch:
        calling = asyncio.create_task(asks.rest.call(asks.name("owners"), {"a": 1, "token": "hunter2"}))
        asked = await watch.next("approval_requested")
        assert (asked["kind"], asked["changed_tool"], asked["caller_may_answer"]) == ("approval", False, False)
        assert (asked["tool"], asked["tool_id"]) == (asks.name("owners"), f"{asks.device.source}/owners")
        assert (asked["principal"], asked["arguments"]) == (asks.id, {"a": 1, "token": "[redacted]"})
        assert asked["expires_ms"] - asked["created_ms"] == 120_000
        assert await approvals(owner) == [asked]
        # Its caller sees it, and may not answer; to others it does not exist.
        assert await approvals(asks.rest) == [asked]
        refused = await answered(asks.rest, asked, "granted")
        assert refused.status_code == 403 and refusal(refused)
        stranger = asks.net.rest(await asks.net.client())
        assert await approvals(stranger) == []
        assert (await answered(stranger, asked, "granted")).status_code == 404
        for body in ({}, {"decision": "yes"}, {"decision": "granted", "scope": "ever"}, {"scope": "once"}, []):
            refused = await owner.post(f"/api/approvals/{asked['id']}", body)
            assert refused.status_code == 400, (body, refused.text)
        # There is neither a session nor an agent that it could hold for.
        for scope in ("session", "agent"):
            assert (await answered(owner, asked, "granted", scope=scope)).status_code == 409
        assert asks.device.runs == []
        async with watching(asks.net) as second:
            assert await second.next("approval_requested") == asked, "one that comes later is shown what is open"
        assert (await answered(owner, asked, "granted", scope="once")).status_code == 204
        over = await watch.next("approval_resolved")
        assert over == {"id": asked["id"], "resolution": "answered", "decision": "granted", "scope": "once", "answered_by": "owner"}
        outcome = check_success(await calling, "ran")
        assert (await answered(owner, asked, "denied")).status_code == 404
    entry = await asks.net.logged(outcome["call_id"])
    assert entry["approved_by"] == "owner" and entry["user_wait_ms"] > 0


async def test_approvals_the_owner_denies(asks):
    async with watching(asks.net) as watch:
        call = await asks.caller.start(asks.name("owners"))
        asked = await watch.next("approval_requested")
        assert asked["session_id"] == asks.caller.session_start["session_id"]
        assert (await answered(asks.net.rest(), asked, "denied")).status_code == 204
        check_error(await asks.caller.answer(call), "denied", dispatched=False)
    assert asks.device.runs == []
    assert not asks.caller.seen("permission_request")


async def test_approvals_the_first_answer_counts(asks):
    """The owner may answer a question to the caller, and the caller is notified."""
    async with watching(asks.net) as watch:
        call = await asks.caller.start(asks.name("locate"))
        asked = await question(asks.caller)
        await watch.next("approval_requested", id=asked["id"])
        assert (await answered(asks.net.rest(), asked, "granted")).status_code == 204
        check_success(await asks.caller.answer(call), "ran")
        await decide(asks.caller, asked, "denied")
        assert (await asks.caller.expect("error"))["message"]


async def test_approvals_over_an_event_stream_of_the_call(asks):
    """With `ask`, the caller can answer; without it, a call does not wait."""
    path = f"/api/tools/{asks.name('locate')}/call"
    check_error(await asks.rest.call(asks.name("locate")), "approval_unavailable", dispatched=False)
    got = [pair async for pair in asks.rest.events("POST", path, {"args": {}})]
    assert [event for event, _ in got] == ["outcome"]
    check_error(got[0][1], "approval_unavailable", dispatched=False)
    events = []
    async for event, data in asks.rest.events("POST", path, {"args": {}, "interactive": True}):
        events.append(event)
        if event == "approval_requested":
            assert data["permission"] == "device.location"
            assert (await answered(asks.rest, data, "granted")).status_code == 204
    assert events == ["approval_requested", "approval_resolved", "outcome"]
    check_success(data, "ran")
    # What only the owner may answer, no caller can ask itself.
    got = [pair async for pair in asks.rest.events("POST", f"/api/tools/{asks.name('owners')}/call", {"interactive": True})]
    assert [event for event, _ in got] == ["outcome"]
    check_error(got[0][1], "approval_unavailable", dispatched=False)


@pytest.mark.parametrize("field", ["approved", "approval", "approved_by", "permission", "decision", "grant"])
async def test_nothing_that_a_client_sends_approves_its_own_call_e9(asks, field):
    for given in (True, "granted", asks.id, "owner"):
        answer = await asks.caller.call(asks.name("owners"), {}, **{field: given})
        check_error(answer, "approval_unavailable", dispatched=False)
        check_error(
            await asks.caller.call(asks.name("owners"), {field: given}), "approval_unavailable", dispatched=False
        )
        response = await asks.rest.post(f"/api/tools/{asks.name('owners')}/call", {"args": {}, field: given})
        assert response.status_code == 400 or response.json()["code"] == "approval_unavailable"
    assert asks.device.runs == []


# Grants.


async def grants(net):
    """Returns all active grants."""
    return rows(await net.rest().json("/api/grants"), "grants")


async def test_grants_a_permanent_answer_applies_until_revoked(asks):
    owner = asks.net.rest()
    async with watching(asks.net) as watch:
        call = await asks.caller.start(asks.name("owners"))
        asked = await watch.next("approval_requested")
        assert (await answered(owner, asked, "granted", scope="always")).status_code == 204
        check_success(await asks.caller.answer(call), "ran")
    [grant] = [g for g in await grants(asks.net) if g.get("principal") == asks.id]
    assert (grant["decision"], grant["tool"]) == ("granted", f"{asks.device.source}/owners")
    assert "permission" not in grant and "expires_ms" not in grant
    # For every entry point and connection of this caller, but not for others.
    outcome = check_success(await asks.rest.call(asks.name("owners")), "ran")
    assert (await asks.net.logged(outcome["call_id"]))["approved_by"] == f"grant:{grant['id']}"
    stranger = asks.net.rest(await asks.net.client())
    check_error(await stranger.call(asks.name("owners")), "approval_unavailable", dispatched=False)
    assert (await owner.delete(f"/api/grants/{grant['id']}")).status_code == 204
    check_error(await asks.rest.call(asks.name("owners")), "approval_unavailable", dispatched=False)
    assert (await owner.delete(f"/api/grants/{grant['id']}")).status_code == 404


async def test_grants_can_be_created_for_a_tool_or_a_permission(asks):
    owner, source = asks.net.rest(), asks.device.source
    made = await owner.post("/api/grants", {"tool": f"{source}/own*", "principal": asks.id, "expires_in_s": 3600})
    assert made.status_code == 201, made.text
    run = made.json()
    assert run["expires_ms"] - run["created_ms"] == 3_600_000
    assert run in await grants(asks.net)
    check_success(await asks.rest.call(asks.name("owners")), "ran")
    # For running it, and not for what it needs.
    everything = {"tool": f"{source}/*", "principal": asks.id}
    assert (await owner.post("/api/grants", everything)).status_code == 201
    check_error(await asks.rest.call(asks.name("locate")), "approval_unavailable", dispatched=False)
    made = await owner.post("/api/grants", everything | {"permission": "device.location"})
    check_success(await asks.rest.call(asks.name("locate")), "ran")
    assert (await owner.delete(f"/api/grants/{made.json()['id']}")).status_code == 204
    check_error(await asks.rest.call(asks.name("locate")), "approval_unavailable", dispatched=False)
    # A no counts before a yes.
    no = await owner.post("/api/grants", {"tool": "*/owners", "principal": asks.id, "decision": "denied_always"})
    answer = check_error(await asks.rest.call(asks.name("owners")), "denied_always", dispatched=False)
    assert "grant" in answer["hint"]
    assert (await owner.delete(f"/api/grants/{no.json()['id']}")).status_code == 204
    check_success(await asks.rest.call(asks.name("owners")), "ran")


async def test_grants_expire(asks):
    body = {"tool": f"{asks.device.source}/owners", "principal": asks.id, "expires_in_s": 1}
    identity = (await asks.net.rest().post("/api/grants", body)).json()["id"]

    async def over():
        return (await asks.rest.call(asks.name("owners"))).get("code") == "approval_unavailable"

    await eventually(over)
    assert identity not in {g["id"] for g in await grants(asks.net)}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tool": ""},
        {"tool": "no-slash"},
        {"tool": "a/["},
        {"tool": 5},
        {"tool": "a/b", "expires_in_s": 0},
        {"tool": "a/b", "expires_in_s": "soon"},
        {"tool": "a/b", "decision": "perhaps"},
        {"tool": "a/b", "decision": "denied"},
        {"tool": "a/b", "principal": "x", "agent": "y"},
        {"tool": "a/b", "surprise": True},
    ],
)
async def test_grants_invalid_requests_are_400(asks, body):
    response = await asks.net.rest().post("/api/grants", body)
    assert response.status_code == 400, response.text
    assert refusal(response)


async def test_grants_survive_a_restart_and_questions_do_not(net, gateway_factory):
    other = net.on(gateway_factory(ASKING, fresh=True))
    name = unique("kept")
    token, pairing = await other.client(), await other.pair()
    device = await other.v2(TOOLS, token=pairing, name=name, handler=lambda r: "ran")
    await other.rest().post("/api/grants", {"tool": f"{name}/owners"})
    caller = await other.caller(token)
    await caller.start(f"{name}__locate")
    waiting = (await question(caller))["id"]
    [open_call] = [q["call_id"] for q in await approvals(other.rest()) if q["id"] == waiting]

    async def on_disk():
        return (await other.rest().get(f"/api/calls/{open_call}")).status_code == 200

    await eventually(on_disk)
    other.gw.kill()
    other.gw.start()
    device = await other.v2(TOOLS, token=pairing, name=name, handler=lambda r: "ran")
    check_success(await other.rest(token).call(f"{name}__owners"), "ran")
    assert await approvals(other.rest()) == []
    entry = await other.logged(open_call)
    assert (entry["status"], entry["code"]) == ("error", "gateway_restarted")
    listed = rows(await other.rest().json("/api/calls", params={"status": "gateway_restarted"}), "calls")
    assert [e["call_id"] for e in listed] == [open_call]
    assert len(device.runs) == 1
