"""The OpenAI-compatible API, through the official Python SDK: an agent whose tools run on a device, as any program
that speaks to OpenAI meets it. (docs/openai-api.md)"""

import asyncio
import json

import openai
import pydantic
import pytest
from fake_models import calls, line, says
from node_process import run_node
from shapes import call_status
from toolway_client import tool, unique

BATTERY = {"status": "success", "result": "81 percent"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.fixture
def api(talking):
    """The network of a gateway whose agent `default` talks to the fake model servers."""
    return talking


@pytest.fixture
async def client(api):
    """The SDK, with a client's token."""
    async with openai.AsyncOpenAI(
        base_url=f"{api.gw.url}/v1", api_key=await api.client(), max_retries=0, timeout=30
    ) as client:
        yield client


@pytest.fixture
async def battery(api):
    """A device with a battery tool; returns the full name of the tool."""
    device = await api.v2([tool("battery")], name=unique("phone"), handler=lambda _: "81 percent")
    return f"{device.source}__battery"


def ask(text="How full is it?", **more):
    """Returns a request for the agent."""
    return {"model": "default", "messages": [{"role": "user", "content": text}], **more}


def two_rounds(fakes, name):
    """Scripts a tool call and a text after its result."""
    first = says("I look. ", usage={"input": 100, "output": 10, "cached": 60})
    first["steps"].append({"tool_call": {"name": name, "fragments": ["{", "}"]}})
    fakes.script(line(first), line(says("81 ", "percent.", usage={"input": 120, "output": 5}), last_result=name))


async def test_the_models_are_the_agents(client):
    assert "default" in [model.id async for model in client.models.list()]
    assert (await client.models.retrieve("default")).object == "model"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("nobody")


async def test_an_answer_without_streaming_after_a_device_tool(client, api, battery, fakes):
    two_rounds(fakes, battery)
    answer = await client.chat.completions.create(**ask())
    choice = answer.choices[0]
    assert choice.finish_reason == "stop"
    assert choice.message.content.split() == ["I", "look.", "81", "percent."]
    assert not choice.message.tool_calls
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (220, 15)
    assert answer.usage.prompt_tokens_details.cached_tokens == 60
    asked, again = fakes.requests()
    assert battery in asked["said"]["tools"]
    [result] = again["said"]["messages"][-1]["results"]
    assert (result["name"], json.loads(result["text"])) == (battery, BATTERY)
    # The call is in the records, under the turn that the answer names.
    [call] = answer.toolway["calls"]
    assert (call["name"], call["status"]) == (battery, "success")
    logged = await api.logged(call["id"])
    assert call_status(logged) == "success"
    assert answer.id.endswith(answer.toolway["turn_id"])


async def test_a_stream_reports_events_of_the_turn(client, battery, fakes):
    two_rounds(fakes, battery)
    text, events, usage, finish = "", [], None, None
    stream = await client.chat.completions.create(**ask(stream=True, stream_options={"include_usage": True}))
    async for chunk in stream:
        usage = chunk.usage or usage
        if event := getattr(chunk, "toolway", None):
            events.append(event)
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert (text.split(), finish) == (["I", "look.", "81", "percent."], "stop")
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (220, 15, 235)
    called, ended, done = [event for event in events if event["event"] in ("tool_call", "tool_result", "done")]
    assert (called["name"], called["args"]) == (battery, {})
    assert (ended["id"], ended["output"], ended["status"]) == (called["id"], "81 percent", "success")
    assert (done["rounds"], done["tool_calls"]) == (2, 1)


async def test_the_sdks_stream_helper_works(client, battery, fakes):
    two_rounds(fakes, battery)
    async with client.chat.completions.stream(**ask()) as stream:
        kinds = {event.type async for event in stream}
        final = await stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert final.choices[0].message.content.endswith("81 percent.")


async def test_requests_share_no_state(client, api, fakes):
    fakes.answer(says("one"), says("two"))
    await client.chat.completions.create(**ask("first"))
    await client.chat.completions.create(**ask("second"))
    assert [message["text"] for message in fakes.requests()[1]["said"]["messages"]] == ["second"]


async def test_system_messages_follow_the_agents_prompt(client, api, fakes):
    assert (
        await api.rest().request(
            "PUT",
            "/api/agents/pirate",
            json={
                "prompt": "You are a pirate.",
                "tools": ["*/*"],
            },
        )
    ).status_code in (200, 201)
    fakes.answer(says("Arr"))
    await client.chat.completions.create(
        model="pirate",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "Ahoy"},
            {"role": "user", "content": "again"},
            {"role": "system", "content": "Be kind."},
        ],
    )
    said = fakes.requests()[0]["said"]
    places = [said["system"].index(text) for text in ("You are a pirate.", "Be brief.", "Be kind.")]
    assert places == sorted(places)
    assert [message["text"] for message in said["messages"]] == ["hi", "Ahoy", "again"]


