"""Faults: kill -9 of the gateway and of a device in the middle of many calls."""

import asyncio
import contextlib
import sqlite3
import sys
from pathlib import Path

import pytest
from conftest import Net
from gateway_process import Gateway
from shapes import call_code, call_id, call_status, check_error, check_success, next_cursor, rows
from toolway_client import DeviceV2, eventually, tool, unique

HERE = Path(__file__).parent


@pytest.fixture
def on_disk(gateway_dir, net):
    """Starts gateways one after another on one data folder."""
    running: list[Gateway] = []
    folder = gateway_dir / unique("fault")

    def start(settings=None) -> Net:
        gw = Gateway(folder, settings)
        running.append(gw)
        return net.on(gw.start())

    yield start
    for gw in running:
        gw.kill()


async def log_of(net, source) -> dict:
    """Returns the logged calls of a source by id. Fails if one is logged twice."""
    calls, cursor = {}, None
    while True:
        query = {"source": source, "limit": 200, **({"cursor": cursor} if cursor else {})}
        body = await net.rest().json("/api/calls", params=query)
        for entry in rows(body, "calls"):
            assert call_id(entry) not in calls, "one outcome for each"
            calls[call_id(entry)] = entry
        cursor = next_cursor(body)
        if not cursor:
            return calls


async def starts_on_disk(net, count):
    """Waits until the database file has the starts of `count` calls. Nothing is asked of the gateway, because a
    question for calls writes what waits."""
    file = f"file:{net.gw.data_dir / 'toolway.db'}?mode=ro"
    # The starts of a batch share a row until their calls end.
    ids = """
        SELECT lower(hex(id)) FROM calls
        UNION SELECT value ->> 0 FROM started_calls, json_each(started_calls.calls)
    """

    async def all_there():
        with contextlib.closing(sqlite3.connect(file, uri=True)) as database:
            return database.execute(f"SELECT count(*) FROM ({ids})").fetchone()[0] >= count

    await eventually(all_there)


async def in_flight(net, callers, name, count):
    """Starts `count` calls distributed over the callers; returns (caller, id) of each."""
    calls = []
    for n in range(count):
        caller = callers[n % len(callers)]
        calls.append((caller, await caller.start(name, {"n": n})))
    return calls


