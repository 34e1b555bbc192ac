"""The fake model servers are honest: the official SDKs, pointed at them, read what the script says, and raise what
they raise for the real ones. Every other proof that rests on the fakes rests on this."""

import json

import anthropic
import httpx2
import openai
import pytest
from fake_models import MODEL, THINKER, calls, says
from google import genai
from google.genai import types

LAMP = {
    "type": "object",
    "properties": {"on": {"type": "boolean"}, "rooms": {"type": "array", "items": {"type": "string"}}},
    "required": ["on"],
}

#: A turn with all that an answer can have: thinking, text in pieces, two calls, one of them in fragments.
TURN = {
    "steps": [
        {"thinking": "Which "},
        {"thinking": "lamp?"},
        {"text": "One "},
        {"text": "mömént ✓"},
        {"tool_call": {"name": "lamp", "fragments": ['{"on": tr', 'ue, "rooms": ["Küche"', "]}"]}},
        {"tool_call": {"name": "lamp", "arguments": {"on": False}}},
    ],
    "usage": {"input": 100, "output": 40, "cached": 60, "reasoning": 10},
}
ARGUMENTS = [{"on": True, "rooms": ["Küche"]}, {"on": False}]


class Read:
    """An answer as an SDK parses it."""

    def __init__(self, text="", thinking="", calls=(), usage=None, finish=None):
        self.text, self.thinking, self.calls, self.usage, self.finish = text, thinking, list(calls), usage, finish


class OpenAiChat:
    """`openai.chat.completions`."""

    finish, shows_thinking = {"calls": "tool_calls", "stop": "stop", "length": "length"}, False
    errors = {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        404: openai.NotFoundError,
        429: openai.RateLimitError,
        500: openai.InternalServerError,
    }
    broken = (openai.APIError, httpx2.HTTPError)

    def __init__(self, fakes, key=None):
        self.client = openai.OpenAI(base_url=fakes.base_urls["openai"], api_key=key or fakes.key, max_retries=0)

    @staticmethod
    def body(model, prompt="hi"):
        tool = {"type": "function", "function": {"name": "lamp", "description": "A lamp", "parameters": LAMP}}
        return {"model": model, "messages": [{"role": "user", "content": prompt}], "tools": [tool]}

    def whole(self, model=MODEL):
        answer = self.client.chat.completions.create(**self.body(model))
        message = answer.choices[0].message
        found = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        return Read(message.content, "", found, self.usage(answer.usage), answer.choices[0].finish_reason)

    def stream(self, model=MODEL):
        from openai.lib.streaming.chat import ChatCompletionStreamState

        state, text = ChatCompletionStreamState(), ""
        more = {"stream": True, "stream_options": {"include_usage": True}}
        for chunk in self.client.chat.completions.create(**self.body(model), **more):
            state.handle_chunk(chunk)
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
        answer = state.current_completion_snapshot
        message = answer.choices[0].message
        found = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
        assert text == (message.content or "")
        return Read(text, "", found, self.usage(answer.usage), answer.choices[0].finish_reason)

    @staticmethod
    def usage(usage):
        details = usage.completion_tokens_details
        return (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.prompt_tokens_details.cached_tokens,
            details.reasoning_tokens,
        )

    def models(self):
        return [model.id for model in self.client.models.list()]


