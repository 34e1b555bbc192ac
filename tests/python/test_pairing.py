"""POST /pair and POST /api/pair: codes, roles, wrong tries. On a gateway of its own, for wrong
tries void everybody's codes."""

import asyncio

import pytest
from shapes import held_back, refusal
from toolway_client import refused, tool, unique


@pytest.fixture
def pairing(net, gateway_factory):
    """A gateway on which codes may be voided."""
    return net.on(gateway_factory({"timeouts": {"approval_s": 3}}))


@pytest.fixture
def guessing(net, gateway_factory):
    """Another gateway, because ten wrong attempts void the codes of other tests."""
    return net.on(gateway_factory({"timeouts": {"approval_s": 5}}))


@pytest.fixture
def racing(net, gateway_factory):
    """Another gateway, for the same reason."""
    return net.on(gateway_factory({"timeouts": {"approval_s": 6}}))


WRONG = "ZZZZ-ZZZ%s"


async def test_pair_returns_a_token_in_version_1_format(pairing):
    response = await pairing.redeem(await pairing.code("companion"))
    assert response.status_code == 200
    body = response.json()
    assert set(body) >= {"paired", "persisted", "token", "message"}
    assert body["paired"] is True
    assert isinstance(body["persisted"], bool)
    assert isinstance(body["message"], str) and body["message"]
    assert None not in body.values()
    assert (await pairing.rest(body["token"]).get("/api/tools")).status_code == 200


@pytest.mark.parametrize("role", ["device", "companion", "client"])
async def test_pair_the_role_was_fixed_when_the_code_was_made(pairing, role):
    response = await pairing.redeem(await pairing.code(role), role="owner", name=unique("x"))
    token = response.json()["token"]
    prefix, _, rest = token.partition("_")
    assert prefix == "twy" and len(rest) == 2 + 43
    assert (await pairing.rest(token).get("/api/tokens")).status_code == 403
    expected = 403 if role == "device" else 200
    assert (await pairing.rest(token).get("/api/tools")).status_code == expected
    if role == "client":
        assert (await refused(pairing.gw, "/ws/device", token))[0] == 403
    else:
        await pairing.v2([tool("a")], token=token)


async def test_pair_the_default_role_is_device(pairing):
    response = await pairing.rest().post("/api/pair", {})
    assert response.status_code in (200, 201)
    token = (await pairing.redeem(response.json()["code"])).json()["token"]
    assert (await pairing.rest(token).get("/api/tools")).status_code == 403


async def test_pair_a_code_has_forty_bits_and_is_unique(pairing):
    codes = [(await pairing.code()).replace("-", "") for _ in range(20)]
    assert len(set(codes)) == 20
    assert all(len(c) >= 8 and set(c) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for c in codes), codes


@pytest.mark.parametrize("how", ["lower", "no dash", "spaces", "confusable"])
async def test_pair_a_code_may_be_typed_in_several_ways(pairing, how):
    code = await pairing.code()
    typed = {
        "lower": code.lower(),
        "no dash": code.replace("-", ""),
        "spaces": f"{code[:4]} {code[4:].replace('-', ' ')}",
        "confusable": code.replace("0", "O").replace("1", "l"),
    }[how]
    assert (await pairing.redeem(typed)).status_code == 200


async def test_pair_a_code_can_be_used_once(pairing):
    code = await pairing.code()
    assert (await pairing.redeem(code)).status_code == 200
    again = await pairing.redeem(code)
    assert 400 <= again.status_code < 500
    assert refusal(again)


@pytest.mark.parametrize("code", ["", "A", "nonsense", "0000-0000", "A" * 5000, "🦀"])
async def test_pair_wrong_codes_give_no_token(guessing, code):
    fresh = await guessing.code()
    headers = {"X-Pairing-Code": code.encode()}
    response = await guessing.rest(None).post("/pair", {}, headers=headers)
    assert 400 <= response.status_code < 500
    assert "token" not in response.json()
    assert (await guessing.redeem(fresh)).status_code == 200, "one wrong try voids nothing"


async def test_pair_without_a_code(pairing):
    response = await pairing.rest(None).post("/pair", {})
    assert response.status_code in (400, 401)
    # Neither the body nor a token stands in for the code.
    code = await pairing.code()
    assert (await pairing.rest(None).post("/pair", {"code": code})).status_code in (400, 401)
    assert (await pairing.rest().post("/pair", {})).status_code in (400, 401)
    assert (await pairing.redeem(code)).status_code == 200


async def test_pair_the_body_is_optional_and_malformed_ones_use_no_code(pairing):
    code = await pairing.code()
    response = await pairing.rest(None).request(
        "POST", "/pair", content="{", headers={"X-Pairing-Code": code, "Content-Type": "application/json"}
    )
    assert response.status_code == 400
    response = await pairing.rest(None).request("POST", "/pair", headers={"X-Pairing-Code": code})
    assert response.status_code == 200, response.text


async def test_pair_ten_wrong_attempts_void_all_codes(net, gateway_factory):
    other = net.on(gateway_factory({"timeouts": {"approval_s": 4}}, fresh=True))
    codes = [await other.code() for _ in range(3)]
    alphabet = "0123456789"
    for n in range(9):
        response = await other.redeem(WRONG % alphabet[n])
        assert 400 <= response.status_code < 500
    assert (await other.redeem(codes[0])).status_code == 200, "nine wrong tries void nothing"
    for n in range(10):
        await other.redeem(WRONG % alphabet[n])
    for code in codes[1:]:
        response = await other.redeem(code)
        assert 400 <= response.status_code < 500, "void"
        assert "token" not in response.json()
    assert (await other.redeem(await other.code())).status_code == 200, "a new code works"


async def test_pair_attempts_of_one_address_are_limited(net, gateway_factory):
    """By default, thirty a minute."""
    other = net.on(gateway_factory(fresh=True))
    for _ in range(5):
        spent = await other.code()
        assert (await other.redeem(spent)).status_code == 200, "a good one costs nothing"
    await held_back(lambda: other.redeem(spent), 30)


async def test_pair_concurrent_uses_of_one_code_succeed_once(racing):
    code = await racing.code()
    answers = await asyncio.gather(*(racing.redeem(code) for _ in range(5)))
    assert sorted(a.status_code for a in answers)[0] == 200
    assert [a.status_code for a in answers].count(200) == 1


async def test_pair_returns_everything_the_owner_needs(pairing):
    response = await pairing.rest().post("/api/pair", {"role": "device"})
    body = response.json()
    assert body["code"]
    link = next((v for v in body.values() if isinstance(v, str) and v.startswith("toolway://pair?")), None)
    assert link and "code=" in link and "url=" in link, body
    assert body["code"].replace("-", "")[:8] in link


@pytest.mark.parametrize("body", [{"role": "king"}, {"role": 5}, [], "x"])
async def test_pair_invalid_roles_are_400(pairing, body):
    assert (await pairing.rest().post("/api/pair", body)).status_code == 400
