"""The rights table: role × endpoint × place of the token."""

import pytest
from conftest import Net
from shapes import check_success, dig, held_back, refusal
from toolway_client import DeviceV2, refused, tool, unique

ROLES = ["owner", "client", "device", "companion", "none", "wrong", "revoked", "revoked device", "expired"]
NOBODY = {"none", "wrong", "revoked", "revoked device", "expired"}
CHATS = {"owner", "client", "companion"}
OFFERS = {"owner", "device", "companion"}


@pytest.fixture(scope="session")
async def tokens(gw, http):
    """One token of each kind, created once."""
    net = Net(gw, http, [])
    made = {
        "owner": gw.owner_token,
        "client": await net.client(),
        "device": await net.pair("device"),
        "companion": await net.pair("companion"),
        "none": None,
        "wrong": "twy_o_" + "A" * 43,
        "expired": await net.expired(),
    }
    record = await net.client_record()
    made["revoked"] = record["token"]
    identity = dig({k: v for k, v in record.items() if k != "token"}, "id")
    assert (await net.rest().delete(f"/api/tokens/{identity}")).status_code in (200, 204)
    name = unique("revoked")
    made["revoked device"] = await net.pair("device", device_id=name, name=name)
    device = await net.v2(token=made["revoked device"], name=name, device_id=name)
    assert (await net.revoke_device(device.source)).status_code in (200, 204)
    await device.until_closed()
    return made


@pytest.fixture(scope="session")
async def target(gw, http):
    """A tool to call, and a call that the owner made."""
    net = Net(gw, http, [])
    name = unique("target")
    device = await DeviceV2.join(
        gw, await net.pair(), [tool("work")], name=name, device_id=name, handler=lambda r: "ran"
    )
    answer = await net.rest().call(f"{name}__work")
    check_success(answer, "ran")
    await net.logged(answer["call_id"])
    yield {"tool": f"{name}__work", "call": answer["call_id"]}
    await device.close()


#: Calls of no tool at all, for rules that are to do nothing.
NOTHING = {"tools": ["no-such/*"]}

# (method, path, body, who may, what it answers then, what the owner-only ones must not answer)
ENDPOINTS = [
    ("GET", "/api/tools", None, CHATS, {200}),
    ("GET", "/api/tools/{tool}", None, CHATS, {200}),
    ("POST", "/api/tools/{tool}/call", {"args": {}}, CHATS, {200}),
    ("GET", "/api/tools/{tool}/changes", None, {"owner"}, {200}),
    ("POST", "/api/tools/{tool}/accept", None, {"owner"}, {204}),
    ("GET", "/api/approvals", None, CHATS, {200}),
    # A question that is not there looks like one that is another's.
    ("POST", "/api/approvals/no-such", {"decision": "granted"}, CHATS, {404}),
    ("GET", "/api/grants", None, {"owner"}, {200}),
    ("POST", "/api/grants", {"tool": "no-such/tool", "expires_in_s": 1}, {"owner"}, {201}),
    ("DELETE", "/api/grants/no-such", None, {"owner"}, {404}),
    ("GET", "/api/policy", None, {"owner"}, {200}),
    ("PUT", "/api/policy/rules/rights", {"rule": {"effect": "allow", "when": NOTHING}}, {"owner"}, {200, 201}),
    ("DELETE", "/api/policy/rules/no-such", None, {"owner"}, {404}),
    ("POST", "/api/policy/test", {"tool": "{tool}"}, {"owner"}, {200}),
    ("GET", "/api/calls", None, CHATS, {200}),
    # A call that is not one's own looks like one that is not there.
    ("GET", "/api/calls/{call}", None, CHATS, {200, 404}),
    ("GET", "/api/calls/export", None, CHATS, {200}),
    ("DELETE", "/api/calls/no-such", None, {"owner"}, {404}),
    ("POST", "/api/calls/purge", {"before_ms": 0}, {"owner"}, {200}),
    ("POST", "/api/reload", None, {"owner"}, {204}),
    ("GET", "/api/devices", None, {"owner"}, {200}),
    ("GET", "/api/devices/no-such", None, {"owner"}, {404}),
    ("PATCH", "/api/devices/no-such", {}, {"owner"}, {400, 404, 422}),
    ("DELETE", "/api/devices/no-such", None, {"owner"}, {404}),
    ("POST", "/api/pair", {"role": "device"}, {"owner"}, {200, 201}),
    ("GET", "/api/tokens", None, {"owner"}, {200}),
    ("POST", "/api/tokens", {"role": "client"}, {"owner"}, {200, 201}),
    ("DELETE", "/api/tokens/no-such", None, {"owner"}, {400, 404}),
]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda e: f"{e[0]} {e[1]}")
async def test_rights_rest(net, tokens, target, endpoint, role):
    method, path, body, allowed, answers = endpoint
    if body == {"tool": "{tool}"}:
        body = {"tool": target["tool"]}
    response = await net.rest(tokens[role]).request(method, path.format(**target), json=body)
    if role in NOBODY:
        assert response.status_code == 401, response.text
    elif role not in allowed:
        assert response.status_code == 403, response.text
    elif role == "owner":
        assert response.status_code in answers - ({404} if "{call}" in path else set()), response.text
    else:
        assert response.status_code in answers, response.text
    if response.status_code in (401, 403):
        assert refusal(response), "a refusal says what was wrong"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("path", ["/api/status", "/metrics", "/api/openapi.json"])