class OpenAiResponses(OpenAiChat):
    """`openai.responses`."""

    finish, shows_thinking = {"calls": "completed", "stop": "completed", "length": "incomplete"}, True

    @staticmethod
    def body(model, prompt="hi"):
        tool = {"type": "function", "name": "lamp", "description": "A lamp", "parameters": LAMP, "strict": False}
        return {
            "model": model,
            "input": [{"role": "user", "content": prompt}],
            "tools": [tool],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    @staticmethod
    def read(answer):
        thinking = "".join(part.text for item in answer.output if item.type == "reasoning" for part in item.summary)
        found = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
        usage = answer.usage
        return Read(
            answer.output_text,
            thinking,
            found,
            (
                usage.input_tokens,
                usage.output_tokens,
                usage.input_tokens_details.cached_tokens,
                usage.output_tokens_details.reasoning_tokens,
            ),
            answer.status,
        )

    def whole(self, model=MODEL):
        return self.read(self.client.responses.create(**self.body(model)))

    def stream(self, model=MODEL):
        deltas, numbers = {}, []
        with self.client.responses.stream(**self.body(model)) as stream:
            for event in stream:
                numbers.append(event.sequence_number)
                if event.type.endswith(".delta"):
                    deltas[event.type] = deltas.get(event.type, "") + event.delta
                if event.type in ("response.incomplete", "response.completed"):
                    answer = event.response
        assert numbers == list(range(len(numbers)))
        read = self.read(answer)
        assert deltas.get("response.output_text.delta", "") == read.text
        assert deltas.get("response.reasoning_summary_text.delta", "") == read.thinking
        return read


class Anthropic:
    """`anthropic.messages`."""

    finish, shows_thinking = {"calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}, True
    errors = {
        400: anthropic.BadRequestError,
        401: anthropic.AuthenticationError,
        404: anthropic.NotFoundError,
        429: anthropic.RateLimitError,
        500: anthropic.InternalServerError,
    }
    broken = (anthropic.APIError, httpx2.HTTPError)

    def __init__(self, fakes, key=None):
        self.client = anthropic.Anthropic(
            base_url=fakes.base_urls["anthropic"], api_key=key or fakes.key, max_retries=0
        )

    @staticmethod
    def body(model, prompt="hi"):
        tool = {"name": "lamp", "description": "A lamp", "input_schema": LAMP}
        return {"model": model, "max_tokens": 4000, "messages": [{"role": "user", "content": prompt}], "tools": [tool]}

    @staticmethod
    def read(message):
        def joined(kind, field):
            return "".join(getattr(block, field) for block in message.content if block.type == kind)

        found = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
        usage = message.usage
        cached = usage.cache_read_input_tokens
        total = usage.input_tokens + cached + usage.cache_creation_input_tokens
        return Read(
            joined("text", "text"),
            joined("thinking", "thinking"),
            found,
            (total, usage.output_tokens, cached, usage.output_tokens_details.thinking_tokens),
            message.stop_reason,
        )

    def whole(self, model=MODEL):
        return self.read(self.client.messages.create(**self.body(model)))

    def stream(self, model=MODEL):
        with self.client.messages.stream(**self.body(model)) as stream:
            text = "".join(stream.text_stream)
            read = self.read(stream.get_final_message())
        assert text == read.text
        return read

    def models(self):
        return [model.id for model in self.client.models.list(limit=1)]


class Gemini:
    """`google.genai`."""

    finish, shows_thinking = {"calls": "STOP", "stop": "STOP", "length": "MAX_TOKENS"}, True
    errors = {
        400: genai.errors.ClientError,
        401: genai.errors.ClientError,
        404: genai.errors.ClientError,
        429: genai.errors.ClientError,
        500: genai.errors.ServerError,
    }
    broken = (genai.errors.APIError, genai.errors.UnknownApiResponseError, httpx2.HTTPError)

    def __init__(self, fakes, key=None):
        once = types.HttpRetryOptions(attempts=1)
        options = types.HttpOptions(base_url=fakes.base_urls["gemini"], retry_options=once)
        self.client = genai.Client(api_key=key or fakes.key, http_options=options)

    @staticmethod
    def config():
        declared = types.FunctionDeclaration(name="lamp", description="A lamp", parameters_json_schema=LAMP)
        return types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[declared])],
            thinking_config=types.ThinkingConfig(include_thoughts=True),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    @staticmethod
    def parts(answer):
        content = answer.candidates[0].content
        return (content and content.parts) or []

    def read(self, parts, usage, finish):
        text = "".join(part.text for part in parts if part.text and not part.thought)
        thinking = "".join(part.text for part in parts if part.text and part.thought)
        found = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
        written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        counts = (usage.prompt_token_count, written, usage.cached_content_token_count, usage.thoughts_token_count)
        return Read(text, thinking, found, counts, finish and finish.name)

    def whole(self, model=MODEL):
        answer = self.client.models.generate_content(model=model, contents="hi", config=self.config())
        return self.read(self.parts(answer), answer.usage_metadata, answer.candidates[0].finish_reason)

    def stream(self, model=MODEL):
        parts, usage, finish = [], None, None
        for chunk in self.client.models.generate_content_stream(model=model, contents="hi", config=self.config()):
            parts += self.parts(chunk)
            usage = chunk.usage_metadata or usage
            finish = chunk.candidates[0].finish_reason or finish
        return self.read(parts, usage, finish)

    def models(self):
        return [model.name.removeprefix("models/") for model in self.client.models.list(config={"page_size": 1})]


