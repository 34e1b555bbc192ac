"""`toolway mcp`: MCP over standard input and output, line by line. What clients of others make of it is in
test_mcp_clients.py."""

import asyncio
import json
import os
import stat

import pytest
from conftest import PATIENT
from gateway_process import Gateway, binary
from mcp_clients import stdio_command
from stdio_process import Stdio
from toolway_client import eventually, refused, tool, unique
from websockets.asyncio.client import connect as ws_connect
from websockets.exceptions import InvalidStatus

#: Written as nobody would write it again: order, numbers, escapes, keywords.
SCHEMA = '{"type":"object","$defs":{"n":{"$anchor":"n","type":"number"}},"properties":{"z":{"minimum":1.0},"a":{"const":"\\u00e9"},"b":{"maximum":1e2}}}'
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
async def start():
    """Starts processes, and ends them."""
    started = []

    async def make(command, **env):
        process = await Stdio.start(command, **env)
        started.append(process)
        return process

    yield make
    for process in started:
        await process.stop()


@pytest.fixture
def alone(tmp_path):
    """The test's own gateway, with a local address that stays the same after a restart."""
    gateway = Gateway(tmp_path / "alone", {"limits": PATIENT}).start()
    yield gateway
    gateway.kill()


def kept(gateway, client="mcp-stdio"):
    """The file of a client's token."""
    return gateway.data_dir / "mcp-clients" / f"{client}.token"


async def labels(net):
    """Returns the labels of all valid tokens."""
    return [entry["label"] for entry in (await net.rest().json("/api/tokens"))["tokens"]]


async def test_schemas_and_arguments_cross_byte_for_byte(net, start):
    address = f"{net.gw.ws_url}/ws/device"
    headers = {"Authorization": f"Bearer {await net.pair('device')}"}
    async with ws_connect(address, additional_headers=headers, subprotocols=["toolway.v2"], proxy=None) as device:
        name = unique("exact")
        await device.send(json.dumps({"type": "connect", "v": 2, "device_id": name, "device_name": name}))
        source = json.loads(await device.recv())["source"]
        spec = '{"name":"exact","description":"d","parameters":%s}' % SCHEMA
        await device.send('{"type":"register_tools","tools":[%s]}' % spec)
        assert json.loads(await device.recv())["count"] == 1

        stdio = await start(stdio_command(net.gw, "--only", f"{source}/*"))
        await stdio.initialize()
        id = await stdio.request("tools/list")
        line = await stdio.line(lambda message: message.get("id") == id)
        assert f'"inputSchema":{SCHEMA}' in line
        arguments = '{"z":1.50,"a":"\\u00e9","b":99.10}'
        call = '{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"%s__exact","arguments":%s}}'
        await stdio.say(call % (source, arguments))
        request = await device.recv()
        assert f'"args":{arguments}' in request
        structured = '{"b":1.0,"a":[1e2]}'
        result = '{"type":"tool_result","id":"%s","output":"o","structured":%s}'
        await device.send(result % (json.loads(request)["id"], structured))
        line = await stdio.line(lambda message: message.get("id") == "c")
        assert f'"structuredContent":{structured}' in line


async def test_standard_output_has_only_messages_and_the_end_of_input_ends_the_program(net, start):
    stdio = await start(stdio_command(net.gw))
    server = await stdio.initialize()
    assert server["serverInfo"]["name"] == "toolway"
    stdio.end_input()
    assert await stdio.ended() == 0
    assert stdio.lines == [None]
    assert stdio.errors == ""


async def test_pending_requests_are_answered_before_the_end(net, start):
    device = await net.v2([tool("work")], name=unique("last"))
    stdio = await start(stdio_command(net.gw))
    await stdio.initialize()
    id = await stdio.request("tools/call", {"name": f"{device.source}__work", "arguments": {}})
    call = await device.request()
    stdio.end_input()
    await device.result(call["id"], "just in time")
    assert await stdio.ended() == 0
    [answer] = [json.loads(line) for line in stdio.lines if line]
    assert answer["id"] == id
    assert answer["result"]["content"][0]["text"] == "just in time"


