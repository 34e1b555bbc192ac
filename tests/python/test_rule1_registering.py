"""Registration (docs/protocol.md, "Registering tools"): accepted and rejected specs, counts, and registration at any time."""

import asyncio
import re
import time

import pytest
from shapes import check_success
from toolway_client import tool, unique

OBJECT = {"type": "object", "properties": {}}


def spec(name, parameters=OBJECT):
    return {"name": name, "description": "d", "parameters": parameters}


BAD_NAMES = {
    "empty": "",
    "129 characters": "n" * 129,
    "5000 characters": "n" * 5000,
    "newline": "a\nb",
    "nul": "a\0b",
    "escape": "a\x1b[31mb",
    "delete": "a\x7fb",
    "c1 control": "a\x85b",
    "zero width space": "a\u200bb",
    "zero width joiner": "a\u200db",
    "right to left override": "a\u202eb",
    "isolate": "a\u2066b",
    "byte order mark": "\ufeffab",
}

BAD_PARAMETERS = {
    "text": "object",
    "number": 5,
    "true": True,
    "list": [{"name": "x"}],
    "type string": {"type": "string"},
    "type array": {"type": "array", "items": {}},
    "unknown type": {"type": "object", "properties": {"a": {"type": "nonsense"}}},
    "properties no object": {"type": "object", "properties": 5},
    "required no list": {"type": "object", "required": "a"},
    "bad pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
    "reference to nothing": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
    "reference to a file": {"type": "object", "properties": {"a": {"$ref": "file:///etc/hostname"}}},
}


def cut(name):
    """A name in a message: at most 300 bytes."""
    return name[:300]


async def check_one_bad(device, bad, name):
    """Valid specs before and after an invalid one are accepted; the invalid one has a reason."""
    answer = await device.register([spec("good"), bad, spec("fine")])
    assert answer["count"] == 3
    assert answer["registered"] == 2
    [rejected] = answer["rejected"]
    assert rejected["name"] == cut(name)
    assert isinstance(rejected["reason"], str) and rejected["reason"].strip()
    return rejected["reason"]


@pytest.mark.parametrize("case", BAD_NAMES)
async def test_invalid_tool_names_are_rejected_by_name_r7(net, case):
    device = await net.v2()
    await check_one_bad(device, spec(BAD_NAMES[case]), BAD_NAMES[case])
    assert await net.names(device.source) == {"good", "fine"}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
async def test_tools_with_invalid_parameters_are_rejected_by_name(net, case):
    device = await net.v2()
    await check_one_bad(device, spec("bad", BAD_PARAMETERS[case]), "bad")
    assert await net.names(device.source) == {"good", "fine"}


