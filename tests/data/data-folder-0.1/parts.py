"""What make.py uses: the gateway as a process, its sockets, an authorization server and an MCP server that wants it."""

import asyncio
import base64
import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import ConnectionClosed

WAIT = 20.0


class Gateway:
    """The program under a data folder."""

    def __init__(self, program, data, env):
        self.program, self.data, self.env = program, data, env
        self.process, self.url = None, ""

    def run(self, *args, stdin=None, fails=False):
        """A command of the program; gives what it prints."""
        command = [self.program, "--data-dir", str(self.data), *args]
        done = subprocess.run(
            command, input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL, env=self.env, text=True,
            capture_output=True, timeout=60, check=False,
        )
        if done.returncode and not fails:
            raise AssertionError(f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def start(self, *args):
        """Starts it, and waits until it is ready."""
        command = [self.program, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(self.data), "--json", *args]
        log = open(self.data.parent / "gateway.log", "ab")
        self.process = subprocess.Popen(
            command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
        log.close()
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("event") == "ready":
                self.url = event["url"].rstrip("/")
                break
        else:
            raise AssertionError("not ready: " + (self.data.parent / "gateway.log").read_text()[-3000:])
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return self

    def stop(self):
        """Stops it as a person does."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        assert code == 0, code

    def kill(self):
        """Ends it in the middle of everything."""
        self.process.kill()
        self.process.wait(10)

    @property
    def owner(self):
        """The owner's token."""
        return (self.data / "owner.token").read_text().strip()

    def rest(self, method, path, body=None, token=None, good=True, **more):
        """A request; gives the JSON of the answer."""
        headers = {"Authorization": f"Bearer {token or self.owner}", **more.pop("headers", {})}
        if body is not None:
            more["json"] = body
        answer = httpx.request(method, self.url + path, headers=headers, timeout=60, trust_env=False, **more)
        assert not good or answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def call(self, name, args=None, token=None, **more):
        """Calls a tool over REST."""
        return self.rest("POST", f"/api/tools/{name}/call", {"args": args or {}, **more}, token)

    async def acall(self, name, args=None, token=None, **more):
        """The same beside other things."""
        return await asyncio.to_thread(self.call, name, args, token, **more)


class Socket:
    """A WebSocket of a device or a chat client."""

    def __init__(self, ws, handler):
        self.ws, self.handler, self.history, self.taken, self.gone = ws, handler, [], 0, False
        self.changed = asyncio.Condition()
        self.tasks = {asyncio.create_task(self._read())}

    @classmethod
    async def open(cls, gateway, path, token, handler=None, v1=False, **query):
        """Upgrades; `v1` offers no subprotocol."""
        address = "ws" + gateway.url.removeprefix("http") + path + (f"?{urlencode(query)}" if query else "")
        ws = await ws_connect(
            address, additional_headers={"Authorization": f"Bearer {token}"}, max_size=None, proxy=None,
            subprotocols=None if v1 else ["toolway.v2"], close_timeout=2,
        )
        return cls(ws, handler)

    async def _read(self):
        try:
            async for text in self.ws:
                frame = json.loads(text)
                if frame["type"] == "tool_call_request" and self.handler:
                    task = asyncio.create_task(self._run(frame))
                    self.tasks.add(task)
                async with self.changed:
                    self.history.append(frame)
                    self.changed.notify_all()
        except ConnectionClosed:
            pass
        self.gone = True
        async with self.changed:
            self.changed.notify_all()

    async def _run(self, request):
        answer = await self.handler(self, request)
        if answer is not None:
            await self.send({"type": "tool_result", "id": request["id"], **answer})

    async def send(self, frame):
        """Sends a message."""
        await self.ws.send(json.dumps(frame))

    async def expect(self, *kinds, since=0, **fields):
        """The first message of one of these types, from that place in the history on."""

        def found():
            for frame in self.history[since:]:
                if frame["type"] in kinds and all(frame.get(key) == value for key, value in fields.items()):
                    return frame
            return None

        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: found() or self.gone), WAIT)
        assert found(), (kinds, fields, self.history[-5:])
        return found()

    async def connect(self, **fields):
        """Says who this is."""
        await self.send({"type": "connect", "v": 2, **fields})
        return await self.expect("connected")

    async def register(self, tools, **more):
        """Registers tools."""
        here = len(self.history)
        await self.send({"type": "register_tools", "tools": tools, **more})
        return await self.expect("tools_registered", since=here)

    async def call(self, name, args=None, **more):
        """Calls a tool; gives the outcome."""
        mine = uuid.uuid4().hex
        await self.send({"type": "call_tool", "id": mine, "name": name, "args": args or {}, **more})
        return await self.expect("call_result", id=mine)

    async def say(self, content="", wait=("done", "aborted", "error"), **more):
        """Says something; gives the end of the turn."""
        here = len(self.history)
        kind = {"type": "message", "content": content} if content else {"type": "regenerate"}
        await self.send({**kind, **more})
        return await self.expect(*wait, since=here)

    async def close(self):
        """Says goodbye."""
        await self.ws.close()


class Http:
    """Answers on a port of its own until it is stopped."""

    def __init__(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                url = urlsplit(self.path)
                status, headers, text = outer.respond(
                    self.command, url.path, dict(parse_qsl(url.query)), self.headers, body
                )
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(text.encode()))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = do_DELETE = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()


def document(value, status=200):
    """An answer in JSON."""
    return status, {"content-type": "application/json"}, json.dumps(value)


