"""`toolway mcp` as started by a client: lines in, lines out, as in MCP's stdio transport. Knows only the
JSON-RPC envelope."""

import asyncio
import itertools
import json
import signal

from node_process import environment

#: Timeout for expected events, in seconds.
TIMEOUT = 20
#: Maximum length of a line, in bytes.
LONGEST = 64 << 20


class Stdio:
    """A running process."""

    def __init__(self, process):
        self.process, self.lines, self.errors = process, [], ""
        self._ids = itertools.count(1)
        self._changed = asyncio.Condition()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]

    @classmethod
    async def start(cls, command: list[str], **env: str) -> "Stdio":
        """Starts the process."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST, env=environment(**env)
        )
        return cls(process)

    async def _read(self):
        while line := await self.process.stdout.readline():
            async with self._changed:
                self.lines.append(line.decode())
                self._changed.notify_all()
        async with self._changed:
            self.lines.append(None)
            self._changed.notify_all()

    async def _read_errors(self):
        while line := await self.process.stderr.readline():
            self.errors += line.decode()

    async def say(self, message) -> None:
        """Writes one line: JSON, or text unchanged."""
        text = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(text.encode() + b"\n")
        await self.process.stdin.drain()

    async def request(self, method: str, params=None, id=None) -> int | str:
        """Sends a request and returns its id."""
        id = next(self._ids) if id is None else id
        await self.say({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})
        return id

    async def notify(self, method: str, params=None) -> None:
        """Sends a notification."""
        await self.say({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def line(self, fits) -> str:
        """Removes and returns the first line that matches."""

        def find():
            return next((i for i, line in enumerate(self.lines) if line is None or fits(json.loads(line))), None)

        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(lambda: find() is not None), TIMEOUT)
            line = self.lines[find()]
            if line is None:
                raise AssertionError(f"it ended\n{self.errors}")
            self.lines.remove(line)
            return line

    async def hear(self, **fields) -> dict:
        """Removes and returns the first message with these fields."""
        return json.loads(await self.line(lambda it: all(it.get(key) == value for key, value in fields.items())))

    async def ask(self, method: str, params=None) -> dict:
        """Sends a request and waits for the response."""
        return await self.hear(id=await self.request(method, params))

    async def initialize(self, version="2025-11-25", **capabilities) -> dict:
        """Runs the handshake."""
        info = {"name": "raw", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
        answer = await self.ask("initialize", params)
        assert "result" in answer, answer
        await self.notify("notifications/initialized")
        return answer["result"]

    def end_input(self) -> None:
        """Closes standard input."""
        self.process.stdin.close()

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    async def ended(self) -> int:
        """Waits for the end and returns the exit code. `lines` and `errors` then have the complete output."""
        code = await asyncio.wait_for(self.process.wait(), TIMEOUT)
        await asyncio.wait_for(asyncio.gather(*self._tasks), TIMEOUT)
        return code

    async def stop(self) -> None:
        """Kills the process if it still runs."""
        if self.process.returncode is None:
            self.process.kill()
        await self.ended()
