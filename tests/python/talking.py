"""Gateways whose agents talk to fake or foreign model servers."""

import asyncio
import json
from pathlib import Path

from fake_models import MODEL, FakeModels
from gateway_process import Gateway
from toolway_client import Socket

#: The kinds of model providers.
KINDS = ("openai", "openai-responses", "anthropic", "gemini", "compatible")


def models_toml(*models: dict) -> str:
    """Formats a `models.toml` with these models."""

    def value(item) -> str:
        if isinstance(item, dict):
            return "{ " + ", ".join(f"{key} = {value(each)}" for key, each in item.items()) + " }"
        return json.dumps(item)

    tables = ("".join(f"{key} = {value(each)}\n" for key, each in model.items()) for model in models)
    return "\n".join("[[model]]\n" + table for table in tables)


def start_talking(folder: Path, models: list[dict], key: str, settings: dict | None = None) -> Gateway:
    """Starts a gateway whose agents may use these models; all have this key. Titles are disabled, because
    each would be an additional request."""
    settings = {**(settings or {}), "chat": {"generate_titles": False, **(settings or {}).get("chat", {})}}
    gateway = Gateway(folder, settings)
    kept = folder / "model.key"
    kept.write_text(key)
    kept.chmod(0o600)
    entries = [{"key": {"file": str(kept)}, **model} for model in models]
    (folder / "models.toml").write_text(models_toml(*entries))
    return gateway.start()


def fake_entries(servers: FakeModels) -> list[dict]:
    """Returns a model of each kind on the fake servers, named after its kind. The first is the default model."""
    return [{"name": kind, "kind": kind, "base_url": servers.base_urls[kind], "model": MODEL} for kind in KINDS]


class Turn:
    """A turn as seen by a client of `/ws/chat`."""

    def __init__(self, frames: list[dict]):
        self.frames = frames

    @property
    def end(self) -> dict:
        """Returns the last message: `done`, `aborted` or `error`."""
        return self.frames[-1]

    @property
    def shown(self) -> str:
        """Returns the text that the client shows at the end."""
        text = ""
        for frame in self.frames:
            if frame["type"] == "chunk":
                text += frame["content"]
            elif frame["type"] == "chunk_reset":
                text = ""
        return text

    def of(self, kind: str) -> list[dict]:
        """Returns its frames of this type."""
        return [frame for frame in self.frames if frame["type"] == kind]


async def turn(socket: Socket, text: str, timeout: float = 30) -> Turn:
    """Sends a message and waits for the end of the turn."""
    start = len(socket.history)

    def frames() -> list[dict] | None:
        of_turn = socket.history[start:]
        for index, frame in enumerate(of_turn):
            if frame["type"] in ("done", "aborted", "error"):
                return of_turn[: index + 1]
        return None

    await socket.send({"type": "message", "content": text})
    return Turn(await eventually_there(socket, frames, timeout))


async def eventually_there(socket: Socket, look, timeout: float):
    """Waits for a condition on a socket's frames."""
    async with socket._changed:
        await asyncio.wait_for(socket._changed.wait_for(lambda: look() is not None or socket.gone), timeout)
    found = look()
    assert found is not None, f"the socket was closed: {socket.close_code} {socket.close_reason!r}"
    return found
