"""Identity of connections: sources and slugs; no token takes over another's."""

import re

import pytest
from shapes import check_error, check_success, device_id, request_fields, rows
from toolway_client import DeviceV1, DeviceV2, eventually, tool, unique

SLUG = re.compile(r"[a-z][a-z0-9-]{0,23}\Z")


async def test_source_slug_is_the_name_if_valid(net):
    name = unique("phone")
    device = await net.v2([tool("a")], name=name)
    assert device.source == name
    [entry] = [e for e in await net.tools() if e["id"].startswith(f"{name}/")]
    assert entry["id"] == f"{name}/a"
    assert entry["name"] == f"{name}__a"


async def test_source_second_and_third_of_a_name_are_numbered(net):
    name = unique("twin")
    slugs = [(await net.v2(name=name, device_id=f"id{n}")).source for n in range(3)]
    assert slugs == [name, f"{name}-2", f"{name}-3"]


async def test_source_slug_survives_reconnects_and_is_never_reused(net):
    name, token = unique("kept"), await net.pair()
    first = await DeviceV2.join(net.gw, token, device_id="x", name=name)
    assert first.source == name
    await first.close()
    other = await net.v2(name=name)
    assert other.source == f"{name}-2", "the slug belongs to the source that had it first, gone or not"
    again = await net.v2(token=token, device_id="x", name=name)
    assert again.source == name


async def test_source_renaming_does_not_change_the_slug(net):
    name, token = unique("old"), await net.pair()
    first = await DeviceV2.join(net.gw, token, device_id="x", name=name)
    await first.close()
    again = await net.v2(token=token, device_id="x", name=unique("new"))
    assert again.source == name


async def test_source_one_slug_is_never_used_again_after_its_device_is_deleted(net):
    name = unique("gone")
    first = await net.v2(name=name)
    assert (await net.revoke_device(first.source)).status_code in (200, 204)
    await first.until_closed()
    assert (await net.v2(name=name)).source != name


async def test_source_a_removed_device_with_a_valid_token_gets_a_new_source(net):
    name, token = unique("again"), await net.pair()
    await net.v2(token=token, name=unique("other"), device_id="other")
    for slug in (name, f"{name}-2", f"{name}-3"):
        device = await net.v2([tool("t")], token=token, device_id="x", name=name)
        assert device.source == slug
        assert (await net.revoke_device(slug)).status_code in (200, 204)
        assert (await device.until_closed())[0] == 4002
        caller = await net.caller()
        check_error(await caller.call(f"{slug}__t"), "tool_not_available", dispatched=False)


@pytest.mark.parametrize(
    "name",
    [
        "My Phone",
        "my__phone",
        "__",
        "7up",
        "Ünïcode — 電話",
        "x" * 256,
        "a/b",
        "other__tool",
        "-",
        "a\u202eb",
        "..",
        "<script>",
    ],
)
async def test_source_odd_names_make_valid_slugs(net, name):
    device = await net.v2([tool("t")], name=name, device_id=unique("odd"))
    assert SLUG.match(device.source), device.source
    caller = await net.caller()
    device.handler = lambda request: "here"
    check_success(await caller.call(f"{device.source}__t"), "here")


@pytest.mark.parametrize("field", ["device_id", "device_name", "session_id", "platform", "app_version"])
async def test_source_descriptions_have_a_maximum_length(net, field):
    """Each field of `connect` may have 256 bytes; more is an error, and the client may retry."""
    socket = await net.socket("/ws/device", await net.pair(), protocols=("toolway.v2",))
    said = {"type": "connect", "v": 2, "device_name": unique("long")}
    await socket.send({**said, field: "é" * 128 + "x"})
    error = await socket.expect("error")
    assert field in error["message"], error
    await socket.send({**said, field: "é" * 128})
    assert SLUG.match((await socket.expect("connected"))["source"])


@pytest.mark.parametrize("field", ["device_name", "device_id", "name", "pair"])
@pytest.mark.parametrize("word", ["builtin", "own", "shared", "BuiltIn", "builtin__x"])
async def test_source_reserved_names_cannot_be_used(net, field, word):
    if field == "pair":
        token = await net.pair("device", name=word, device_id=word)
        device = await net.keep_join(token)
    elif field == "name":
        device = await net.keep_join(await net.pair("companion"), path="/ws/chat", query={"name": word})
    elif field == "device_id":
        device = await net.keep_join(await net.pair(), device_id=word)
    else:
        device = await net.keep_join(await net.pair(), name=word)
    assert device.source not in ("builtin", "own", "shared")
    assert SLUG.match(device.source), device.source