async def test_pictures_reach_the_model(client, fakes):
    fakes.answer(says("A dot."))
    content = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    ]
    await client.chat.completions.create(model="default", messages=[{"role": "user", "content": content}])
    [message] = fakes.requests()[0]["said"]["messages"]
    assert (message["text"], message["images"]) == ("What is it?", 1)


async def test_calls_of_the_programs_tools_are_returned_to_it(client, battery, fakes):
    both = {
        "steps": [
            {"tool_call": {"name": battery, "arguments": {}}},
            {"tool_call": {"name": "weather", "arguments": {"city": "Bonn"}}},
        ]
    }
    fakes.script(line(both), line(says("Rain, and 81 percent."), last_result="weather"))
    request = ask("And the weather?", tools=[WEATHER])
    first = await client.chat.completions.create(**request)
    message = first.choices[0].message
    assert first.choices[0].finish_reason == "tool_calls"
    [call] = message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Bonn"})
    request["messages"] += [
        message.model_dump(exclude_none=True, exclude={"refusal"}),
        {"role": "tool", "tool_call_id": call.id, "content": "rain"},
    ]
    second = await client.chat.completions.create(**request)
    assert second.choices[0].message.content == "Rain, and 81 percent."
    offered, seen = (request["said"] for request in fakes.requests())
    assert {battery, "weather"} <= set(offered["tools"])
    # The model sees both of its calls answered, in one place.
    results = {result["name"]: result["text"] for result in seen["messages"][-1]["results"]}
    # What the program says of its own tools is passed on as it is.
    assert (json.loads(results[battery]), results["weather"]) == (BATTERY, "rain")


async def test_a_tool_of_the_program_can_be_forced(client, fakes):
    fakes.answer(calls("weather", {"city": "Bonn"}))
    choice = {"type": "function", "function": {"name": "weather"}}
    answer = await client.chat.completions.create(**ask(tools=[WEATHER], tool_choice=choice))
    assert answer.choices[0].finish_reason == "tool_calls"
    assert fakes.requests()[0]["body"]["tool_choice"] == choice


async def test_an_answer_has_the_requested_format(client, fakes):
    class Level(pydantic.BaseModel):
        percent: int

    fakes.answer(says('{"percent"', ": 81}"))
    answer = await client.chat.completions.parse(**ask(response_format=Level))
    assert answer.choices[0].message.parsed == Level(percent=81)
    assert fakes.requests()[0]["body"]["response_format"]["type"] == "json_schema"


async def test_closing_the_stream_ends_the_turn_and_its_tools(client, api, fakes):
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(_request):
        started.set()
        await asyncio.Event().wait()

    device = await api.v2([tool("slow")], name=unique("phone"), handler=handler)
    answer = says("I look. ")
    answer["steps"].append({"tool_call": {"name": f"{device.source}__slow", "arguments": {}}})
    fakes.answer(answer)
    stream = await client.chat.completions.create(**ask(stream=True))
    call = None
    async for chunk in stream:
        event = getattr(chunk, "toolway", None) or {}
        if event.get("event") == "tool_call":
            call = event["id"]
            break
    await asyncio.wait_for(started.wait(), 10)
    await stream.close()
    await device.expect("tool_call_cancel", id=call)
    cancelled.set()
    assert call_status(await api.logged(call)) == "error"
    assert len(fakes.requests()) == 1


async def test_closing_the_stream_ends_the_request_to_the_model(client, fakes):
    answer = says("one ")
    answer["steps"] += [{"gate": "never"}, {"text": "two"}]
    fakes.answer(answer)
    stream = await client.chat.completions.create(**ask(stream=True))
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    await stream.close()
    assert await asyncio.to_thread(fakes.ended, 0) == "dropped"


async def test_a_failing_tool_does_not_fail_the_request(client, api, fakes):
    def handler(_request):
        raise RuntimeError("the battery is gone")

    device = await api.v2([tool("battery")], name=unique("phone"), handler=handler)
    name = f"{device.source}__battery"
    fakes.script(line(calls(name, {})), line(says("It is gone."), last_result=name))
    answer = await client.chat.completions.create(**ask())
    assert answer.choices[0].message.content == "It is gone."
    [result] = fakes.requests()[1]["said"]["messages"][-1]["results"]
    assert "the battery is gone" in result["text"]
    assert answer.toolway["calls"][0]["status"] == "error"


async def test_concurrent_calls_do_not_mix(client, battery, fakes):
    fakes.script(*(line(says(f"answer {n}"), user_has=f"question {n}.") for n in range(20)))
    answers = await asyncio.gather(*(client.chat.completions.create(**ask(f"question {n}.")) for n in range(20)))
    assert [answer.choices[0].message.content for answer in answers] == [f"answer {n}" for n in range(20)]


# Errors, as the SDK raises them.


async def test_an_unknown_agent(client):
    with pytest.raises(openai.NotFoundError) as raised:
        await client.chat.completions.create(**{**ask(), "model": "defualt"})
    assert raised.value.code == "model_not_found"
    assert "default" in str(raised.value)


