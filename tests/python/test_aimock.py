"""A mock of model providers that nobody here wrote (@copilotkit/aimock) with its faults switched on: whatever goes
wrong between the gateway and a model, a turn ends in a true outcome, and the session goes on."""

import asyncio
import contextlib
import json
import subprocess

import pytest
from conftest import PATIENT
from node_process import FOLDER, environment, node
from talking import KINDS, start_talking, turn
from toolway_client import Socket, tool

#: Where each kind's API is.
BASES = {"anthropic": "", "gemini": ""}
TURNS = 8
#: Longer than all attempts at a request together, with the waits between them.
TURN_LIMIT = 120


@contextlib.contextmanager
def aimock(seed: int, tool_name: str):
    """Starts the mock; returns its address and the final text of its model."""
    with subprocess.Popen(
        [node(), "aimock.mjs", str(seed), tool_name],
        cwd=FOLDER,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            ready = json.loads(process.stdout.readline())
            yield ready["url"], ready["text"]
        finally:
            process.stdin.close()
            process.wait(10)


@pytest.fixture(scope="module")
def mocks():
    """A mock for each kind, each with its own seed."""
    with contextlib.ExitStack() as stack:
        yield {kind: stack.enter_context(aimock(number, "phone__battery")) for number, kind in enumerate(KINDS, 1)}


@pytest.fixture(scope="module")
def gateway(gateway_dir, mocks):
    """A gateway with an agent for each kind."""
    models = [
        {"name": kind, "kind": kind, "base_url": url + BASES.get(kind, "/v1"), "model": "mock-model"}
        for kind, (url, _) in mocks.items()
    ]
    gateway = start_talking(gateway_dir / "aimock", models, "mock", {"limits": PATIENT})
    yield gateway
    gateway.kill()


@pytest.fixture(scope="module")
def phones_token():
    """The token of the device, created once, so that every test uses the same device."""
    return []


@pytest.fixture
async def there(net, gateway, phones_token):
    """That gateway, with the device that has the tool and an agent for each kind."""
    here = net.on(gateway)
    if not phones_token:
        phones_token.append(await here.pair("device"))
    await here.v2([tool("battery")], token=phones_token[0], name="phone", handler=lambda _: "81 percent")
    for kind in KINDS:
        body = {"prompt": "", "model": f"{kind}/mock-model", "tools": ["phone/*"]}
        response = await here.rest().request("PUT", f"/api/agents/{kind}", json=body)
        assert response.status_code in (200, 201), response.text
    return here


async def chat(here, kind: str) -> Socket:
    """A session with the agent of that kind."""
    socket = await here.socket("/ws/chat", await here.client(), protocols=("toolway.v2",), query={"persona": kind})
    await socket.expect("session_start")
    return socket


def check_true(ended, text: str, is_first: bool = False) -> str:
    """What the turn says of itself must be so; gives how it ended. In a later turn the mock may take the result of an
    earlier one that failed for that of its own call, and call nothing."""
    if ended.end["type"] == "done":
        assert ended.end["full_response"] == ended.shown, (ended.end, ended.shown)
        assert ended.shown.strip() == text, ended.shown
        results = [result["output"] for result in ended.of("tool_result")]
        assert results == ["81 percent"] or (not results and not is_first), results
    else:
        assert ended.end["type"] == "error", ended.end
        assert ended.end["code"] == "PROVIDER_ERROR", ended.end
        assert ended.end["message"].strip(), ended.end
    return ended.end["type"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_without_faults(there, mocks, kind):
    socket = await chat(there, kind)
    ended = await turn(socket, "calm")
    assert check_true(ended, mocks[kind][1], is_first=True) == "done", ended.end


async def test_random_faults_always_end_in_a_correct_outcome(there, mocks):
    async def suffer(kind: str) -> list[str]:
        socket = await chat(there, kind)
        text = mocks[kind][1]
        ends = [check_true(await turn(socket, "chaos", TURN_LIMIT), text) for _ in range(TURNS)]
        # Whatever happened before, the session goes on.
        assert check_true(await turn(socket, "calm"), text) == "done"
        return ends

    ends = await asyncio.gather(*(suffer(kind) for kind in KINDS))
    # Requests are tried again, so that most turns come through.
    came_through = sum(each == "done" for of_kind in ends for each in of_kind)
    assert came_through >= len(KINDS) * TURNS / 2, ends


@pytest.mark.parametrize("kind", KINDS)
async def test_a_truncated_answer_is_not_reported_as_complete_m12(there, mocks, kind):
    socket = await chat(there, kind)
    ended = await turn(socket, "truncated")
    assert ended.end["type"] == "error", ended.end
    assert ended.end["code"] == "PROVIDER_ERROR"
    # With some kinds no text is among the first three chunks.
    assert mocks[kind][1].startswith(ended.shown.strip()), ended.shown
    assert check_true(await turn(socket, "calm"), mocks[kind][1]) == "done"