async def test_sigterm_ends_it_and_running_calls_are_cancelled(net, start):
    device = await net.v2([tool("work")], name=unique("term"))
    stdio = await start(stdio_command(net.gw))
    await stdio.initialize()
    await stdio.request("tools/call", {"name": f"{device.source}__work", "arguments": {}})
    call = await device.request()
    stdio.terminate()
    assert await stdio.ended() == 0
    assert (await device.expect("tool_call_cancel", id=call["id"]))["reason"] == "cancelled"


async def test_a_cancelled_call_reaches_the_device_and_is_not_answered(net, start):
    device = await net.v2([tool("work")], name=unique("cancel"))
    stdio = await start(stdio_command(net.gw))
    await stdio.initialize()
    id = await stdio.request("tools/call", {"name": f"{device.source}__work", "arguments": {}})
    call = await device.request()
    await stdio.notify("notifications/cancelled", {"requestId": id, "reason": "no need"})
    await device.expect("tool_call_cancel", id=call["id"])
    assert (await stdio.ask("ping"))["result"] == {}
    assert not [line for line in stdio.lines if line and json.loads(line).get("id") == id]


async def test_it_uses_its_own_client_token(alone, net, start):
    net = net.on(alone)
    first = await start(stdio_command(alone))
    await first.initialize()
    path = kept(alone)
    token = path.read_text().strip()
    assert token.startswith("twy_c_") and token != alone.owner_token
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    # A second one takes the same, and two at once make one.
    path.unlink()
    both = [await start(stdio_command(alone)) for _ in range(2)]
    await asyncio.gather(*(it.initialize() for it in both))
    assert (await labels(net)).count("mcp-stdio") == 2
    again = await start(stdio_command(alone))
    await again.initialize()
    assert (await labels(net)).count("mcp-stdio") == 2


async def test_a_revoked_token_closes_the_connection_and_is_replaced_at_the_next_start(alone, net, start):
    net = net.on(alone)
    stdio = await start(stdio_command(alone))
    await stdio.initialize()
    [entry] = [it for it in (await net.rest().json("/api/tokens"))["tokens"] if it["label"] == "mcp-stdio"]
    assert (await net.rest().delete(f"/api/tokens/{entry['id']}")).status_code in (200, 204)
    assert await stdio.ended() == 1
    assert "revoked" in stdio.errors
    old = kept(alone).read_text()
    again = await start(stdio_command(alone))
    await again.initialize()
    assert kept(alone).read_text() != old


async def test_a_named_client_uses_its_own_token_and_no_other(alone, net, start):
    net = net.on(alone)
    command = stdio_command(alone, "--client", "my-editor")
    stdio = await start(command)
    answer = await stdio.ask("initialize", {})
    assert answer["error"]["data"]["code"] == "no_token"
    assert "toolway mcp install --client my-editor" in answer["error"]["message"]
    stdio.end_input()
    assert await stdio.ended() == 1

    kept(alone, "my-editor").parent.mkdir(mode=0o700, exist_ok=True)
    record = await net.client_record(label="editor")
    kept(alone, "my-editor").write_text(record["token"] + "\n")
    stdio = await start(command)
    await stdio.initialize()
    stdio.end_input()
    assert await stdio.ended() == 0
    assert (await net.rest().delete(f"/api/tokens/{record['id']}")).status_code in (200, 204)
    stdio = await start(command)
    answer = await stdio.ask("initialize", {})
    assert answer["error"]["data"]["code"] == "token_revoked", answer
    assert kept(alone, "my-editor").read_text().strip() == record["token"], "not made anew"


async def test_the_owners_token_is_refused(alone, start):
    stdio = await start(stdio_command(alone), TOOLWAY_TOKEN=alone.owner_token)
    answer = await stdio.ask("initialize", {})
    assert answer["error"]["data"]["code"] == "owner_token"


