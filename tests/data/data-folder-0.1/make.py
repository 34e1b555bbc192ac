"""Fills a data folder by real use, and writes down what the program that did it says of it: make.py TOOLWAY WORK OUT.

See README.md beside this file; make.sh starts it.
"""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import httpx
from parts import Gateway, Guarded, Http, Issuer, Models, Socket, mcp, spawn, typed

HERE = Path(__file__).resolve().parent
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
YEARS = 10 * 365 * 86400
#: What every call must be seen to end in, at least once.
CODES = {
    "tool_not_available", "invalid_arguments", "idempotency_conflict", "timeout", "no_progress", "denied",
    "denied_always", "approval_unavailable", "auth_required", "cancelled", "hook_cancelled", "device_disconnected",
    "gateway_restarted", "shutting_down", "tool_failed", "tool_panicked", "overloaded", "rate_limited",
    "output_too_large", "file_not_found", "http_status", "network",
}


def tool(name, properties=None, required=(), **more):
    """A tool's spec."""
    parameters = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "description": f"Does {name}", "parameters": parameters, **more}


NUMBER = {"n": {"type": "integer", "minimum": 0}}
READS = {"annotations": {"readOnlyHint": True, "openWorldHint": False, "title": "Reads"}}
TABLET = [
    tool("echo", NUMBER, title="Echo", output_schema={"type": "object"}, **READS),
    tool("picture", **READS),
    tool("slow"),
    tool("silent", progress_timeout_ms=300, timeout_ms=10_000),
    tool("hold", timeout_ms=600_000),
    tool("broken"),
    tool("crash"),
    tool("wants_app"),
    tool("gone"),
    tool("offline"),
    tool("huge"),
    tool("limited", NUMBER),
    tool("single", sequential=True),
    tool("unlock", {"pin": {"type": "string", "writeOnly": True}}, annotations={"destructiveHint": True}),
    tool("send_mail", {"to": {"type": "string"}}),
    tool("order", {"item": {"type": "string"}}),
    tool("locate", permissions=["device.location"]),
    tool("listen", permissions=["device.microphone"]),
    tool("camera", {"quality": {"enum": ["low", "high"]}}, permissions=["device.camera"]),
    tool("lamp", {"on": {"type": "boolean"}}),
    tool("cook_dish", {"dish": {"type": "string"}}, ["dish"]),
    tool("private"),
    tool("audited", {"password": {"type": "string"}}),
]
FAILURES = {
    "broken": {"error": "The oven is cold", "hint": "Heat it"},
    "crash": {"error": "index out of range", "code": "tool_panicked"},
    "wants_app": {"error": "Allow it in the app", "code": "auth_required", "hint": "Open Groceries",
                  "authorize_intent": {"action": "open", "package": "com.example.groceries"}},
    "gone": {"error": "File not found: recipe.txt", "code": "file_not_found"},
    "offline": {"error": "no route to host", "code": "network", "retryable": True},
}
SILENT = {"slow", "silent", "hold", "single"}