async def test_a_device_tool_cannot_shadow_a_built_in_r5(net):
    """`builtin__…` never reaches a device, whatever the names of its tools."""
    device = await net.v2([tool("shell"), tool("builtin__shell"), tool("time")])
    device.handler = lambda request: "taken over"
    caller = await net.caller()
    answer = await caller.call("builtin__shell")
    assert answer.get("result") != "taken over"
    assert "builtin" not in {e["id"].split("/")[0] for e in await net.tools() if e["name"].endswith("__shell")}


async def test_source_a_tool_named_like_a_full_name_does_not_hide_it(net):
    """An exact full name always resolves first."""
    good = await net.v2([tool("echo")], handler=lambda request: "good")
    evil = await net.v2([tool(f"{good.source}__echo")], handler=lambda request: "evil")
    caller = await net.caller()
    check_success(await caller.call(f"{good.source}__echo"), "good")
    answer = await net.rest().call(f"{good.source}__echo")
    check_success(answer, "good")
    if await net.names(evil.source):
        check_success(await caller.call(f"{evil.source}__{good.source}__echo"), "evil")


async def test_source_calls_of_an_offline_source_go_to_no_other_source(net):
    """Full names of known offline sources never resolve to another source."""
    away = await net.v2([tool("echo")])
    full = f"{away.source}__echo"
    await away.close()
    evil = await net.v2([tool(full)], handler=lambda request: "caught")
    for answer in (await (await net.caller()).call(full), await net.rest().call(full)):
        assert answer["status"] == "error" and answer["dispatched"] is False, answer
    assert evil.runs == []


FIELDS = ["device_id", "device_name", "name", "resume_token", "session_id", "all", "pair"]


@pytest.mark.parametrize("field", FIELDS)
async def test_source_a_name_does_not_take_over_another_tokens_source(net, field):
    """Every identifying field, sent with another token, leads to that token's own source."""
    name = unique("victim")
    session = unique("session")
    victim = await net.v2(
        [tool("secret")], name=name, device_id=f"id-{name}", capabilities=("resume", "progress", "cancel")
    )
    caller = await net.caller()
    call = await caller.start(f"{name}__secret")
    request = await victim.request()

    body = {"device_id": f"id-{name}", "name": name} if field == "pair" else {}
    token = await net.pair("companion", **body)
    said = {
        "device_id": {"device_id": f"id-{name}"},
        "device_name": {"name": name},
        "name": {"query": {"name": name}, "path": "/ws/chat"},
        "resume_token": {
            "resume_token": victim.connected["resume_token"],
            "device_id": f"id-{name}",
            "capabilities": ("resume",),
        },
        "session_id": {"query": {"session_id": session}, "path": "/ws/chat"},
        "all": {
            "device_id": f"id-{name}",
            "name": name,
            "query": {"name": name},
            "resume_token": victim.connected["resume_token"],
            "capabilities": ("resume",),
        },
        "pair": {},
    }[field]
    thief = await net.keep_join(token, **said)
    assert thief.connected.get("resume_token") != victim.connected["resume_token"]
    await thief.register([tool("secret"), tool(own := unique("loot"))])
    source = await net.source_with(own)
    assert source != name
    # A chat client that has not named itself has no source until it offers something.
    assert thief.connected.get("source", source) == source
    assert ("source" in thief.connected) is (field != "session_id")
    await thief.result(request["id"], "stolen")
    assert (await thief.expect("result_acknowledged"))["status"] == "unknown"

    await victim.barrier()
    assert not victim.gone
    await victim.result(request["id"], "mine")
    check_success(await caller.answer(call), "mine")
    assert thief.runs == []
    await thief.register([])
    assert await net.names(name) == {"secret"}


