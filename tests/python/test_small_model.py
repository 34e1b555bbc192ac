"""A real model, if a small one (SmolLM2 with 135 million parameters), through `compatible`: a check of the wire and
not of what it says. Skipped where `make test-small-model` has not built it."""

import json
import os
import subprocess
from pathlib import Path

import openai
import pytest
from conftest import PATIENT
from talking import start_talking

#: What it takes on a slow machine to read a prompt and write a few tokens.
TIMEOUT = 300
LAMP = {
    "type": "function",
    "function": {
        "name": "lamp",
        "description": "Switches the lamp",
        "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
    },
}


@pytest.fixture(scope="module")
def small_model():
    """Starts the model's server; returns its address and the model's id."""
    venv = os.environ.get("TOOLWAY_SMALL_MODEL_VENV")
    if not venv:
        pytest.skip("the small model is built and tested by make test-small-model")
    command = [Path(venv) / "bin" / "python", Path(__file__).with_name("small_model_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        ready = json.loads(process.stdout.readline())
        yield ready["url"], ready["model"]
        process.stdin.close()


@pytest.fixture(scope="module")
def gateway(gateway_dir, small_model):
    """A gateway whose agent uses it."""
    url, model = small_model
    entry = {"name": "small", "kind": "compatible", "base_url": url, "model": model}
    gateway = start_talking(gateway_dir / "small-model", [entry], "none", {"limits": PATIENT})
    yield gateway
    gateway.kill()


async def test_a_forced_tool_call_end_to_end(net, gateway):
    here = net.on(gateway)
    async with openai.AsyncOpenAI(
        base_url=f"{gateway.url}/v1", api_key=await here.client(), max_retries=0, timeout=TIMEOUT
    ) as client:
        answer = await client.chat.completions.create(
            model="default",
            messages=[{"role": "user", "content": "Switch the lamp on."}],
            tools=[LAMP],
            tool_choice={"type": "function", "function": {"name": "lamp"}},
            max_tokens=64,
        )
    [call] = answer.choices[0].message.tool_calls
    assert call.function.name == "lamp"
    assert isinstance(json.loads(call.function.arguments)["on"], bool)


async def test_the_gateways_model_test_reports_working_features(net, gateway):
    response = await net.on(gateway).rest().request("POST", "/api/models/small/test", json={}, timeout=TIMEOUT)
    assert response.status_code == 200, response.text
    assert response.json()