async def tablet(device, request):
    """What the tablet does."""
    name, args = request["name"], request["args"]
    if name in FAILURES:
        return {"type": "tool_error", "success": False, **FAILURES[name]}
    if name in SILENT:
        return None
    if name == "huge":
        return {"output": "x" * 100_000}
    if name == "picture":
        return {"output": "a picture", "content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}
    await device.send({"type": "tool_progress", "id": request["id"], "progress": 1, "total": 2, "message": "half"})
    return {"output": json.dumps(args), "structured": {"ran": name, "args": args}}


async def plain(_device, request):
    """What other devices do."""
    return {"output": "{} ran".format(request["name"])}


class Maker:
    """All of it, in order."""

    def __init__(self, program, work, out):
        self.program, self.out = program, out
        beside = str(Path(program).parent)
        self.env = {**os.environ, "PATH": f"{beside}:{os.environ['PATH']}", "WEATHER_KEY": "made-for-a-test",
                    "MODEL_KEY": "set below"}
        self.work, self.data = work, work / "data"
        Path(os.environ["HOME"]).mkdir(parents=True, exist_ok=True)
        self.data.mkdir(parents=True, mode=0o700)
        self.models = Models(f"{beside}/fake-models", self.env)
        self.env["MODEL_KEY"] = self.models.key
        self.issuer = Issuer()
        self.guarded = Guarded(self.issuer)
        self.fake_mcp = [
            spawn([f"{beside}/fake-mcp", "--http", "127.0.0.1:0", "--token", "made-for-a-test"], self.env),
            spawn([f"{beside}/fake-mcp", "--http", "127.0.0.1:0"], self.env),
        ]
        self.gw = Gateway(program, self.data, self.env)
        self.tokens, self.ids, self.answers = {}, {}, {}

    # What the owner does at the keyboard.

    def first_start(self):
        """Makes the database, the owner's token, and a key and certificate."""
        self.gw.start("--tls", "on", "--no-local-device")
        self.gw.stop()

    def files(self):
        """What the owner writes, and what commands write while nothing runs."""
        given = HERE / "given"
        shutil.copy(given / "toolway.toml", self.data)
        shutil.copytree(given / "agents", self.data / "agents")
        shutil.copytree(given / "own-files", self.data / "own-files")
        for path in [self.data / "toolway.toml", *self.data.glob("agents/*"), *self.data.glob("own-files/*")]:
            path.chmod(0o600)
        run = self.gw.run
        run("secrets", "set", "spare_key", stdin="made-for-a-test")
        run("tools", "add", str(given / "typed" / "disk_report.toml"))
        run("tools", "add", str(given / "typed" / "weather.toml"))
        prices = str(given / "typed" / "prices.toml")
        run("prices", "import", prices, "--source", "https://prices.example.org", "--date", "2026-11-01")
        key = self.models.key
        kinds = {"plain": "openai", "claude": "anthropic", "gem": "gemini", "think": "openai-responses",
                 "small": "compatible"}
        for name, kind in kinds.items():
            where = ("--key-env", "MODEL_KEY") if name in ("gem", "think") else ("--key-stdin",)
            run("models", "add", name, "--kind", kind, "--base-url", self.models.base[kind], "--model", "fake-model",
                "--header", "X-Title=kitchen", *where, stdin=key)
        with open(self.data / "models.toml", "a") as file:
            file.write("""
[model.models."fake-model"]
context_tokens = 2500
max_tools = 4
images = false

[model.switches]
stream_usage = true
max_tools = 16

[model.timeouts]
connect_s = 5
first_byte_s = 30
thinking_s = 120
between_s = 30

[model.retries]
attempts = 2
longest_wait_s = 3
first_wait_s = 0.1
""")
        run("mcp", "add", "helper", "--env", "LOG_LEVEL=debug", "--env", "API_TOKEN", "--sampling", "--roots",
            "--command", "fake-mcp", "--stdio", stdin="made-for-a-test")
        run("mcp", "add", "web", "--header", "Authorization", "--url", self.fake_mcp[0][1],
            stdin="Bearer made-for-a-test")
        run("mcp", "add", "guarded", "--url", f"{self.guarded.url}/mcp")
        with open(self.data / "mcp.toml", "a") as file:
            file.write("""
[servers.tracker]
url = "https://tracker.example.com/mcp"
transport = "sse"
disabled = true

[servers.tracker.oauth]
client_id = "3f0c"
client_secret = "secret:spare_key"
issuer = "https://login.example.com"
scopes = ["read"]
""")
        self.login()

    def login(self):
        """Signs in to the guarded MCP server, with a browser that says yes."""
        command = [self.program, "--data-dir", str(self.data), "mcp", "login", "guarded", "--no-browser"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.env)
        address = next(line.strip() for line in process.stderr if line.strip().startswith("http"))
        httpx.get(address, follow_redirects=True, trust_env=False)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0, out

    def start(self, *more):
        """Starts the gateway; the authorization server of its settings is the one here."""
        issuer = [("url", self.issuer.url), ("jwks_url", f"{self.issuer.url}/keys")]
        sets = [part for key, value in issuer for part in ("--set", f"mcp.issuer.{key}={value}")]
        self.gw.start(*sets, *more)

    # Tokens and devices.

    def people(self):
        """Tokens of every role, made and paired; one revoked, one expired, one that expires one day."""
        rest = self.gw.rest
        self.gw.run("tokens", "rotate-owner")

        def token(name, **body):
            made = rest("POST", "/api/tokens", {"label": name, **body})
            self.tokens[name], self.ids[name] = made["token"], made["id"]

        token("phone-script", role="client")
        token("bound", role="client", agent="cook", expires_in_s=YEARS)
        token("chat-app", role="companion")
        token("sensor-box", role="device")
        token("taken-back", role="client")
        token("short", role="client", expires_in_s=1)
        rest("DELETE", f"/api/tokens/{self.ids['taken-back']}")
        for role, name, about in [
            ("device", "Kitchen tablet", {"device_id": "5f0c", "platform": "Android 14"}),
            ("companion", "Pixel 8", {"device_id": "91ab", "platform": "Android 15"}),
            ("device", "Old phone", {"device_id": "77aa"}),
            ("client", "Desk", {}),
        ]:
            code = rest("POST", "/api/pair", {"role": role, "label": f"{name}, paired"})["code"]
            body = {"name": name, **about}
            answer = httpx.post(self.gw.url + "/pair", json=body, headers={"X-Pairing-Code": code}, trust_env=False)
            self.tokens[name] = answer.raise_for_status().json()["token"]
        rest("POST", "/api/pair", {"role": "companion"})
        time.sleep(1.1)
        answer = httpx.get(self.gw.url + "/api/tools", headers={"Authorization": f"Bearer {self.tokens['short']}"},
                           trust_env=False)
        assert answer.status_code == 401
        self.gw.run("mcp", "install", "--client", "desk", "--print", "--yes")

    async def devices(self):
        """Connects devices; one is removed again, one gets another name."""
        gw = self.gw
        self.tablet = await Socket.open(gw, "/ws/device", self.tokens["Kitchen tablet"], tablet)
        await self.tablet.connect(device_name="Kitchen tablet", device_id="5f0c", platform="Android 14",
                                  app_version="1.4.0", capabilities=["progress", "cancel"])
        await self.tablet.register(TABLET + [{"name": "no-schema", "parameters": 5}])
        old = await Socket.open(gw, "/ws/device", self.tokens["Old phone"], plain)
        await old.connect(device_name="Old phone", device_id="77aa", platform="Android 9")
        await old.register([tool("torch")])
        found = {each["name"]: each for each in gw.rest("GET", "/api/devices")["devices"]}
        gw.rest("DELETE", f"/api/devices/{found['Old phone']['id']}")
        box = await Socket.open(gw, "/ws/device", self.tokens["sensor-box"], plain)
        await box.connect(device_name="Sensor box", platform="Linux", app_version="0.1")
        await box.register([tool("sensor_heat", NUMBER, **READS), tool("sensor_light", **READS)])
        gw.rest("PATCH", f"/api/devices/{box.history[0]['source']}", {"name": "Sensors in the cellar"})
        self.box = box
        self.pixel = await Socket.open(gw, "/ws/chat", self.tokens["Pixel 8"], plain, session_id="pixel-talk")
        await self.pixel.connect(device_name="Pixel 8", device_id="91ab", platform="Android 15", app_version="2.0")
        await self.pixel.register([tool("battery", **READS), tool("locate_me")])
        self.v1 = await Socket.open(gw, "/ws/chat", self.tokens["chat-app"], plain, v1=True, name="Old chat app")
        await self.v1.send({"type": "register_tools", "tools": [tool("torch")]})
        await self.v1.expect("tools_registered")
        # The program itself as a device, with the owner's commands; it keeps what it needs under devices/.
        (self.work / "commands.toml").write_text(
            '[[tool]]\nname = "greet"\ndescription = "Greets"\nprogram = "echo"\nargs = ["hello"]\nread_only = true\n'
        )
        code = gw.rest("POST", "/api/pair", {"role": "device"})["code"]
        bench = subprocess.Popen(
            [self.program, "--data-dir", str(self.data), "device", "--gateway", gw.url, "--pair", code, "--name",
             "Workbench", "--tools", str(self.work / "commands.toml")],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await self.until(lambda: self.there("workbench__greet"))
        await gw.acall("workbench__greet")
        bench.terminate()
        bench.wait(10)

    def there(self, name):
        """Whether a tool is listed and can be called."""
        tools = self.gw.rest("GET", "/api/tools")["tools"]
        return any(each["name"] == name and each.get("status") == "ready" for each in tools)

    async def until(self, check):
        """Waits until something holds."""
        for _ in range(300):
            if await asyncio.to_thread(check):
                return
            await asyncio.sleep(0.1)
        raise AssertionError("it did not come to pass")

    # Rules, grants and questions.

    def rules(self):
        """Rules, grants, agents and an MCP server, all of them made over REST."""
        put, post = (lambda path, body: self.gw.rest("PUT", path, body)), (lambda p, b: self.gw.rest("POST", p, b))
        script = self.ids["phone-script"]
        put("/api/policy/rules/no-torch", {"rule": {
            "effect": "deny", "when": {"tools": ["*/torch"], "roles": ["client"], "principals": [script]}}})
        put("/api/policy/rules/gently", {"rule": {
            "effect": "allow", "calls_per_minute": 100, "calls_per_minute_per_tool": 50, "in_flight": 8,
            "when": {"tools": ["sensors/*"], "agents": ["night-*"], "read_only": True}}})
        put("/api/policy/rules/ask-first", {"before": 0, "rule": {
            "effect": "ask", "caller_may_answer": True,
            "when": {"tools": ["*/format_*"], "destructive": True, "open_world": False}}})
        put("/api/policy/rules/gone-again", {"rule": {"effect": "deny", "when": {"tools": ["*/nothing"]}}})
        self.gw.rest("DELETE", "/api/policy/rules/gone-again")
        put("/api/agents/cook", {
            "description": "Helps in the kitchen", "prompt": "You help in the kitchen.", "model": "plain/fake-model",
            "tools": ["kitchen-tablet/*", "builtin/*", "own/*", "!builtin/http_request"], "approval": "never",
            "max_tools": 30, "limits": {"rounds": 10, "cost": 1.5, "seconds": 300},
            "options": {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 1000, "seed": 7, "stop": ["END"],
                        "parallel_tool_calls": True, "extra": {"user": "ada"}}})
        put("/api/agents/night-shift", {"description": "Watches", "model": "gem/fake-thinker", "tools": ["*/*"],
                                        "options": {"reasoning": "low"}})
        put("/api/agents/thinker", {"model": "think/fake-thinker", "options": {"reasoning": "high"}})
        put("/api/agents/forgetful", {"model": "small/fake-model", "tools": []})
        put("/api/agents/refused", {"model": "plain/no-such-model"})
        put("/api/agents/for-a-while", {"description": "Is removed again"})
        self.gw.rest("DELETE", "/api/agents/for-a-while")
        put("/api/agents/default", {"description": "For everything", "model": "plain", "tools": ["*/*"],
                                    "options": {"temperature": 0.2}})
        post("/api/grants", {"tool": "kitchen-tablet/*", "principal": script, "permission": "device.calendar"})
        post("/api/grants", {"tool": "*/locate", "agent": "travel", "permission": "device.location",
                             "expires_in_s": YEARS})
        post("/api/grants", {"tool": "*/delete_*", "decision": "denied_always"})
        post("/api/grants", {"tool": "pixel-8/*", "principal": "owner", "decision": "granted"})
        post("/api/grants", {"tool": "*/send_fax", "agent": "cook", "decision": "denied_always"})
        short = post("/api/grants", {"tool": "*/short", "expires_in_s": 1})
        gone = post("/api/grants", {"tool": "*/taken_back"})
        self.gw.rest("DELETE", f"/api/grants/{gone['id']}")
        assert short
        put("/api/mcp/servers/over-rest", {"url": self.fake_mcp[1][1], "headers": {"X-Team": "blue"},
                                           "transport": "streamable-http", "sampling": True})
        put("/api/mcp/servers/off", {"url": "https://off.example.com/mcp", "disabled": True})
        put("/api/mcp/servers/removed", {"url": "https://removed.example.com/mcp", "disabled": True})
        self.gw.rest("DELETE", "/api/mcp/servers/removed")

    async def watch(self):
        """The owner, who answers what is asked as `answers` says, by the tool's name."""
        headers = {"Authorization": f"Bearer {self.gw.owner}", "Accept": "text/event-stream"}
        async with httpx.AsyncClient(timeout=None, trust_env=False) as http:
            async with http.stream("GET", self.gw.url + "/api/approvals/watch", headers=headers) as events:
                self.watching.set()
                event = ""
                async for line in events.aiter_lines():
                    if line.startswith("event:"):
                        event = line[6:].strip()
                    if line.startswith("data:") and event == "asked":
                        asked = json.loads(line[5:])
                        bare = asked["tool_id"].split("/")[1]
                        if answer := self.answers.get(bare):
                            await http.post(self.gw.url + f"/api/approvals/{asked['id']}", json=answer, headers={
                                "Authorization": f"Bearer {self.gw.owner}"})

    async def calls(self):
        """Calls of every outcome."""
        gw, script = self.gw, self.tokens["phone-script"]

        async def call(name, args=None, token=script, **more):
            return await gw.acall(f"kitchen-tablet__{name}", args, token, **more)

        await call("echo", {"n": 1})
        for token in (gw.owner, self.tokens["chat-app"], self.tokens["bound"]):
            await call("echo", {"n": 2}, token)
        await call("echo", {"n": 3}, idempotency_key="once")
        await call("echo", {"n": 3}, idempotency_key="once")
        await call("picture")
        await call("echo", {"n": -1})
        await gw.acall("no_such_tool", {}, script)
        for name in ("slow", "silent", "broken", "crash", "wants_app", "gone", "offline", "huge", "listen", "camera"):
            await call(name)
        # Nobody is there yet who could be asked.
        for name in ("unlock", "send_mail", "order", "locate"):
            await call(name, {"pin": "1234"} if name == "unlock" else {})
        for n in range(3):
            await call("limited", {"n": n})
        await asyncio.gather(*(call("single", timeout_ms=700) for _ in range(2)))
        await call("cook_dish", {"dish": "knife"})
        await call("cook_dish", {"dish": "cake"})
        await call("private")
        await call("audited", {"password": "made for a test"})
        await gw.acall("get_current_time", {"timezone": "UTC"}, script)
        await gw.acall("write_file", {"path": "notes.txt", "content": "Bread, salt.\n"}, gw.owner)
        await gw.acall("read_file", {"path": "notes.txt"}, gw.owner)
        await gw.acall("read_file", {"path": "no-such.txt"}, gw.owner)
        await gw.acall("read_file", {"path": "../owner.token"}, gw.owner)
        await gw.acall("http_request", {"url": f"{self.issuer.url}/keys"}, gw.owner)
        await gw.acall("http_request", {"url": "http://10.1.2.3/"}, gw.owner)
        failing = Failing()
        await gw.acall("http_request", {"url": failing.url}, gw.owner)
        failing.stop()
        await gw.acall("own__disk_report", {}, gw.owner)
        await gw.acall("own__countdown", {"from": 3}, gw.owner)
        await gw.acall("sensor-box__sensor_heat", {"n": 20}, script)
        await gw.acall("old-chat-app__torch", {}, script)
        await gw.acall("old-chat-app__torch", {}, gw.owner)
        await gw.acall("pixel-8__battery", {}, gw.owner)
        host = next(each for each in gw.rest("GET", "/api/tools")["tools"] if each["id"].endswith("/device_info"))
        await gw.acall(host["name"], {}, gw.owner)
        for name, tool_name in [("helper", "test_simple_text"), ("web", "test_structured"), ("over-rest", "greet"),
                                ("guarded", "tell")]:
            await self.until(lambda name=name, tool_name=tool_name: self.there(f"{name}__{tool_name}"))
        await gw.acall("helper__test_simple_text", {}, script)
        await gw.acall("web__test_structured", {"a": 1, "b": 2}, script)
        await gw.acall("over-rest__greet", {"name": "Ada"}, script)
        await gw.acall("over-rest__test_error_handling", {}, script)
        await gw.acall("guarded__tell", {}, script)
        await asyncio.to_thread(mcp, gw, script, "kitchen-tablet__echo", {"n": 5})
        await asyncio.to_thread(mcp, gw, script, "echo", {"n": 6}, "/mcp/sources/kitchen-tablet")
        let_in = self.issuer.token("https://tools.example.org/mcp", "toolway")
        await asyncio.to_thread(mcp, gw, let_in, "kitchen-tablet__echo", {"n": 7})
        # Over a WebSocket: a conflict of keys, one that is given up, one whose device goes.
        caller = await Socket.open(gw, "/ws/chat", script, session_id="calls-only")
        await caller.connect(device_name="Script")
        await caller.call("kitchen-tablet__echo", {"n": 8}, idempotency_key="twice")
        await caller.call("kitchen-tablet__echo", {"n": 9}, idempotency_key="twice")
        await caller.send({"type": "call_tool", "id": "given-up", "name": "kitchen-tablet__hold"})
        await self.tablet.expect("tool_call_request", name="hold")
        await caller.send({"type": "cancel_call", "id": "given-up"})
        await caller.expect("call_result", id="given-up")
        # From here on the owner is there and answers.
        self.watching = asyncio.Event()
        self.answers = {
            "unlock": {"decision": "granted", "scope": "once"},
            "send_mail": {"decision": "granted", "scope": "always"},
            "order": {"decision": "denied", "scope": "once"},
            "locate": {"decision": "denied_always", "scope": "always"},
            "lamp": {"decision": "granted", "scope": "once"},
        }
        watcher = asyncio.create_task(self.watch())
        await self.watching.wait()
        for name in ("unlock", "send_mail", "order", "locate", "send_mail", "locate"):
            await call(name, {"pin": "1234"} if name == "unlock" else {})
        # The caller answers for itself, for its conversation.
        self.answers.pop("unlock")
        await caller.send({"type": "call_tool", "id": "mine", "name": "kitchen-tablet__unlock", "args": {"pin": "9"}})
        asked = await caller.expect("permission_request")
        await caller.send({"type": "permission_answer", "id": asked["id"], "decision": "granted", "scope": "session"})
        await caller.expect("call_result", id="mine")
        await caller.call("kitchen-tablet__unlock", {"pin": "8"})
        # Specs change: one is accepted, one is not and waits.
        changed = [dict(each) for each in TABLET]
        for each in changed:
            if each["name"] in ("lamp", "camera", "picture"):
                each["description"] += ", and more than before"
        await self.tablet.register(changed)
        gw.rest("POST", "/api/tools/kitchen-tablet__picture/accept", {})
        await call("lamp", {"on": True})
        self.watcher = watcher
        await caller.close()

    # Conversations.

    async def talks(self):
        """Conversations with models of every kind, and every way in which a turn can end."""
        gw, models = self.gw, self.models

        async def chat(content, **body):
            return await asyncio.to_thread(gw.rest, "POST", "/api/chat", {"content": content, "stream": False, **body})

        def line(answer, times=0, **when):
            return {"when": when, "times": times, "answer": answer}

        def calls(name, arguments, *before, **more):
            call = {"tool_call": {"name": name, "arguments": arguments}}
            return {"steps": [*before, call], "usage": {"input": 900, "output": 40, "cached": 500}, **more}

        done = {"steps": [{"text": "It is "}, {"text": "**done**."}], "usage": {"input": 1000, "output": 20}}
        # With tools of the tablet and the gateway, a question that the owner answers for the agent.
        self.answers["send_mail"] = {"decision": "granted", "scope": "agent"}
        models.script(
            line(calls("kitchen-tablet__echo", {"n": 11}, {"text": "One moment. "}), rounds=0, user_has="fridge"),
            line(calls("kitchen-tablet__send_mail", {"to": "bob"}), rounds=1, user_has="fridge"),
            line(calls("kitchen-tablet__broken", {}), rounds=2, user_has="fridge"),
            line(calls("write_file", {"path": "list.txt", "content": "Milk\n"}), rounds=3, user_has="fridge"),
            line(done, user_has="fridge"))
        await chat("What is in the fridge?", session_id="kitchen", agent="cook")
        await chat("And a picture", session_id="kitchen", attachments=[
            {"type": "image", "data": PNG, "mimeType": "image/png"}, {"type": "text", "text": "A text beside it"}])
        # Thinking that goes back signed.
        think = {"thinking": "The tablet should know."}
        for agent, session in [("travel", "journey"), ("night-shift", "night"), ("thinker", "deep")]:
            models.script(
                line(calls("kitchen-tablet__echo", {"n": 12}, think), rounds=0, user_has="Where"),
                line({"steps": [think, {"text": "North."}], "usage": {
                    "input": 500, "output": 60, "cached": 100, "reasoning": 30,
                    "cache_written": 50 if agent == "travel" else 0}}))
            await chat("Where to?", session_id=session, agent=agent)
        # A companion with its own tools, over version 2; a client of version 1.
        models.script(line(calls("battery", {}), rounds=0, user_has="battery"), line(done))
        await self.pixel.say("How full is my battery?")
        await self.pixel.say("Again")
        await self.pixel.say()
        models.script(line(calls("torch", {}), rounds=0, user_has="torch"), line(done))
        await self.v1.say("Light the torch")
        # A conversation longer than its model can read; what its provider reports fits the length.
        for number, part in enumerate(("first", "second", "third", "fourth"), 1):
            models.script(line({"steps": [{"text": f"So went the {part} part."}], "usage": {
                "input": 900 * min(number, 2), "output": 8}}, user_has=f"The {part} part"))
            await chat(f"The {part} part of a long tale: " + "and then the cook went on " * 130,
                       session_id="long", agent="forgetful")
        # Ends that nobody wanted.
        models.script(line({"failure": {"status": 401}}))
        await chat("Hello?", session_id="wrong-key")
        models.script(line({"failure": {"status": 500}}, times=1), line(done))
        await chat("Try twice", session_id="twice")
        cut = {"steps": [{"tool_call": {"name": "kitchen-tablet__echo", "fragments": ['{"n": 1']}}], "finish": "length"}
        models.script(line(cut, rounds=0), line({**done, "finish": "length"}))
        await chat("Write much", session_id="cut")
        models.script(line({"steps": [{"text": "Half of "}, "cut"]}))
        await chat("Break off", session_id="broken-off", agent="forgetful")
        models.script(line({"steps": [{"refusal": "I would rather not."}], "finish": "refused"}))
        await chat("Do harm", session_id="refused")
        models.script(line({"steps": [{"text": "Once upon a time "}, {"gate": "stopped"}]}))
        running = asyncio.create_task(chat("Tell a tale", session_id="stopped"))
        await asyncio.to_thread(models.reached, "stopped")
        gw.rest("POST", "/api/sessions/stopped/abort", {})
        await running
        # Titles, a removed session, and programs that speak to OpenAI.
        models.script(line(done))
        for session in ("named", "removed"):
            await chat("Hello", session_id=session)
        gw.rest("PATCH", "/api/sessions/named", {"title": "Named by hand"})
        gw.rest("DELETE", "/api/sessions/removed")
        for token in (gw.owner, self.tokens["bound"]):
            await asyncio.to_thread(gw.rest, "POST", "/v1/chat/completions", {
                "model": "cook", "messages": [{"role": "user", "content": "Hello"}]}, token)
        await asyncio.to_thread(typed, [self.program, "--data-dir", str(self.data), "chat"], self.env,
                                ["What time is it?", "/tools", "/quit"])

    async def under_way(self, session, name):
        """A turn in the middle of its answer, with a call beside it that has a key."""
        self.models.script({"times": 1, "answer": {"steps": [{"text": "This answer stops in the middle of "},
                                                             {"gate": name}]}})
        body = {"content": "Tell a long tale", "session_id": session, "agent": "cook", "stream": False}

        async def lost(what, *args, **more):
            with suppress(httpx.HTTPError):
                await asyncio.to_thread(what, *args, **more)

        self.lost = [
            asyncio.create_task(lost(self.gw.rest, "POST", "/api/chat", body, good=False)),
            asyncio.create_task(lost(self.gw.rest, "POST", "/api/tools/kitchen-tablet__hold/call",
                                     {"idempotency_key": name}, self.tokens["phone-script"], good=False)),
        ]
        await self.tablet.expect("tool_call_request", name="hold", since=self.seen)
        await asyncio.to_thread(self.models.reached, name)

        def drafted():
            with sqlite3.connect(f"file:{self.data}/toolway.db?mode=ro", uri=True) as db:
                return db.execute("SELECT count(*) FROM drafts").fetchone()[0]

        await self.until(drafted)

    async def come_back(self):
        """The tablet, after the gateway started anew."""
        self.tablet = await Socket.open(self.gw, "/ws/device", self.tokens["Kitchen tablet"], tablet)
        await self.tablet.connect(device_name="Kitchen tablet", device_id="5f0c", platform="Android 14",
                                  app_version="1.4.1", capabilities=["progress", "cancel"])
        changed = [dict(each) for each in TABLET]
        for each in changed:
            if each["name"] in ("lamp", "camera", "picture"):
                each["description"] += ", and more than before"
        await self.tablet.register(changed)
        self.seen = 0

    async def all(self):
        """Everything, in order."""
        self.first_start()
        self.files()
        self.start("--set", "local_device.enabled=true")
        self.people()
        await self.devices()
        await self.watchless()
        await self.talks()
        # The gateway ends in the middle, and is there again.
        self.watcher.cancel()
        self.seen = len(self.tablet.history)
        await self.under_way("interrupted", "first")
        self.gw.kill()
        self.start()
        await self.come_back()
        await self.gw.acall("kitchen-tablet__echo", {"n": 20}, self.tokens["phone-script"])
        # It is stopped with a call in flight, with one whose device goes before that.
        going = asyncio.create_task(self.gw.acall("kitchen-tablet__hold", {}, self.tokens["phone-script"]))
        await self.tablet.expect("tool_call_request", name="hold")
        await self.tablet.close()
        await going
        await self.come_back()
        stopped = asyncio.create_task(self.gw.acall("kitchen-tablet__hold", {}, self.tokens["phone-script"]))
        await self.tablet.expect("tool_call_request", name="hold")
        await asyncio.to_thread(self.gw.stop)
        with suppress(httpx.HTTPError, AssertionError):
            await stopped
        self.gw.run("backup", str(self.work / "backup.toolway"))
        # The state that is kept: ended in the middle of an answer and a call.
        self.start()
        await self.come_back()
        await self.under_way("half-said", "last")
        self.gw.kill()
        await asyncio.gather(*self.lost)
        self.settle()
        counts = self.count()
        self.keep(counts)

    async def watchless(self):
        """Rules and calls."""
        await asyncio.to_thread(self.rules)
        await self.calls()

    # What came of it.

    def end(self):
        """Ends what may still run."""
        for process in [self.gw.process, self.models.process, *(process for process, _ in self.fake_mcp)]:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(10)

    def settle(self):
        """Ends what was started, and puts the log of the database into it."""
        self.end()
        self.issuer.stop()
        self.guarded.stop()
        with sqlite3.connect(self.data / "toolway.db") as db:
            assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        for name in ("toolway.db-wal", "toolway.db-shm", "gateway.json", "gateway.lock"):
            (self.data / name).unlink(missing_ok=True)

    def count(self):
        """How many rows each table has; none may be empty, and nothing that a column can say may be missing."""
        with sqlite3.connect(f"file:{self.data}/toolway.db?immutable=1", uri=True) as db:
            def all_of(sql):
                return {row[0] for row in db.execute(sql)}

            tables = sorted(all_of("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"))
            counts = {table: db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
            empty = [table for table, rows in counts.items() if rows == 0]
            assert not empty, f"empty tables: {empty}"
            wanted = [
                ("SELECT code FROM calls WHERE code IS NOT NULL", CODES),
                ("SELECT status FROM calls", {0, 1, 2}),
                ("SELECT role FROM calls", {0, 1, 3}),
                ("SELECT door FROM calls", {0, 1, 2, 3}),
                ("SELECT role FROM tokens", {"client", "device", "companion"}),
                ("SELECT state FROM turns", {0, 1, 2, 3, 4}),
                ("SELECT replaced FROM turns", {0, 1}),
                ("SELECT role FROM messages", {0, 1, 2}),
                ("SELECT cut FROM messages", {0, 1}),
                ("SELECT title_by FROM sessions", {0, 1, 2}),
                ("SELECT kind FROM grants", {"permission", "approval"}),
                ("SELECT decision FROM grants", {"granted", "denied_always"}),
                ("SELECT status FROM model_requests", {0, 1, 2}),
                ("SELECT json_extract(part.value, '$.type') FROM messages, json_each(parts) part",
                 {"text", "image", "thinking", "tool_call", "tool_result", "summary"}),
            ]
            for sql, values in wanted:
                missing = values - all_of(sql)
                assert not missing, f"{sql}: nothing with {sorted(missing)}"
            # Every column says something somewhere.
            for table in tables:
                for column in [row[1] for row in db.execute(f"PRAGMA table_info({table})")]:
                    said = db.execute(f"SELECT count({column}) FROM {table}").fetchone()[0]
                    assert said, f"{table}.{column} is always NULL"
        return counts

    def keep(self, counts):
        """Writes the results: the folder, a backup, and what this program says of a copy of the folder."""
        telling = [str(self.work), str(Path(self.program).parent), str(HERE.parents[2]), str(Path.home())]
        files = [path for path in sorted(self.data.rglob("*")) if path.is_file()]
        for path in [*files, self.work / "backup.toolway"]:
            found = [text for text in telling if text.encode() in path.read_bytes()]
            assert not found, f"{path} names {found}"
        shutil.rmtree(self.out / "data", ignore_errors=True)
        self.out.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.data, self.out / "data")
        shutil.copy(self.work / "backup.toolway", self.out / "backup.toolway")
        said = self.said(counts)
        text = json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        (self.out / "expected.json").write_text(text)
        size = sum(path.stat().st_size for path in files)
        print(json.dumps({"rows": counts, "bytes": size, "expected_bytes": len(text)}, indent=1))

    def said(self, counts):
        """What the program says of a copy of the folder, with nothing else running."""
        copy = self.work / "copy"
        shutil.copytree(self.data, copy)
        # The models' key is in no variable then, and fake-mcp is not found.
        env = {**self.env, "PATH": os.environ["PATH"]}
        del env["MODEL_KEY"]
        gw = Gateway(self.program, copy, env)
        command = {
            "config show": json.loads(gw.run("config", "show", "--json")),
            "prices list": json.loads(gw.run("prices", "list", "--json")),
        }
        gw.start()
        rest = {}

        def get(path, token=None, key=None):
            rest[key or path] = answer = gw.rest("GET", path, token=token, good=False)
            return answer

        try:
            # Until the servers that are not there were found not to be.
            for _ in range(300):
                states = [each["status"]["state"] for each in gw.rest("GET", "/api/mcp/servers")["servers"]]
                if "connecting" not in states:
                    break
                time.sleep(0.1)
            get("/api/tokens")
            get("/api/tokens?all=true")
            for each in get("/api/devices")["devices"]:
                get(f"/api/devices/{each['id']}")
            for each in get("/api/tools")["tools"]:
                get(f"/api/tools/{each['name']}")
            for name in ("kitchen-tablet__lamp", "kitchen-tablet__camera", "kitchen-tablet__picture"):
                get(f"/api/tools/{name}/changes")
            for each in get("/api/calls?limit=200")["calls"]:
                get(f"/api/calls/{each['call_id']}")
            get("/api/calls?limit=200", self.tokens["phone-script"], "/api/calls as phone-script")
            get("/api/grants")
            get("/api/approvals")
            get("/api/policy")
            tests = []
            for principal in ("owner", self.ids["phone-script"]):
                for name in ("read_file", "write_file", "own__disk_report", "sensor-box__sensor_heat"):
                    body = {"principal": principal, "tool": name}
                    tests.append({**body, "answer": gw.rest("POST", "/api/policy/test", body, good=False)})
            for each in get("/api/agents")["agents"]:
                get(f"/api/agents/{each['name']}")
            for each in get("/api/sessions?limit=100")["sessions"]:
                name = quote(each["id"])
                get(f"/api/sessions/{name}")
                get(f"/api/sessions/{name}/messages?limit=100")
                get(f"/api/sessions/{name}/export?form=json")
            get("/api/sessions?search=fridge")
            get("/api/sessions", self.tokens["Pixel 8"], "/api/sessions as Pixel 8")
            for by in ("day", "model", "agent", "session", "principal", "tool"):
                get(f"/api/usage?by={by}&zone_offset_s=0")
            get("/api/models")
            get("/v1/models")
            get("/api/mcp/servers")
            refused = {name: httpx.get(gw.url + "/api/tools", headers={"Authorization": f"Bearer {token}"},
                                       trust_env=False).status_code for name, token in self.tokens.items()}
        finally:
            gw.stop()
        said = {"rows": counts, "tokens": self.tokens, "tools_status_by_token": refused, "rest": rest,
                "policy_test": tests, "command": command}
        # Where the copy lay says nothing.
        text = json.dumps(said, ensure_ascii=False).replace(str(copy), "DATA_FOLDER").replace(gw.url, "GATEWAY")
        assert str(self.work) not in text
        return json.loads(text)


class Failing:
    """A server that answers with 503."""

    def __init__(self):
        class Answers(Http):
            def respond(self, *_):
                return 503, {"content-type": "text/plain"}, "out of order"

        self.server = Answers()
        self.url = self.server.url + "/"

    def stop(self):
        """Ends it."""
        self.server.stop()


if __name__ == "__main__":
    maker = Maker(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    try:
        asyncio.run(maker.all())
    finally:
        maker.end()