async def test_without_a_gateway_the_error_explains_how_to_start_one(tmp_path, start):
    stdio = await start([binary(), "mcp", "--data-dir", str(tmp_path)])
    answer = await stdio.ask("initialize", {})
    assert answer["error"]["code"] == -32000
    assert "no gateway is running" in answer["error"]["message"]
    assert "toolway serve" in answer["error"]["message"]
    assert "no gateway is running" in stdio.errors and "hint: start one with `toolway serve" in stdio.errors
    stdio.end_input()
    assert await stdio.ended() == 1


async def test_a_gateway_started_later_is_found(tmp_path, start):
    gateway = Gateway(tmp_path / "late", {"limits": PATIENT})
    stdio = await start([binary(), "mcp", "--data-dir", str(gateway.data_dir)])
    assert "error" in await stdio.ask("initialize", {})
    gateway.start()
    try:

        async def found():
            info = {"name": "raw", "version": "1"}
            params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
            return "result" in await stdio.ask("initialize", params)

        await eventually(found)
    finally:
        gateway.kill()


async def test_a_restarted_gateway_is_reconnected_transparently(alone, net, start):
    device = await net.on(alone).v2([tool("work")], name="phone", token=await net.on(alone).pair("device"))
    stdio = await start(stdio_command(alone))
    await stdio.initialize()
    running = await stdio.request("tools/call", {"name": f"{device.source}__work", "arguments": {}})
    await device.request()
    alone.kill()
    answer = await stdio.hear(id=running)
    assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (-32000, "connection_lost")

    waiting = await stdio.request("tools/list")
    alone.start()
    names = [it["name"] for it in (await stdio.hear(id=waiting))["result"]["tools"]]
    assert "get_current_time" in names
    await stdio.hear(method="notifications/tools/list_changed")
    # The handshake was made anew, and its answer stayed with whoever made it.
    assert not [line for line in stdio.lines if line and "protocolVersion" in line]
    again = await net.on(alone).v2([tool("again")], name=unique("again"))
    await stdio.hear(method="notifications/tools/list_changed")
    listed = await stdio.ask("tools/list")
    assert f"{again.source}__again" in [it["name"] for it in listed["result"]["tools"]]


async def test_limits_select_listed_and_callable_tools(net, start):
    reads = tool("look", annotations={"readOnlyHint": True})
    device = await net.v2([reads, tool("touch")], name=unique("bound"), handler=lambda _: "ran")
    one = await start(stdio_command(net.gw, "--only", f"{device.source}/l*", "--only", "nothing/*"))
    await one.initialize()
    listed = await one.ask("tools/list")
    assert [it["name"] for it in listed["result"]["tools"]] == [f"{device.source}__look"]
    answer = await one.ask("tools/call", {"name": f"{device.source}__touch", "arguments": {}})
    assert answer["error"]["code"] == -32602
    answer = await one.ask("tools/call", {"name": f"{device.source}__look", "arguments": {}})
    assert answer["result"]["content"][0]["text"] == "ran"

    # A device's word is not believed without its owner's.
    reading = await start(stdio_command(net.gw, "--read-only"))
    await reading.initialize()
    names = {it["name"] for it in (await reading.ask("tools/list"))["result"]["tools"]}
    assert "read_file" in names
    assert not names & {f"{device.source}__look", "write_file"}

    bad = await start(stdio_command(net.gw, "--only", "a[b"))
    answer = await bad.ask("initialize", {})
    assert '"a[b"' in answer["error"]["message"]


async def test_invalid_messages_are_reported(net, start):
    stdio = await start(stdio_command(net.gw))
    await stdio.initialize()
    for text, code, id in [
        ("this is no JSON", -32700, None),
        ('{"jsonrpc":"2.0","id":7}', -32600, None),
        ('[{"jsonrpc":"2.0","id":8,"method":"ping"}]', -32600, None),
    ]:
        await stdio.say(text)
        answer = await stdio.hear(id=id)
        assert answer["error"]["code"] == code, (text, answer)
    stdio.process.stdin.write(b'\xff\xfe{"a":1}\n')
    assert (await stdio.hear(id=None))["error"]["code"] == -32700
    assert (await stdio.ask("ping"))["result"] == {}


