"""Conversations over `/ws/chat` with models of every kind: what goes wrong between a person, a model and a tool, and
that the session goes on afterwards. The fake servers check every request as the real ones do, so that a history that
they would refuse is an error here."""

import asyncio
import json

import pytest
from fake_models import MODEL, THINKER, calls, line, says
from gateway_process import Gateway
from shapes import call_status
from talking import KINDS, fake_entries, start_talking, turn
from toolway_client import Socket, eventually, tool, unique

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#: Kinds whose API has a mark for results that are failures.
MARKED = {"anthropic", "gemini"}
#: Kinds whose API takes pictures in results; Gemini's does for newer models than this one.
PICTURES = {"anthropic", "openai-responses"}


def told(kind: str, text: str) -> str:
    """Returns a tool's result from the model's request: the envelope, or Gemini's own format."""
    if kind == "gemini":
        return text
    envelope = json.loads(text)
    assert envelope["status"] == "success", text
    return envelope["result"]


async def agent(here, kind: str, model: str = MODEL) -> str:
    """Creates an agent for this kind and returns its name."""
    name = f"{kind}-{model}"
    body = {"prompt": "", "model": f"{kind}/{model}", "tools": ["*/*"]}
    response = await here.rest().request("PUT", f"/api/agents/{name}", json=body)
    assert response.status_code in (200, 201), response.text
    return name


async def open_chat(here, persona: str, token: str | None = None, **query) -> tuple[Socket, str]:
    """Starts a session with that agent; returns the socket and the session's id."""
    socket = await here.socket(
        "/ws/chat", token or await here.client(), protocols=("toolway.v2",), query={"persona": persona, **query}
    )
    return socket, (await socket.expect("session_start"))["session_id"]


async def device(here, handler, *names: str):
    """Connects a device with these tools; returns it and the full names of the tools."""
    made = await here.v2([tool(name) for name in names], name=unique("phone"), handler=handler)
    return made, [f"{made.source}__{name}" for name in names]


@pytest.fixture(params=KINDS)
def kind(request):
    """A kind of model provider."""
    return request.param


async def test_a_turn_with_parallel_calls(talking, fakes, kind):
    _, [one, two] = await device(talking, lambda request: request["name"].upper(), "one", "two")
    both = {
        "steps": [
            {"text": "I look."},
            {"tool_call": {"name": one, "arguments": {}}},
            {"tool_call": {"name": two, "arguments": {}}},
        ]
    }
    fakes.script(line(both), line(says("Both ", "answered."), last_result=two))
    socket, _ = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert ended.end["type"] == "done", ended.end
    assert ended.shown == ended.end["full_response"]
    assert ended.shown.split() == ["I", "look.", "Both", "answered."]
    assert {result["output"] for result in ended.of("tool_result")} == {"ONE", "TWO"}
    results = fakes.requests()[1]["said"]["messages"][-1]["results"]
    # All of one answer's results in one place, in the order of the calls.
    read = [(result["name"], told(kind, result["text"])) for result in results]
    assert read == [(one, "ONE"), (two, "TWO")]


async def test_thinking_and_signatures_are_replayed_unchanged_m8(talking, fakes, kind):
    _, [work] = await device(talking, lambda _: "ok", "work")
    step = {"steps": [{"thinking": "Hm."}, {"tool_call": {"name": work, "arguments": {"n": 1}}}]}
    fakes.script(line(step), line(step, rounds=1), line(says("Done."), rounds=2), line(says("Again.")))
    socket, _ = await open_chat(talking, await agent(talking, kind, THINKER))
    ended = await turn(socket, "hi")
    assert ended.end["type"] == "done", (ended.end, [each["refused"] for each in fakes.requests()])
    # The next turn brings all of it along.
    assert (await turn(socket, "and?")).end["type"] == "done"
    assert [each["refused"] for each in fakes.requests()] == [None] * 4


async def test_a_session_continues_after_an_aborted_call_m9(talking, fakes, kind):
    async def forever(_request):
        await asyncio.Event().wait()

    made, [slow] = await device(talking, forever, "slow")
    fakes.script(line(calls(slow, {})), line(says("Alive."), user_has="still"))
    socket, session = await open_chat(talking, await agent(talking, kind))
    running = asyncio.create_task(turn(socket, "hi"))
    call = await socket.expect("tool_call")
    await eventually(lambda: asyncio.sleep(0, bool(made.runs)))
    await socket.send({"type": "abort"})
    assert (await socket.expect("abort_ack"))["status"] == "aborting"
    assert (await running).end["type"] == "aborted"
    assert call_status(await talking.logged(call["id"])) == "error"
    ended = await turn(socket, "still there?")
    assert (ended.end["type"], ended.shown) == ("done", "Alive."), fakes.requests()[-1]["refused"]
    # The call that was aborted has its result, which says so.
    [result] = [each for message in fakes.requests()[-1]["said"]["messages"] for each in message["results"]]
    assert result["name"] == slow and result["text"]