@pytest.mark.parametrize("durability", ["per_call", "batch"])
async def test_faults_the_gateway_is_killed_in_the_middle_of_many_calls(on_disk, durability):
    settings = {"calls": {"durability": durability}, "limits": {"calls_in_flight_per_device": 2000}}
    first = on_disk(settings)
    token = await first.pair("device")
    client = await first.client()
    device = await first.v2([tool("work")], token=token, name="killed", device_id="k", capabilities=("resume",))
    assert device.source == "killed"
    callers = [await first.caller(client) for _ in range(4)]
    count = 1000
    calls = await in_flight(first, callers, "killed__work", count)
    requests = [await device.request(timeout=30) for _ in range(count)]
    await starts_on_disk(first, count)
    # Answer a third; the kill comes while the last of these answers are on their way.
    answered = {r["id"] for r in requests[: count // 3]}
    for request in requests[: count // 3]:
        await device.result(request["id"], "done")
    for request in requests[:20]:
        caller, call = calls[request["args"]["n"]]
        check_success(await caller.answer(call, timeout=15), "done")
    first.gw.kill()

    outcomes: dict[str, str] = {}
    for caller in callers:
        await caller.until_closed()
        for frame in caller.seen("call_result"):
            assert frame["call_id"] not in outcomes, "one answer or a lost connection"
            assert frame["status"] == "success"
            outcomes[frame["call_id"]] = frame["status"]
    await device.until_closed()
    assert set(outcomes) <= answered

    second = on_disk()
    assert second.gw.owner_token == first.gw.owner_token
    logged = await log_of(second, "killed")
    sent = {r["id"] for r in requests}
    # All of them were on disk before the kill.
    assert set(logged) == sent
    for call, entry in logged.items():
        if call_status(entry) == "success":
            assert call in answered
        else:
            assert (call_status(entry), call_code(entry)) == ("error", "gateway_restarted"), entry
    if durability == "per_call":
        lost = [call for call in outcomes if call_status(logged[call]) != "success"]
        assert lost == [], "an answer that was given was written first"
    assert {c for c, e in logged.items() if call_status(e) != "success"} >= sent - answered

    # The tokens live on; the device that comes back is asked for nothing of before.
    again = await second.v2(
        [tool("work")],
        token=token,
        name="killed",
        device_id="k",
        capabilities=("resume",),
        resume_token=device.connected["resume_token"],
    )
    assert again.source == "killed"
    await again.barrier()
    assert again.runs == []
    again.handler = lambda r: "after"
    check_success(await (await second.caller(client)).call("killed__work"), "after")
    assert len(again.runs) == 1


async def test_faults_rule7_a_key_answers_gateway_restarted_and_does_not_run_again(on_disk):
    first = on_disk()
    token, client = await first.pair("device"), await first.client()
    device = await first.v2([tool("work")], token=token, name="keyed", device_id="k")
    caller = await first.caller(client)
    await caller.start("keyed__work", {"n": 1}, idempotency_key="pay-once")
    await device.request()
    finished = await caller.start("keyed__work", {"n": 2}, idempotency_key="paid")
    request = await device.request()
    await device.result(request["id"], "paid")
    check_success(await caller.answer(finished), "paid")
    first.gw.kill()

    second = on_disk()
    device = await second.v2([tool("work")], token=token, name="keyed", device_id="k", handler=lambda r: "ran again")
    caller = await second.caller(client)
    answer = await caller.call("keyed__work", {"n": 1}, idempotency_key="pay-once")
    check_error(answer, "gateway_restarted", dispatched=True)
    again = await caller.call("keyed__work", {"n": 2}, idempotency_key="paid")
    assert again.get("result") == "paid" or again.get("code") == "gateway_restarted", again
    conflict = await caller.call("keyed__work", {"n": 3}, idempotency_key="pay-once")
    check_error(conflict, "idempotency_conflict", dispatched=False)
    await device.barrier()
    assert device.runs == []


async def test_faults_a_device_process_is_killed(net, tmp_path):
    """Its calls end device_disconnected, dispatched, when its grace time is over or when the device
    is back without having resumed; none runs again."""
    name, runs = unique("proc"), tmp_path / "runs"
    token = await net.pair()

    async def start():
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "device_process.py"),
            net.gw.url,
            token,
            name,
            str(runs),
            cwd=HERE,
            stdout=asyncio.subprocess.PIPE,
        )
        line = await asyncio.wait_for(process.stdout.readline(), 20)
        assert line == b"ready\n"
        return process

    def ran():
        return runs.read_text().split() if runs.exists() else []

    async def all_run(count):
        async def check():
            return len(ran()) == count

        await eventually(check)

    process = await start()
    caller = await net.caller()
    calls = await in_flight(net, [caller], f"{name}__work", 100)
    await all_run(100)
    process.kill()
    await process.wait()
    for _, call in calls:
        check_error(await caller.answer(call), "device_disconnected", dispatched=True)

    process = await start()
    try:
        calls = await in_flight(net, [caller], f"{name}__work", 50)
        await all_run(150)
        process.kill()
        await process.wait()
        process = await start()
        for _, call in calls:
            check_error(await caller.answer(call), "device_disconnected", dispatched=True)
        device = await net.caller()
        await device.barrier()
        assert len(ran()) == 150 and len(set(ran())) == 150, "none runs again"
    finally:
        process.kill()
        await process.wait()


async def test_faults_a_network_cut_loses_no_call_and_runs_none_twice(net):
    """With resume: cuts the connection repeatedly during calls; the tool counts its runs by id."""
    token, name = await net.pair(), unique("cut")
    ran: dict[str, int] = {}
    kept: dict[str, str] = {}
    release = asyncio.Event()

    async def work(request):
        """As the protocol requires: a known id is answered from memory."""
        call = request["id"]
        if call not in kept:
            ran[call] = ran.get(call, 0) + 1
            kept[call] = f"ran {request['args']['n']}"
        await release.wait()
        return kept[call]

    async def join(resume_token=None):
        device = await DeviceV2.join(
            net.gw,
            token,
            [tool("work")],
            name=name,
            device_id="c",
            capabilities=("resume",),
            resume_token=resume_token,
            register=resume_token is None,
            handler=work,
        )
        return net.keep(device)

    device = await join()
    caller = await net.caller()
    calls = await in_flight(net, [caller], f"{name}__work", 100)

    async def all_sent():
        return len(ran) == 100

    await eventually(all_sent)
    for _ in range(4):
        device.abort()
        await device.until_closed()
        device = await join(device.connected["resume_token"])

    async def all_again():
        return len(device.runs) == 100

    await eventually(all_again)
    release.set()
    for n, (_, call) in enumerate(calls):
        check_success(await caller.answer(call), f"ran {n}")
    assert len(ran) == 100 and set(ran.values()) == {1}


async def test_faults_a_second_gateway_on_one_data_folder_refuses_and_names_the_first(on_disk):
    first = on_disk()
    second = Gateway(first.gw.data_dir)
    with pytest.raises(AssertionError) as error:
        second.start()
    text = str(error.value)
    assert str(first.gw.process.pid) in text or first.gw.url in text, text
    assert (await first.rest().get("/api/tools")).status_code == 200


async def test_faults_stored_data_survives_a_restart(on_disk):
    """Slugs, tokens, revocations; a graceful stop in between."""
    first = on_disk()
    token, client = await first.pair("device"), await first.client()
    device = await first.v2([tool("work")], token=token, name="survivor", device_id="k", handler=lambda r: "ok")
    answer = await first.rest().call("survivor__work")
    check_success(answer)
    entry = await first.device_entry("survivor")
    assert entry
    await asyncio.get_running_loop().run_in_executor(None, first.gw.stop)
    assert first.gw.process.returncode == 0
    await device.until_closed()

    second = on_disk()
    assert (await second.rest(client).get("/api/tools")).status_code == 200
    assert call_status(await second.logged(answer["call_id"])) == "success"
    other = await second.v2([tool("work")], name="survivor")
    assert other.source == "survivor-2", "the slug is kept for the device that had it"
    bare = await (await second.caller()).call("work")
    check_error(bare, "tool_not_available", dispatched=False)
    assert "survivor__work" in bare["message"] + bare.get("hint", ""), "offline sources count, after a restart too"
    again = await second.v2([tool("work")], token=token, name="survivor", device_id="k", handler=lambda r: "ok")
    assert again.source == "survivor"
