"""Names (docs/protocol.md, "Names"): full names, bare names, and the error for an ambiguous bare name."""

import pytest
from shapes import check_error, check_success
from toolway_client import tool, unique


def says(name):
    return lambda request: name


async def both_ways(net, caller, name):
    """Returns the answers over WebSocket and over REST."""
    return await caller.call(name), await net.rest().call(name)


async def test_ids_and_names_are_listed(net):
    device = await net.v2([tool("echo")])
    [entry] = [e for e in await net.tools() if e["id"] == f"{device.source}/echo"]
    assert entry["name"] == f"{device.source}__echo"
    assert not [e for e in await net.tools() if e["name"] == "echo"]


async def test_a_full_name_resolves(net):
    device = await net.v2([tool("echo")], handler=says("here"))
    for answer in await both_ways(net, await net.caller(), f"{device.source}__echo"):
        check_success(answer, "here")
    assert [r["name"] for r in device.runs] == ["echo", "echo"], "as the device registered it"


async def test_a_unique_bare_name_resolves(net):
    bare = unique("only")
    await net.v2([tool(bare)], handler=says("only one"))
    for answer in await both_ways(net, await net.caller(), bare):
        check_success(answer, "only one")


async def test_an_ambiguous_bare_name_is_refused_with_the_full_names(net):
    bare = unique("both")
    one = await net.v2([tool(bare)], handler=says("one"))
    two = await net.v2([tool(bare)], handler=says("two"))
    for answer in await both_ways(net, await net.caller(), bare):
        check_error(answer, "tool_not_available", dispatched=False)
        text = answer["message"] + answer.get("hint", "")
        assert f"{one.source}__{bare}" in text and f"{two.source}__{bare}" in text, answer
    assert one.runs == two.runs == []


@pytest.mark.parametrize("version", [1, 2])
async def test_an_offline_source_also_makes_a_bare_name_ambiguous(net, version):
    """A bare name must not change its meaning because a phone is offline."""
    bare = unique("away")
    if version == 1:
        gone = await net.v1([tool(bare)], name=unique("phone"))
        source = await net.source_with(bare)
    else:
        gone = await net.v2([tool(bare)])
        source = gone.source
    await gone.close()
    there = await net.v2([tool(bare)], handler=says("there"))
    caller = await net.caller()
    for answer in await both_ways(net, caller, bare):
        check_error(answer, "tool_not_available", dispatched=False)
        text = answer["message"] + answer.get("hint", "")
        assert f"{source}__{bare}" in text and f"{there.source}__{bare}" in text, answer
    check_success(await caller.call(f"{there.source}__{bare}"), "there")
    assert len(there.runs) == 1


async def test_a_tool_of_an_offline_source_does_not_run(net):
    device = await net.v2([tool("echo")])
    name = f"{device.source}__echo"
    await device.close()
    answer = await (await net.caller()).call(name)
    assert answer["status"] == "error" and answer["dispatched"] is False
    assert answer["code"] in ("tool_not_available", "device_disconnected"), answer


async def test_calling_an_unknown_tool_is_an_error_outcome(net):
    for answer in await both_ways(net, await net.caller(), "no-such-tool"):
        check_error(answer, "tool_not_available", dispatched=False, message="Tool no-such-tool is not available")


@pytest.mark.parametrize("name", ["", "__", "a__", "__a", "x" * 500, "nul\0", "a/b", "../x", "builtin__", "é"])
async def test_unusual_tool_names_are_not_available(net, name):
    caller = await net.caller()
    answer = await caller.call(name)
    assert answer["status"] == "error" and answer["dispatched"] is False
    assert answer["code"] in ("tool_not_available", "invalid_arguments"), answer


async def test_a_tool_has_its_bare_name_on_its_own_connection(net):
    """A bare name means the connection's own tool, even if another source has one with this name."""
    bare = unique("mine")
    other = await net.v2([tool(bare)], handler=says("theirs"))
    own = await net.v2([tool(bare)], token=await net.pair("companion"), path="/ws/chat", handler=says("mine"))
    await own.send({"type": "call_tool", "id": "c1", "name": bare, "args": {}})
    check_success(await own.expect("call_result", id="c1"), "mine")
    await own.send({"type": "call_tool", "id": "c2", "name": f"{other.source}__{bare}", "args": {}})
    check_success(await own.expect("call_result", id="c2"), "theirs")


async def test_full_names_take_precedence_over_own_bare_names(net):
    """A connection cannot hide the full name of another source's tool, even from itself."""
    other = await net.v2([tool("echo")], handler=says("theirs"))
    full = f"{other.source}__echo"
    own = await net.v2([tool(full)], token=await net.pair("companion"), path="/ws/chat", handler=says("mine"))
    await own.send({"type": "call_tool", "id": "c1", "name": full, "args": {}})
    check_success(await own.expect("call_result", id="c1"), "theirs")


async def test_different_tokens_see_the_same_tool(net):
    device = await net.v2([tool("echo")])
    for token in (await net.client(), await net.pair("companion"), "owner"):
        assert f"{device.source}/echo" in {e["id"] for e in await net.tools(token)}