async def test_a_session_continues_after_a_crash_in_mid_turn_m9(net, gateway_dir, model_servers, fakes, kind):
    folder = gateway_dir / f"crash-{kind}"
    gateway = start_talking(folder, fake_entries(model_servers), model_servers.key)
    try:
        here = net.on(gateway)
        made = await here.v2([tool("slow")], name="phone")
        said = says("I look. ")
        said["steps"].append({"tool_call": {"name": "phone__slow", "arguments": {}}})
        fakes.script(line(said), line(says("Alive."), user_has="still"))
        token, persona = await here.client(), await agent(here, kind)
        socket, session = await open_chat(here, persona, token)
        await socket.send({"type": "message", "content": "hi"})
        await made.request(name="slow")
        gateway.kill()
        gateway = Gateway(folder)
        gateway.start()
        again = net.on(gateway)
        socket, resumed = await open_chat(again, persona, token, session_id=session)
        assert resumed == session
        [crashed] = (await again.rest().json(f"/api/sessions/{session}"))["turns"]
        assert crashed["status"] == "interrupted", crashed
        ended = await turn(socket, "still there?")
        assert (ended.end["type"], ended.shown) == ("done", "Alive."), fakes.requests()[-1]["refused"]
        messages = fakes.requests()[-1]["said"]["messages"]
        # Nothing that was said is lost.
        assert messages[0]["text"] == "hi"
        assert any("I look." in message["text"] for message in messages)
    finally:
        gateway.kill()


async def test_a_call_with_truncated_arguments_does_not_run_m10(talking, fakes, kind):
    made, [work] = await device(talking, lambda _: "ok", "work")
    cut = {"steps": [{"tool_call": {"name": work, "fragments": ['{"path": "/tm']}}], "finish": "length"}
    fakes.script(line(cut), line(says("I was cut off.")))
    socket, _ = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert ended.end["type"] in ("done", "error"), ended.end
    assert not made.runs
    assert [each["refused"] for each in fakes.requests()] == [None] * len(fakes.requests())


async def test_a_mid_stream_error_is_shown_and_the_partial_text_is_kept_m12(talking, fakes, kind):
    half = says("Half of ", "it")
    half["steps"].append({"error": {"status": 500, "message": "so it is said"}})
    fakes.script(line(half), line(says("Whole."), user_has="again"))
    socket, session = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert (ended.end["type"], ended.end["code"]) == ("error", "PROVIDER_ERROR"), ended.end
    assert "so it is said" in ended.end["message"]
    assert ended.shown == "Half of it"
    detail = await talking.rest().json(f"/api/sessions/{session}")
    assert detail["turns"][0]["status"] == "failed"
    assert "Half of it" in str(detail["messages"])
    assert (await turn(socket, "again")).shown == "Whole."
    assert "Half of it" in str(fakes.requests()[-1]["said"]["messages"])


async def test_a_truncated_stream_runs_no_partial_call_m12(talking, fakes, kind):
    made, [work] = await device(talking, lambda _: "ok", "work")
    half = says("I look. ")
    half["steps"] += [{"tool_call": {"name": work, "arguments": {"path": "/tmp/important"}}}, {"text": "x" * 200}]
    # In the middle of what comes after the call: whole for some kinds, but the answer is not over.
    half["steps"].append("cut")
    fakes.script(line(half), line(says("Whole."), user_has="again"))
    socket, _ = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert (ended.end["type"], ended.end["code"]) == ("error", "PROVIDER_ERROR"), ended.end
    assert not made.runs
    assert (await turn(socket, "again")).shown == "Whole.", fakes.requests()[-1]["refused"]


async def test_failures_and_images_reach_the_model_m13(talking, fakes, kind):
    def handler(request):
        if request["name"] == "fails":
            raise RuntimeError("the lens is dirty")
        return {
            "content": [
                {"type": "text", "text": "a dot"},
                {"type": "image", "data": PNG, "mimeType": "image/png"},
            ]
        }

    _, [fails, photo] = await device(talking, handler, "fails", "photo")
    both = {"steps": [{"tool_call": {"name": name, "arguments": {}}} for name in (fails, photo)]}
    fakes.script(line(both), line(says("I see.")))
    socket, _ = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert ended.end["type"] == "done", ended.end
    messages = fakes.requests()[1]["said"]["messages"]
    [results] = [message["results"] for message in messages if message["results"]]
    failed, seen = results
    assert "the lens is dirty" in failed["text"]
    assert "error" in failed["text"].lower() or kind in MARKED
    assert (failed["is_error"], seen["is_error"]) == ((True, False) if kind in MARKED else (None, None))
    assert "a dot" in seen["text"]
    pictures = seen["images"] + sum(message["images"] for message in messages)
    if kind in PICTURES:
        assert seen["images"] == 1
    else:
        assert pictures or "image" in seen["text"]


async def test_a_failure_before_the_first_token_is_retried_and_shown(talking, fakes, kind):
    fakes.script(line({"failure": {"status": 503, "retry_after": 0}}), line(says("Here.")))
    socket, _ = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert (ended.end["type"], ended.shown) == ("done", "Here.")
    assert ended.of("notice"), [frame["type"] for frame in ended.frames]
    assert len(fakes.requests()) == 2


async def test_a_wrong_key_error_names_its_location(talking, fakes, kind):
    fakes.script(line({"failure": {"status": 401}}))
    socket, _ = await open_chat(talking, await agent(talking, kind))
    ended = await turn(socket, "hi")
    assert (ended.end["type"], ended.end["code"]) == ("error", "AUTH_ERROR"), ended.end
    assert len(fakes.requests()) == 1
    assert "model.key" in str(ended.end)


async def test_version_1_receives_a_complete_turn(talking, fakes):
    """A version 1 client that offers tools on the socket that it chats on."""
    client = await talking.v1([tool("work")], handler=lambda _: "ok")
    fakes.script(line(calls("work", {})), line(says("Do", "ne."), last_result="work"))
    await client.send({"type": "message", "content": "hi"})
    called = await client.expect("tool_call")
    assert (called["name"], called["args"]) == ("work", {})
    assert (await client.expect("tool_result", id=called["id"]))["output"] == "ok"
    assert (await client.expect("done"))["full_response"] == "Done."
    assert "work" in fakes.requests()[0]["said"]["tools"]