async def test_source_a_token_can_have_eight_sources(net):
    """A token has at most 8 sources; the ninth is refused and does not affect the others."""
    token = await net.pair()
    base = unique("many")
    devices = [await net.v2([tool("t")], token=token, name=f"{base}-{n}", device_id=f"id-{n}") for n in range(8)]
    assert len({d.source for d in devices}) == 8
    ninth = await net.socket("/ws/device", token, protocols=("toolway.v2",))
    await ninth.send({"type": "connect", "v": 2, "device_id": "id-9", "device_name": f"{base}-9"})
    # Refused in words: by an error message, or by closing with a reason.
    try:
        error = await ninth.expect("error", timeout=3)
        assert error["message"]
    except AssertionError:
        assert ninth.gone and ninth.close_code != 1000 and ninth.close_reason
    assert not ninth.seen("connected")
    for device in devices:
        await device.barrier()
    again = await net.v2([tool("t")], token=token, name=f"{base}-0", device_id="id-0")
    assert again.source == devices[0].source


async def test_source_is_identified_by_the_paired_name(net):
    name = unique("pixel")
    token = await net.pair("companion", device_id=f"id-{name}", name=name, platform="android")
    first = await net.v1([tool("a")], token=token)
    second = await net.v1([tool("b")], token=token, name="something else")
    assert await net.names(name) == {"a", "b"}, "one source, two sockets"
    await first.close()
    assert await net.names(name) == {"b"}
    await second.close()


async def test_source_two_v1_sockets_have_separate_leases(net):
    """Tools are listed while any lease has them; a call goes to the socket that registered last."""
    token, name = await net.pair("companion"), unique("two")
    first = await net.v1([tool("echo"), tool("one")], token=token, name=name, handler=lambda r: "first")
    second = await net.v1([tool("echo"), tool("two")], token=token, name=name, handler=lambda r: "second")
    assert second.registered["registered"] == 2, "what is live for this connection"
    caller = await net.caller()
    assert await net.names(name) == {"echo", "one", "two"}
    check_success(await caller.call(f"{name}__echo"), "second")
    check_success(await caller.call(f"{name}__one"), "first")
    await first.register([tool("echo")])
    check_success(await caller.call(f"{name}__echo"), "first")
    await first.close()

    async def only_second():
        return await net.names(name) == {"echo", "two"}

    await eventually(only_second)
    check_success(await caller.call(f"{name}__echo"), "second")


async def test_closing_the_old_socket_removes_no_tools_of_the_new_one_r2(net):
    token, name = await net.pair("companion"), unique("back")
    old = await DeviceV1.join(net.gw, token, [tool("echo")], name=name)
    await net.v1([tool("echo")], token=token, name=name, handler=lambda r: "new")
    old.abort()
    await old.until_closed()
    caller = await net.caller()
    for _ in range(5):
        check_success(await caller.call(f"{name}__echo"), "new")
    assert await net.names(name) == {"echo"}


async def test_same_named_tools_of_two_devices_are_both_listed_r4(net):
    one = await net.v2([tool("camera")], handler=lambda r: "one")
    two = await net.v2([tool("camera")], handler=lambda r: "two")
    caller = await net.caller()
    check_success(await caller.call(f"{one.source}__camera"), "one")
    check_success(await caller.call(f"{two.source}__camera"), "two")
    await two.close()
    check_success(await caller.call(f"{one.source}__camera"), "one")


async def test_source_connections_without_a_name_get_a_temporary_source(net):
    token = await net.pair("companion")
    device = await net.v1([tool("passing")], token=token)
    slug = await net.source_with("passing")
    assert SLUG.match(slug)
    await device.close()

    async def forgotten():
        return await net.device_entry(slug) is None

    await eventually(forgotten)


async def test_source_renaming_changes_only_the_label(net):
    name, label = unique("before"), "Kitchen tablet"
    device = await net.v2([tool("a")], name=name)
    entry = await net.device_entry(name)
    fields = request_fields(await net.api(), "/api/devices/{id}", "patch")
    [field] = [f for f in fields if f in ("label", "name")]
    response = await net.rest().patch(f"/api/devices/{device_id(entry)}", {field: label})
    assert response.status_code in (200, 204), response.text
    listed = rows(await net.rest().json("/api/devices"), "devices")
    [renamed] = [e for e in listed if device_id(e) == device_id(entry)]
    assert label in renamed.values()
    assert await net.names(name) == {"a"}
    device.handler = lambda r: "same"
    check_success(await (await net.caller()).call(f"{name}__a"), "same")