class Issuer(Http):
    """An authorization server."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.codes, self.refresh, self.access = {}, {}, set()
        super().__init__()

    def token(self, audience, scope):
        """An access token of Ada's."""
        now = int(time.time())
        claims = {"iss": self.url, "sub": "ada", "aud": audience, "iat": now, "exp": now + 600, "scope": scope}
        return jwt.encode(claims, self.key, algorithm="ES256", headers={"kid": "one", "typ": "at+jwt"})

    def respond(self, method, path, query, headers, body):
        """What it answers."""
        if path == "/.well-known/oauth-authorization-server":
            at = {name: f"{self.url}/{path}" for name, path in {
                "authorization_endpoint": "authorize", "token_endpoint": "token",
                "registration_endpoint": "register", "jwks_uri": "keys",
            }.items()}
            return document({
                "issuer": self.url, **at, "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            })
        if path == "/keys":
            jwk = ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
            return document({"keys": [{**jwk, "kid": "one", "alg": "ES256", "use": "sig"}]})
        if path == "/register":
            return document({"client_id": "client-1"}, 201)
        if path == "/authorize":
            code = uuid.uuid4().hex
            self.codes[code] = query
            back = urlencode({"code": code, "state": query["state"]})
            return 302, {"location": f"{query['redirect_uri']}?{back}"}, ""
        if path == "/token":
            form = {name: values[0] for name, values in parse_qs(body).items()}
            if form["grant_type"] == "authorization_code":
                asked = self.codes.pop(form["code"])
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                assert asked["code_challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
            access, refresh = uuid.uuid4().hex, uuid.uuid4().hex
            self.access.add(access)
            return document({
                "access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
            })
        return 404, {}, ""


class Guarded(Http):
    """An MCP server with one tool, for those whom the issuer gave a token."""

    def __init__(self, issuer):
        self.issuer = issuer
        super().__init__()

    def respond(self, method, path, query, headers, body):
        """What it answers."""
        if path == "/.well-known/oauth-protected-resource/mcp":
            return document({"resource": f"{self.url}/mcp", "authorization_servers": [self.issuer.url]})
        if path != "/mcp":
            return 404, {}, ""
        if (headers.get("authorization") or "").removeprefix("Bearer ") not in self.issuer.access:
            place = f"{self.url}/.well-known/oauth-protected-resource/mcp"
            return 401, {"www-authenticate": f'Bearer resource_metadata="{place}"'}, ""
        if method != "POST":
            return 405, {}, ""
        asked = json.loads(body)
        if "id" not in asked:
            return 202, {}, ""
        answer = {"jsonrpc": "2.0", "id": asked["id"]}
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "tell", "description": "Tells", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "told"}]},
        }
        if asked["method"] in results:
            return document({**answer, "result": results[asked["method"]]})
        return document({**answer, "error": {"code": -32601, "message": "method not found"}})


class Models:
    """The fake model servers."""

    def __init__(self, program, env):
        self.process = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env)
        ready = json.loads(self.process.stdout.readline())
        self.key, self.base, self.control = ready["key"], ready["base_urls"], ready["url"]

    def script(self, *lines):
        """Says what is answered; titles and whatever else is asked have an answer always."""
        title = {"when": {"system_has": "conversations their titles"}, "times": 0,
                 "answer": {"steps": [{"text": "What the kitchen has"}], "usage": {"input": 40, "output": 4}}}
        rest = {"times": 0, "answer": {"steps": [{"text": "They spoke of the kitchen at length."}]}}
        body = {"lines": [title, *lines, rest]}
        httpx.put(self.control + "/control/script", json=body, trust_env=False).raise_for_status()

    def reached(self, gate):
        """Waits until an answer has come to a gate."""
        httpx.get(f"{self.control}/control/gates/{gate}/reached?count=1", timeout=WAIT, trust_env=False)


def mcp(gateway, token, name, args, path="/mcp"):
    """Calls a tool as an MCP client does."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}

    def ask(**message):
        answer = httpx.post(gateway.url + path, json={"jsonrpc": "2.0", **message}, headers=headers, timeout=60,
                            trust_env=False)
        assert answer.status_code < 300, (answer.status_code, answer.text)
        if session := answer.headers.get("mcp-session-id"):
            headers["Mcp-Session-Id"] = session
        lines = answer.text.splitlines() if "event-stream" in answer.headers.get("content-type", "") else [
            "data:" + answer.text]
        found = [json.loads(line[5:]) for line in lines if line.startswith("data:") and line[5:].strip()]
        return next((each for each in found if each.get("id") == message.get("id")), None)

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "made", "version": "1"}}
    ask(id=1, method="initialize", params=hello)
    headers["MCP-Protocol-Version"] = "2025-11-25"
    ask(method="notifications/initialized")
    return ask(id=2, method="tools/call", params={"name": name, "arguments": args})


def spawn(command, env, **more):
    """A program that prints a line when it is ready; gives it with that line."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env, **more)
    return process, process.stdout.readline().strip()


def typed(command, env, lines):
    """A program at a terminal, to which lines are typed, each once the program has answered the one before."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, {**env, "TERM": "xterm"})
    seen = b""

    def until_quiet():
        nonlocal seen
        while select.select([terminal], [], [], 1.5)[0]:
            try:
                part = os.read(terminal, 4096)
            except OSError:
                return
            if not part:
                return
            seen += part

    until_quiet()
    for line in lines:
        os.write(terminal, line.encode() + b"\r")
        until_quiet()
    for _ in range(50):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return seen.decode(errors="replace")
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError("did not end: " + seen.decode(errors="replace")[-500:])