async def test_a_schema_that_refers_to_the_network_is_rejected_and_never_fetched(net):
    asked = []
    server = await asyncio.start_server(lambda r, w: (asked.append(1), w.close()), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    device = await net.v2()
    url = f"http://127.0.0.1:{port}/schema.json"
    for parameters in (
        {"type": "object", "properties": {"a": {"$ref": url}}},
        {"type": "object", "$ref": f"{url}#/$defs/x"},
        {"type": "object", "properties": {"a": {"$dynamicRef": url}}},
        {"type": "object", "$schema": url},
        {"type": "object", "$id": url, "properties": {"a": {"$ref": "other.json"}}},
    ):
        await check_one_bad(device, spec("bad", parameters), "bad")
    assert asked == []
    server.close()


async def test_a_duplicate_within_one_message_is_rejected(net):
    device = await net.v2()
    answer = await device.register([tool("twice"), tool("other"), tool("twice")])
    assert (answer["count"], answer["registered"]) == (3, 2)
    assert [r["name"] for r in answer["rejected"]] == ["twice"]
    assert await net.names(device.source) == {"twice", "other"}


async def test_each_rejected_tool_gets_its_own_reason(net):
    device = await net.v2()
    bad = [spec(n) for n in BAD_NAMES.values()] + [spec(f"p{i}", p) for i, p in enumerate(BAD_PARAMETERS.values())]
    answer = await device.register([*bad, spec("good")])
    assert (answer["count"], answer["registered"]) == (len(bad) + 1, 1)
    assert sorted(r["name"] for r in answer["rejected"]) == sorted(cut(b["name"]) for b in bad)
    assert all(r["reason"] for r in answer["rejected"])


@pytest.mark.parametrize("entry", [5, None, "name", [], {}, {"description": "d"}, {"name": 7, "parameters": {}}])
async def test_an_entry_that_is_not_a_spec_does_not_affect_the_others(net, entry):
    device = await net.v2()
    answer = await device.register([spec("good"), entry, spec("fine")])
    assert answer["registered"] == 2
    assert len(answer["rejected"]) == 1
    assert await net.names(device.source) == {"good", "fine"}


@pytest.mark.parametrize("name", ["n" * 128, "é" * 128, "with space", "with.dot/slash-1", "日本語", "UPPER", "7"])
async def test_unusual_names_up_to_128_characters_are_accepted(net, name):
    device = await net.v2()
    answer = await device.register([spec(name)])
    assert (answer["count"], answer["registered"]) == (1, 1)
    assert answer.get("rejected", []) == []
    device.handler = lambda request: request["name"]
    [entry] = [e for e in await net.tools() if e["id"] == f"{device.source}/{name}"]
    # What models take: a name that does not fit is changed, never refused and never another's.
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", entry["name"]), entry
    assert entry["name"].startswith(f"{device.source}__")
    caller = await net.caller()
    check_success(await caller.call(entry["name"]), name)
    check_success(await net.rest().call(entry["name"]), name)
    check_success(await caller.call(name), name)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("case", ["null", "absent", "{}", "[]"])
async def test_every_form_of_no_parameters_is_accepted(net, version, case):
    entry = {"name": unique("none"), "description": "d"}
    if case != "absent":
        entry["parameters"] = {"null": None, "{}": {}, "[]": []}[case]
    if version == 1:
        device = await net.v1([entry], handler=lambda r: "ran")
        assert device.registered == {"type": "tools_registered", "count": 1, "registered": 1}
    else:
        device = await net.v2([entry], handler=lambda r: "ran")
        assert device.registered.get("rejected", []) == []
    caller = await net.caller()
    check_success(await caller.call(entry["name"], {}), "ran")
    assert device.runs[0]["args"] == {}


async def test_a_missing_description_is_accepted_as_empty(net):
    device = await net.v2([{"name": "quiet", "parameters": OBJECT}])
    assert (device.registered["count"], device.registered["registered"]) == (1, 1)
    shown = await net.rest().json(f"/api/tools/{device.source}__quiet")
    assert shown["description"] == ""


async def test_common_json_schema_dialects_compile(net):
    device = await net.v2()
    for dialect in ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"):
        answer = await device.register([spec("dialect", {"$schema": dialect, **OBJECT})])
        assert answer["registered"] == 1, (dialect, answer)
    local = {"type": "object", "$defs": {"s": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/s"}}}
    assert (await device.register([spec("local", local)]))["registered"] == 1
    no_type = {"properties": {"a": {"type": "string"}}}
    assert (await device.register([spec("untyped", no_type)]))["registered"] == 1


async def test_version_1_registration_upserts_and_counts(net):
    """`count` is the number in this message, `registered` the number active on this connection."""
    device = await net.v1([tool("a")])
    assert device.registered == {"type": "tools_registered", "count": 1, "registered": 1}
    again = [
        ([tool("b")], 1, 2),
        ([{**tool("a"), "description": "changed"}], 1, 2),
        ([tool("a"), tool("b"), tool("c")], 3, 3),
        ([], 0, 3),
    ]
    for tools, count, registered in again:
        answer = await device.register(tools)
        assert answer == {"type": "tools_registered", "count": count, "registered": registered}
    answer = await device.register([tool("d"), spec("")])
    rejected = [{"name": "", "reason": "the name is empty"}]
    assert answer == {"type": "tools_registered", "count": 2, "registered": 4, "rejected": rejected}
    await device.send({"type": "get_registered_tools"})
    listed = (await device.expect("registered_tools"))["tools"]
    assert {t["name"] if isinstance(t, dict) else t for t in listed} == {"a", "b", "c", "d"}


async def test_version_1_upsert_replaces_the_spec(net):
    device = await net.v1([tool("a")], name=unique("up"))
    await device.register([{**tool("a", {"x": {"type": "integer"}}, ["x"]), "description": "changed"}])
    source = await net.source_with_description("changed")
    shown = await net.rest().json(f"/api/tools/{source}__a")
    assert shown["parameters"]["required"] == ["x"]


async def test_version_2_replace_swaps_the_whole_list_r6(net):
    device = await net.v2([tool("a"), tool("b"), tool("c")])
    assert (device.registered["count"], device.registered["registered"]) == (3, 3)
    answer = await device.register([tool("c"), tool("d")])
    assert (answer["count"], answer["registered"]) == (2, 2)
    assert await net.names(device.source) == {"c", "d"}
    answer = await device.register([tool("e")], mode="replace")
    assert (answer["count"], answer["registered"]) == (1, 1)
    assert await net.names(device.source) == {"e"}


async def test_an_empty_tool_list_is_reported_r16(net):
    device = await net.v2([tool("a")])
    answer = await device.register([])
    assert (answer["count"], answer["registered"]) == (0, 0)
    assert await net.names(device.source) == set()


async def test_version_2_mode_add_keeps_the_existing_tools(net):
    device = await net.v2([tool("a")])
    answer = await device.register([tool("b"), tool("c")], mode="add")
    assert (answer["count"], answer["registered"]) == (2, 3)
    answer = await device.register([tool("c")], mode="add")
    assert (answer["count"], answer["registered"]) == (1, 3)
    assert await net.names(device.source) == {"a", "b", "c"}


async def test_unregister_tools_removes_the_named_tools(net):
    device = await net.v2([tool("a"), tool("b"), tool("c")])
    await device.send({"type": "unregister_tools", "names": ["a", "never-there"]})
    assert (await device.expect("tools_registered"))["registered"] == 2
    assert await net.names(device.source) == {"b", "c"}
    await device.send({"type": "get_registered_tools"})
    listed = (await device.expect("registered_tools"))["tools"]
    assert {t["name"] for t in listed} == {"b", "c"}


async def test_one_device_cannot_change_another_devices_tools(net):
    one, two = await net.v2([tool("a")]), await net.v2([tool("b")])
    await two.register([])
    assert await net.names(one.source) == {"a"}
    await two.send({"type": "unregister_tools", "names": ["a"]})
    await two.expect("tools_registered")
    assert await net.names(one.source) == {"a"}
    await two.send({"type": "get_registered_tools"})
    assert (await two.expect("registered_tools"))["tools"] == []


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "register_tools"},
        {"type": "register_tools", "tools": None},
        {"type": "register_tools", "tools": {"a": 1}},
        {"type": "register_tools", "tools": "a"},
        {"type": "register_tools", "tools": [], "mode": "sideways"},
        {"type": "unregister_tools"},
        {"type": "unregister_tools", "names": "a"},
    ],
)
async def test_a_malformed_registration_is_answered_and_changes_nothing(net, frame):
    device = await net.v2([tool("a")])
    await device.send(frame)
    assert (await device.expect("error"))["message"]
    await device.barrier()
    assert await net.names(device.source) == {"a"}