async def test_takeover_closes_the_older_socket_with_a_reason(net):
    token = await net.pair()
    name = unique("taken")
    old = await net.v2([tool("a"), tool("b")], token=token, device_id="x", name=name)
    caller = await net.caller()
    call = await caller.start(f"{name}__a")
    await old.request()
    new = await net.v2([tool("a")], token=token, device_id="x", name=name, handler=lambda r: "new")
    assert new.source == name
    code, reason = await old.until_closed()
    assert code != 1000 and reason, (code, reason)
    check_error(await caller.answer(call), "device_disconnected", dispatched=True)
    assert await net.names(name) == {"a"}
    check_success(await caller.call(f"{name}__a"), "new")


async def test_chat_sockets_do_not_take_over_each_other(net):
    token, name = await net.pair("companion"), unique("chat")
    first = await net.v2([tool("a")], token=token, name=name, device_id="x", path="/ws/chat")
    await net.v2([tool("b")], token=token, name=name, device_id="x", path="/ws/chat")
    await first.barrier()
    assert await net.names(name) == {"a", "b"}


def app(label: str, **more) -> dict:
    """An app that offers tools through a device."""
    return {
        "authority": f"com.example.{label}.tools",
        "package": f"com.example.{label}",
        "label": label,
        "dialect": "cetp",
        "state": "ready",
        **more,
    }


async def test_source_reports_its_bridged_apps(net):
    """The list is replaced as a whole and survives a disconnect; there is no answer unless it is invalid."""
    name, token = unique("apps"), await net.pair()
    device = await net.v2([tool("finance__spend")], token=token, name=name, device_id="x")
    path = f"/api/devices/{await net.device_id(name)}"
    assert "app_provider_report" not in await net.rest().json(path)
    finance = app(
        "finance",
        prefix="finance",
        version=1,
        tools=["finance__spend"],
        info={"name": "Finance tools", "scopes": [{"name": "spending", "description": "Every purchase"}]},
        notes=[{"kind": "refused", "tool": "broken", "reason": "its schema does not compile"}],
    )
    odd = app("odd", dialect="spoken-next-year", state="refused", reason="a version below 1", hint="tell its developer")
    await device.send({"type": "app_providers", "providers": [finance, odd]})
    await device.barrier()
    assert not device.seen("error", code="INVALID_MESSAGE") + device.seen("error", code="LIMIT_EXCEEDED")
    shown = await net.rest().json(path)
    assert shown["tool_names"] == [f"{name}__finance__spend"]
    assert shown["app_providers"] == 2
    assert shown["app_provider_report"]["providers"] == [finance, {**odd, "tools": [], "notes": []}]

    await device.send({"type": "app_providers", "providers": [app("weather")]})
    await device.barrier()
    await device.close()
    report = (await net.rest().json(path))["app_provider_report"]
    assert [entry["label"] for entry in report["providers"]] == ["weather"]
    assert (await net.device_entry(name))["app_providers"] == 1

    # A newer connection of the same device has the word.
    again = await net.v2(token=token, name=name, device_id="x")
    await again.send({"type": "app_providers", "providers": []})
    await again.barrier()
    assert (await net.rest().json(path))["app_provider_report"]["providers"] == []


@pytest.mark.parametrize(
    "providers",
    [
        [app("a") for _ in range(1025)],
        [app("a", reason="x" * 2001)],
        [app("a", notes=[{"kind": "flagged", "reason": "r"}] * 65)],
    ],
    ids=["providers", "text", "notes"],
)
async def test_source_with_too_many_apps_gets_an_error_and_continues(net, providers):
    name = unique("much")
    device = await net.v2([tool("a")], name=name)
    await device.send({"type": "app_providers", "providers": [app("first")]})
    await device.send({"type": "app_providers", "providers": providers})
    await device.expect("error", code="LIMIT_EXCEEDED")
    await device.barrier()
    shown = await net.rest().json(f"/api/devices/{await net.device_id(name)}")
    assert [entry["label"] for entry in shown["app_provider_report"]["providers"]] == ["first"]


async def test_source_clients_and_version_1_cannot_report_apps(net):
    caller = await net.caller()
    await caller.send({"type": "app_providers", "providers": [app("a")]})
    await caller.expect("error", code="FORBIDDEN")
    old = await net.v1([tool("a")])
    await old.send({"type": "app_providers", "providers": [app("a")]})
    await old.expect("error", code="INVALID_MESSAGE")