SDKS = [OpenAiChat, OpenAiResponses, Anthropic, Gemini]


@pytest.fixture(params=SDKS, ids=lambda sdk: sdk.__doc__.strip("`."))
def sdk(request, fakes):
    """An SDK configured for the fakes."""
    return request.param(fakes)


@pytest.fixture(params=["whole", "stream"])
def ask(request, sdk):
    """Sends requests with and without streaming."""
    return getattr(sdk, request.param)


def test_a_turn_matches_the_script(fakes, sdk, ask):
    fakes.answer(TURN)
    read = ask()
    assert read.text == "One mömént ✓"
    assert read.thinking == ("Which lamp?" if sdk.shows_thinking else "")
    assert read.calls == [("lamp", arguments) for arguments in ARGUMENTS]
    assert read.finish == sdk.finish["calls"]
    assert read.usage == (100, 40, 60, 10)


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_the_end_has_a_reason(fakes, sdk, ask, finish):
    fakes.answer(says("Once ", "upon", finish=finish))
    read = ask()
    assert (read.text, read.finish) == ("Once upon", sdk.finish[finish])


@pytest.mark.parametrize("status", [400, 404, 429, 500])
def test_failures_raise_the_exceptions_of_the_real_api(fakes, sdk, ask, status):
    fakes.answer({"failure": {"status": status, "message": "so it is said"}})
    with pytest.raises(sdk.errors[status]) as raised:
        ask()
    assert "so it is said" in str(raised.value)


def test_a_wrong_key_is_refused(fakes, sdk):
    fakes.answer(says("never"))
    with pytest.raises((sdk.errors[401], sdk.errors[400])) as raised:
        type(sdk)(fakes, key="wrong").whole()
    assert "key" in str(raised.value).lower()
    assert fakes.unused() == 1


def test_an_unknown_model_is_refused(fakes, sdk, ask):
    fakes.answer(says("never"))
    with pytest.raises(sdk.errors[404]) as raised:
        ask("no-such-model")
    assert "no-such-model" in str(raised.value)


def test_an_error_within_the_stream_is_detected(fakes, sdk):
    answer = says("half")
    answer["steps"].append({"error": {"status": 500, "message": "so it is said"}})
    fakes.answer(answer)
    if isinstance(sdk, OpenAiResponses):
        # This SDK hands the error on as an event.
        with sdk.client.responses.stream(**sdk.body(MODEL)) as stream:
            kinds = [event.type for event in stream]
        assert kinds[-2:] == ["error", "response.failed"]
        return
    with pytest.raises(sdk.broken) as raised:
        sdk.stream()
    assert "so it is said" in str(raised.value)


def test_a_cut_connection_is_detected(fakes, sdk):
    answer = says("half")
    answer["steps"].append("cut")
    fakes.answer(answer)
    with pytest.raises(sdk.broken):
        sdk.stream()
    assert fakes.ended(0) == "cut"


def test_the_models_are_listed_page_by_page(sdk):
    assert sdk.models() == [MODEL, THINKER]


# History, as each SDK's users send it back.