async def test_a_wrong_token(api):
    async with openai.AsyncOpenAI(base_url=f"{api.gw.url}/v1", api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.chat.completions.create(**ask())


async def test_a_devices_token_may_not(api):
    key = await api.pair("device")
    async with openai.AsyncOpenAI(base_url=f"{api.gw.url}/v1", api_key=key, max_retries=0) as client:
        with pytest.raises(openai.PermissionDeniedError):
            await client.chat.completions.create(**ask())


@pytest.mark.parametrize(("field", "value"), [("n", 2), ("tools", [{"type": "custom", "custom": {"name": "x"}}])])
async def test_unsupported_parameters_are_refused(client, field, value):
    with pytest.raises(openai.BadRequestError) as raised:
        await client.chat.completions.create(**ask(**{field: value}))
    assert field in raised.value.param


@pytest.mark.parametrize("stream", [False, True])
async def test_a_provider_that_refuses_the_gateways_key(client, fakes, stream):
    fakes.answer({"failure": {"status": 401}})
    with pytest.raises(openai.InternalServerError) as raised:
        await client.chat.completions.create(**ask(stream=stream))
    assert (raised.value.status_code, raised.value.code) == (502, "provider_auth")
    assert raised.value.response.headers["x-should-retry"] == "false"


async def test_an_error_after_the_first_token_is_raised_and_the_partial_text_is_kept_m12(client, fakes):
    answer = says("half ")
    answer["steps"].append({"error": {"status": 500, "message": "so it is said"}})
    fakes.answer(answer)
    text = ""
    with pytest.raises(openai.APIError, match="so it is said"):
        async for chunk in await client.chat.completions.create(**ask(stream=True)):
            text += chunk.choices[0].delta.content or "" if chunk.choices else ""
    assert text == "half "


async def test_a_partial_answer_is_not_reported_as_complete_m12(client, fakes):
    answer = says("half ")
    answer["steps"].append("cut")
    fakes.answer(answer)
    with pytest.raises(openai.APIError):
        await client.chat.completions.create(**ask())


async def test_a_question_that_nobody_can_answer_ends_as_a_permission_error(client, api, fakes):
    device = await api.v2(
        [tool("unlock", annotations={"destructiveHint": True})], name=unique("door"), handler=lambda _: "open"
    )
    name = f"{device.source}__unlock"
    rest = api.rest()
    assert (
        await rest.request(
            "PUT",
            "/api/agents/careful",
            json={
                "prompt": "",
                "tools": ["*/*"],
                "approval": "always",
            },
        )
    ).status_code in (200, 201)
    fakes.script(line(calls(name, {})), line(says("I may not."), last_result=name))
    answer = await client.chat.completions.create(**{**ask(), "model": "careful"})
    assert answer.choices[0].message.content == "I may not."
    assert not device.runs
    call = await api.logged(answer.toolway["calls"][0]["id"])
    assert "approval_unavailable" in json.dumps(call)


def test_the_api_lists_only_the_agent_of_a_bound_token(talking_gateway):
    """A token bound to an agent sees only that agent."""
    import httpx

    owner = {"Authorization": f"Bearer {talking_gateway.owner_token}"}
    with httpx.Client(base_url=talking_gateway.url, trust_env=False) as http:
        made = http.put("/api/agents/only", headers=owner, json={"prompt": "", "tools": ["*/*"]})
        assert made.status_code in (200, 201), made.text
        token = http.post("/api/tokens", headers=owner, json={"role": "client", "agent": "only"}).json()["token"]
        client = openai.OpenAI(base_url=f"{talking_gateway.url}/v1", api_key=token, max_retries=0)
        assert [model.id for model in client.models.list()] == ["only"]
        with pytest.raises(openai.PermissionDeniedError):
            client.chat.completions.create(**ask())


# The same through the official Node SDK.


async def node_case(api, case: str) -> None:
    """Runs a case of tests/node/openai_api.mjs."""
    await run_node("openai_api.mjs", case, API_URL=f"{api.gw.url}/v1", API_TOKEN=await api.client())


@pytest.mark.parametrize("case", ["models", "refused"])
async def test_node_reads_models_and_refusals(api, case):
    await node_case(api, case)


@pytest.mark.parametrize("case", ["whole", "stream"])
async def test_node_reads_an_answer_after_a_tool_of_a_device(api, battery, fakes, case):
    two_rounds(fakes, battery)
    await node_case(api, case)
    assert len(fakes.requests()) == 2


async def test_node_runs_tools_of_the_program(api, fakes):
    fakes.script(line(calls("weather", {"city": "Bonn"})), line(says("It rains in Bonn."), last_result="weather"))
    await node_case(api, "tools")


async def test_node_can_abort(api, fakes):
    answer = says("Once ")
    answer["steps"] += [{"gate": "never"}, {"text": "upon"}]
    fakes.answer(answer)
    await node_case(api, "abort")
    assert await asyncio.to_thread(fakes.ended, 0) == "dropped"


async def test_node_raises_an_error_within_the_stream(api, fakes):
    answer = says("half ")
    answer["steps"].append({"error": {"status": 500, "message": "so it is said"}})
    fakes.answer(answer)
    await node_case(api, "error")