async def test_optional_version_2_fields_are_kept(net):
    extra = {
        "title": "Take a photo",
        "output_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "annotations": {"readOnlyHint": True, "destructiveHint": False},
        "permissions": ["camera"],
        "timeout_ms": 5000,
        "progress_timeout_ms": 1000,
        "sequential": True,
    }
    device = await net.v2([tool("photo", **extra)])
    assert device.registered.get("rejected", []) == []
    shown = await net.rest().json(f"/api/tools/{device.source}__photo")
    assert shown["title"] == "Take a photo"
    assert shown["output_schema"] == extra["output_schema"]
    assert shown["annotations"] == extra["annotations"]


async def test_null_in_an_optional_field_means_absent(net):
    fields = ["title", "output_schema", "annotations", "permissions", "timeout_ms", "progress_timeout_ms", "sequential"]
    device = await net.v2([{**tool("nulls"), **dict.fromkeys(fields), "description": None}])
    assert device.registered["registered"] == 1, device.registered


async def test_registering_works_while_a_call_runs_r11(rig):
    net, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    answer = await device.register([tool("later")], mode="add")
    assert (answer["count"], answer["registered"]) == (1, 2)
    assert await net.names(device.source) == {"work", "later"}
    second = await caller.start(f"{device.source}__later")
    await device.result((await device.request(name="later"))["id"], "second")
    check_success(await caller.answer(second), "second")
    await device.result(request["id"], "first")
    check_success(await caller.answer(call), "first")


async def test_a_running_call_survives_the_removal_of_its_tool(rig):
    """Exactly one result counts, the device's: the list changed, not the call."""
    net, device, caller, name = rig
    call = await caller.start(name)
    request = await device.request()
    await device.register([tool("other")])
    await device.result(request["id"], "done")
    check_success(await caller.answer(call), "done")


async def test_registering_600_tools_of_one_megabyte_is_linear_r9(net):
    def surface(count):
        return [
            tool(
                f"tool_{n}",
                {
                    f"field_{n}_{i}": {"type": "string", "description": "what it means " * 8, "maxLength": n + 1}
                    for i in range(12)
                },
            )
            for n in range(count)
        ]

    small = await net.v2()
    begin = time.monotonic()
    assert (await small.register(surface(100)))["registered"] == 100
    hundred = time.monotonic() - begin

    device = await net.v2()
    before = net.gw.rss_bytes()
    begin = time.monotonic()
    assert (await device.register(surface(600), timeout=30))["registered"] == 600
    taken = time.monotonic() - begin
    # Generous for a debug build on a busy machine: 4 GB and minutes are what this is against.
    assert taken < max(1.0, 18 * hundred), (hundred, taken)
    assert net.gw.rss_bytes() - before < 150 << 20
    device.handler = lambda request: "yes"
    check_success(await (await net.caller()).call(f"{device.source}__tool_599"), "yes")
