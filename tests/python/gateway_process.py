"""Starts and stops a real gateway process for the tests.

`TOOLWAY_BIN` names the binary; without it the debug build of the checkout is taken.
"""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

REPOSITORY = Path(__file__).resolve().parents[2]


def binary() -> str:
    """Returns the path of the gateway under test."""
    named = os.environ.get("TOOLWAY_BIN")
    if named:
        return named
    target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    return str(Path(target) / "debug" / "toolway")


def to_toml(settings: dict) -> str:
    """Formats settings as TOML: scalars and lists first, then one table for each nested dict."""

    def value(item):
        # JSON's spelling of strings, numbers and booleans is valid TOML too.
        if isinstance(item, list):
            return "[" + ", ".join(value(each) for each in item) + "]"
        if isinstance(item, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in item.items()) + "}"
        return json.dumps(item)

    def table(prefix, items):
        lines = [f"[{prefix}]"] if prefix else []
        lines += [f"{json.dumps(k)} = {value(v)}" for k, v in items.items() if not isinstance(v, dict)]
        for key, nested in items.items():
            if isinstance(nested, dict):
                lines += table(f"{prefix}.{key}" if prefix else key, nested)
        return lines

    return "\n".join(table("", settings)) + "\n"


class Gateway:
    """One gateway process on a free port, with its own data folder."""

    def __init__(self, data_dir: Path, settings: dict | None = None, args: tuple = ()):
        self.data_dir = Path(data_dir)
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if settings:
            (self.data_dir / "toolway.toml").write_text(to_toml(settings))
        self.args = args
        self.process: subprocess.Popen | None = None
        self.url = ""
        self.stdout: list[str] = []

    def start(self, timeout: float = 30.0) -> "Gateway":
        """Starts the gateway and waits until it is ready."""
        # The tests' own variables, and a developer's, would be read as settings.
        env = {k: v for k, v in os.environ.items() if not k.startswith("TOOLWAY_")}
        log = open(self.data_dir.parent / f"{self.data_dir.name}.stderr", "ab")
        command = [binary(), "serve", "--listen", "127.0.0.1:0", "--data-dir", str(self.data_dir)]
        command += ["--no-local-device", "--json", *self.args]
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
        log.close()
        lines: queue.Queue = queue.Queue()

        def pump(stream):
            for line in stream:
                self.stdout.append(line)
                lines.put(line)
            lines.put(None)

        threading.Thread(target=pump, args=(self.process.stdout,), daemon=True).start()
        end = time.monotonic() + timeout
        while True:
            try:
                line = lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                self.kill()
                raise AssertionError(f"not ready in {timeout} s\n{self.log()}") from None
            if line is None:
                raise AssertionError(f"ended with {self.process.wait()} before it was ready\n{self.log()}")
            try:
                event = json.loads(line)
            except ValueError:
                raise AssertionError(f"--json printed a line that is not JSON: {line!r}") from None
            if event.get("event") == "ready":
                self.url = event["url"].rstrip("/")
                return self

    @property
    def ws_url(self) -> str:
        """Returns the gateway's address for WebSockets."""
        return "ws" + self.url.removeprefix("http")

    @property
    def address(self) -> tuple[str, int]:
        """Returns host and port."""
        parts = urlsplit(self.url)
        return parts.hostname, parts.port

    @property
    def owner_token(self) -> str:
        """Returns the owner's token from the data folder."""
        return (self.data_dir / "owner.token").read_text().strip()

    def rss_bytes(self) -> int:
        """Returns the resident memory of the process (Linux)."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def log(self) -> str:
        """Returns the end of the gateway's standard error."""
        return self.whole_log()[-8000:]

    def whole_log(self) -> str:
        """Returns all of the gateway's standard error."""
        path = self.data_dir.parent / f"{self.data_dir.name}.stderr"
        return path.read_text(errors="replace") if path.exists() else ""

    def terminate(self) -> None:
        """Requests a graceful shutdown without waiting."""
        self.process.send_signal(signal.SIGTERM)

    def stop(self, timeout: float = 20.0) -> int | None:
        """Shuts the gateway down and returns its exit code. Kills it if it does not end in time."""
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else None
        self.terminate()
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self) -> None:
        """Kills the process and waits for it."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