async def test_rights_information_about_the_gateway(net, tokens, path, role):
    """Requires a valid token; client tokens may be allowed, device tokens must not be."""
    response = await net.rest(tokens[role]).get(path)
    if role in NOBODY:
        assert response.status_code == 401
    elif role == "owner":
        assert response.status_code == 200
    elif role == "device":
        assert response.status_code == 403
    else:
        assert response.status_code in (200, 403)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("path", "allowed"), [("/api/approvals/watch", {"owner"}), ("/api/calls/tail", CHATS)])
async def test_rights_streams(net, tokens, path, allowed, role):
    """Endless for allowed readers, so only the head is read."""
    headers = {"Authorization": f"Bearer {tokens[role]}"} if tokens[role] else {}
    async with net.http.stream("GET", net.gw.url + path, headers=headers) as response:
        if role in allowed:
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
        else:
            assert response.status_code == (401 if role in NOBODY else 403)
            await response.aread()
            assert refusal(response)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "owner"])
async def test_rights_only_the_owner_replaces_the_owners_token(net, tokens, role):
    response = await net.rest(tokens[role]).request("POST", "/api/tokens/owner/rotate")
    assert response.status_code == (401 if role in NOBODY else 403)
    assert (await net.rest().get("/api/tools")).status_code == 200


@pytest.mark.parametrize("role", ["none", "wrong", "device", "expired"])
@pytest.mark.parametrize("path", ["/health", "/"])
async def test_rights_open_paths(net, tokens, path, role):
    response = await net.rest(tokens[role]).get(path)
    assert response.status_code == 200
    assert net.gw.owner_token not in response.text
    assert str(net.gw.data_dir) not in response.text


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("path", "allowed"), [("/ws/chat", CHATS), ("/ws/device", OFFERS)])
@pytest.mark.parametrize("place", ["header", "subprotocol", "query"])
async def test_rights_sockets(net, tokens, path, allowed, place, role):
    token = tokens[role]
    how = {}
    if place == "subprotocol" and token:
        how = {"protocols": (f"bearer.{token}",)}
    elif place == "query" and token:
        how = {"query": {"token": token}}
    elif place == "header":
        how = {"token": token}
    if role in allowed:
        socket = await net.socket(path, **how)
        await socket.send({"type": "connect", "device_name": unique("role")})
        await socket.expect("connected")
    else:
        status, _ = await refused(net.gw, path, **how)
        assert status == (401 if role in NOBODY else 403)


@pytest.mark.parametrize("place", ["rest query", "rest subprotocol", "cookie", "basic"])
async def test_rights_a_token_elsewhere_does_not_count_in_rest(net, place):
    owner = net.gw.owner_token
    headers = {
        "rest subprotocol": {"Sec-WebSocket-Protocol": f"bearer.{owner}"},
        "cookie": {"Cookie": f"token={owner}"},
        "basic": {"Authorization": f"Basic {owner}"},
    }.get(place, {})
    query = {"token": owner} if place == "rest query" else None
    response = await net.rest(None).get("/api/tokens", headers=headers, params=query)
    assert response.status_code == 401


async def test_spent_revoked_and_expired_have_different_codes_r17(net, tokens):
    """So a device knows that it must stop, and the message for its owner."""
    texts = {}
    for role in ("wrong", "revoked", "expired"):
        response = await net.rest(tokens[role]).get("/api/tools")
        assert response.status_code == 401
        texts[role] = response.text.lower()
    assert "revoked" in texts["revoked"] and "expired" in texts["expired"]
    assert "revoked" not in texts["wrong"] and "expired" not in texts["wrong"]
    _, body = await refused(net.gw, "/ws/device", tokens["revoked device"])
    assert "revoked" in body.lower()


async def test_rights_a_client_cannot_escalate_its_role(net, tokens):
    for role in ("client", "companion", "device"):
        rest = net.rest(tokens[role])
        for body in ({"role": "owner"}, {"role": "client"}):
            assert (await rest.post("/api/tokens", body)).status_code == 403
        assert (await rest.post("/api/pair", {"role": "companion"})).status_code == 403


async def test_rights_a_second_owner_cannot_be_created(net):
    """There is one owner's token; a command rotates it."""
    assert (await net.rest().post("/api/tokens", {"role": "owner"})).status_code == 400
    assert (await net.rest().post("/api/pair", {"role": "owner"})).status_code == 400


async def test_rights_the_owner_cannot_revoke_the_owners_token(net):
    response = await net.rest().delete("/api/tokens/owner")
    assert 400 <= response.status_code < 500
    assert (await net.rest().get("/api/tokens")).status_code == 200


async def test_rights_token_guessing_is_slowed_down_without_lockouts(net, gateway_factory):
    """By default sixty per minute and address; a valid token is never delayed."""
    other = net.on(gateway_factory(fresh=True))
    wrong = "twy_o_" + "A" * 43
    await held_back(lambda: other.rest(wrong).get("/api/tools"), 60)
    # Whichever entry point is tried, and without any token, too: one bucket for all.
    await held_back(lambda: other.rest(None).get("/api/tools"), 0)
    statuses = {(await refused(other.gw, "/ws/device", wrong))[0] for _ in range(5)}
    assert 429 in statuses and statuses <= {401, 429}
    assert (await other.rest().get("/api/tools")).status_code == 200
    await other.v2([tool("a")])