def test_openai_chat_accepts_its_history(fakes):
    sdk = OpenAiChat(fakes)
    fakes.answer(TURN, says("done"))
    body = sdk.body(MODEL)
    message = sdk.client.chat.completions.create(**body).choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "ok"} for call in message.tool_calls]
    history = [*body["messages"], message.model_dump(exclude={"annotations"}, exclude_none=True), *results]
    answer = sdk.client.chat.completions.create(**{**body, "messages": history})
    assert answer.choices[0].message.content == "done"
    seen = fakes.requests()[1]["said"]["messages"]
    assert [message["role"] for message in seen] == ["user", "assistant", "tool"]
    with pytest.raises(openai.BadRequestError, match="did not have response messages"):
        sdk.client.chat.completions.create(**{**body, "messages": history[:-1]})


def test_openai_responses_accepts_its_history_with_reasoning(fakes):
    sdk = OpenAiResponses(fakes)
    fakes.answer(TURN, says("done"))
    body = sdk.body(MODEL)
    turn = {**TURN, "steps": [TURN["steps"][0], *TURN["steps"][4:]]}
    fakes.answer(turn, says("done"))
    answer = sdk.client.responses.create(**body)
    items = [item.model_dump(exclude_none=True) for item in answer.output]
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
        for item in items
        if item["type"] == "function_call"
    ]
    assert sdk.client.responses.create(**{**body, "input": body["input"] + items + results}).output_text == "done"
    without = [item for item in items if item["type"] != "reasoning"]
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
        sdk.client.responses.create(**{**body, "input": body["input"] + without + results})


def test_anthropic_accepts_its_history_with_signatures(fakes):
    sdk = Anthropic(fakes)
    fakes.answer(TURN, says("done"))
    body = {**sdk.body(MODEL), "thinking": {"type": "enabled", "budget_tokens": 2000}}
    message = sdk.client.messages.create(**body)
    said = [block.model_dump(exclude_none=True) for block in message.content]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}
        for block in said
        if block["type"] == "tool_use"
    ]
    history = [*body["messages"], {"role": "assistant", "content": said}, {"role": "user", "content": results}]
    assert sdk.client.messages.create(**{**body, "messages": history}).content[0].text == "done"
    for change, complaint in (
        (lambda block: {**block, "signature": "made up"}, "Invalid `signature`"),
        (lambda block: None, "Expected `thinking`"),
    ):
        changed = [change(block) if block["type"] == "thinking" else block for block in said]
        history[1] = {"role": "assistant", "content": [block for block in changed if block]}
        with pytest.raises(anthropic.BadRequestError, match=complaint):
            sdk.client.messages.create(**{**body, "messages": history})


def test_gemini_accepts_its_history_with_signatures(fakes):
    sdk = Gemini(fakes)
    fakes.answer(TURN, says("done"))
    asked = types.Content(role="user", parts=[types.Part(text="hi")])
    answer = sdk.client.models.generate_content(model=THINKER, contents=[asked], config=sdk.config())
    said = answer.candidates[0].content
    results = types.Content(
        role="user",
        parts=[
            types.Part.from_function_response(name=part.function_call.name, response={"output": "ok"})
            for part in said.parts
            if part.function_call
        ],
    )

    def ask_again():
        again = sdk.client.models.generate_content(model=THINKER, contents=[asked, said, results], config=sdk.config())
        return again.text

    assert ask_again() == "done"
    signed = [part for part in said.parts if part.thought_signature]
    assert [bool(part.function_call) for part in signed] == [True]
    signed[0].thought_signature = b"made up"
    with pytest.raises(genai.errors.ClientError, match="Corrupted thought signature"):
        ask_again()
    signed[0].thought_signature = None
    with pytest.raises(genai.errors.ClientError, match="missing a thought_signature"):
        ask_again()


def test_a_call_without_arguments_and_an_empty_answer(fakes, sdk, ask):
    fakes.answer(calls("lamp", {}), {"steps": []})
    assert ask().calls == [("lamp", {})]
    assert not ask().text