async def test_a_too_long_message_is_refused_and_others_continue(gateway_factory, net, start):
    small = gateway_factory({"limits": {"frame_bytes": 100_000} | PATIENT})
    stdio = await start(stdio_command(small))
    await stdio.initialize()
    answer = await stdio.ask("tools/call", {"name": "x", "arguments": {"a": "y" * 150_000}})
    assert answer["error"]["data"]["code"] == "too_long"
    assert "100000" in answer["error"]["message"]
    assert (await stdio.ask("ping"))["result"] == {}


async def test_batches_are_answered_in_2025_03_26(net, start):
    stdio = await start(stdio_command(net.gw))
    await stdio.initialize("2025-03-26")
    ping = '{"jsonrpc":"2.0","id":%s,"method":"ping"}'
    await stdio.say(f"[{ping % 101},{ping % 102}]")

    def is_batch(message):
        return isinstance(message, list)

    answers = json.loads(await stdio.line(is_batch))
    assert sorted(it["id"] for it in answers) == [101, 102]


async def test_the_newest_version_needs_no_handshake_and_can_subscribe(alone, net, start):
    stdio = await start(stdio_command(alone))
    found = await stdio.ask("server/discover", {"_meta": MODERN})
    assert "2026-07-28" in found["result"]["supportedVersions"]
    await stdio.request("subscriptions/listen", {"_meta": MODERN, "notifications": {"toolsListChanged": True}}, id="l")
    accepted = await stdio.hear(method="notifications/subscriptions/acknowledged")
    assert accepted["params"]["notifications"] == {"toolsListChanged": True}
    await net.on(alone).v2([tool("new")], name=unique("new"))
    changed = await stdio.hear(method="notifications/tools/list_changed")
    assert changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "l"
    # Another gateway goes on with it, and the client hears that lists may be others.
    alone.kill()
    alone.start()
    changed = await stdio.hear(method="notifications/tools/list_changed")
    assert changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "l"
    listed = await stdio.ask("tools/list", {"_meta": MODERN})
    assert listed["result"]["tools"]


async def test_devices_and_tokens_of_other_agents_are_refused(net):
    status, body = await refused(net.gw, "/ws/mcp", await net.pair("device"))
    assert (status, json.loads(body)["error"]["code"]) == (403, "forbidden")
    status, body = await refused(net.gw, "/ws/mcp")
    assert (status, json.loads(body)["error"]["code"]) == (401, "token_missing")
    status, body = await refused(net.gw, "/ws/mcp", await net.client(), query={"agent": "nobody"})
    assert status == 404, body
    bound = await net.client(agent="default")
    status, body = await refused(net.gw, "/ws/mcp", bound, query={"agent": "other"})
    assert (status, json.loads(body)["error"]["code"]) == (403, "agent_forbidden")
    response = await net.rest(bound).get("/ws/mcp")
    assert response.status_code == 426


async def test_the_end_of_a_token_ends_its_connection(net):
    record = await net.client_record()
    socket = await net.socket("/ws/mcp", record["token"])

    async def there():
        metrics = (await net.rest().get("/metrics")).text
        return 'endpoint="mcp"' in metrics

    await eventually(there)
    await net.rest().delete(f"/api/tokens/{record['id']}")
    code, reason = await socket.until_closed()
    assert code == 4001 and "token_revoked" in reason


async def test_connections_count_as_mcp_sessions(gateway_factory, net):
    own = net.on(gateway_factory({"mcp": {"max_sessions": 2}, "limits": PATIENT}))
    one, other = await own.client(), await own.client()
    first = await own.socket("/ws/mcp", one)
    status, body = await refused(own.gw, "/ws/mcp", one)
    assert (status, json.loads(body)["error"]["code"]) == (503, "too_many_mcp_sessions")
    second = await own.socket("/ws/mcp", other)
    status, _ = await refused(own.gw, "/ws/mcp", await own.client())
    assert status == 503
    await first.close()

    async def free():
        try:
            return await own.socket("/ws/mcp", await own.client())
        except InvalidStatus:
            return None

    await eventually(free)
    await second.close()
