"""Starts the fake model servers (tests/fake-models) as a process and tells them what to answer.

A script is a list of lines `{"when": …, "times": …, "answer": …}`; see the documentation of the crate.
"""

import json
import os
import subprocess
from pathlib import Path

import httpx
from gateway_process import REPOSITORY

MODEL, THINKER = "fake-model", "fake-thinker"


def binary() -> str:
    """Returns the path of the program: next to the gateway under test, or in the debug folder of the checkout."""
    target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    return str(Path(target) / "debug" / "fake-models")


def line(answer: dict, times: int = 1, **when) -> dict:
    """Creates a line of a script."""
    return {"when": when, "times": times, "answer": answer}


def says(*deltas: str, **more) -> dict:
    """Creates an answer of text, with one delta for each of these."""
    return {"steps": [{"text": delta} for delta in deltas], **more}


def calls(name: str, arguments: dict, **more) -> dict:
    """Creates an answer with one tool call."""
    return {"steps": [{"tool_call": {"name": name, "arguments": arguments}}], **more}


class FakeModels:
    """The process and its control routes."""

    def __init__(self):
        self.process = subprocess.Popen([binary()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.process.stdout.readline())
        self.url, self.key, self.base_urls = ready["url"], ready["key"], ready["base_urls"]
        self.http = httpx.Client(base_url=self.url, timeout=30, trust_env=False)

    def script(self, *lines: dict, **more) -> None:
        """Replaces the whole script and forgets the requests."""
        self._ask("PUT", "/control/script", {"lines": list(lines), **more})

    def answer(self, *answers: dict) -> None:
        """Replaces the whole script with answers for the next requests."""
        self.script(*(line(answer) for answer in answers))

    def requests(self) -> list[dict]:
        """Returns the requests to models so far."""
        return self._ask("GET", "/control/requests")

    def unused(self) -> int:
        """Returns the number of unused lines for single requests."""
        return self._ask("GET", "/control/unused")

    def ended(self, number: int) -> str:
        """Returns how the answer to that request ended: complete, cut or dropped."""
        return self._ask("GET", f"/control/requests/{number}/end")

    def open(self, gate: str) -> None:
        """Opens a gate."""
        self._ask("POST", f"/control/gates/{gate}/open")

    def reached(self, gate: str, count: int = 1) -> None:
        """Waits until this number of answers have reached a gate."""
        self._ask("GET", f"/control/gates/{gate}/reached?count={count}")

    def stop(self) -> None:
        """Stops the process."""
        self.http.close()
        self.process.kill()
        self.process.wait(10)

    def _ask(self, method: str, path: str, body=None):
        response = self.http.request(method, path, json=body)
        assert response.status_code == 200, (response.status_code, response.text)
        return response.json()
