"""Login in both directions: of the gateway at an MCP server, and of MCP clients with an issuer's tokens."""

import base64
import json
import stat
import subprocess
import time

import httpx
import pytest
from gateway_process import Gateway, binary
from issuer import KINDS, Guarded, GuardedByScope, Issuer

AUDIENCE = "api://toolway"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def issuer():
    """An authorization server."""
    server = Issuer()
    yield server
    server.stop()


@pytest.fixture
def trusting(issuer, tmp_path):
    """A gateway that trusts it."""
    settings = {"url": issuer.url, "audience": AUDIENCE, "subjects": ["ada"], "scopes": ["tools"]}
    gateway = Gateway(tmp_path / "data", {"mcp": {"issuer": settings}}).start()
    yield gateway
    gateway.stop()


def knock(gateway, token=None, path="/mcp"):
    """Sends the first request of an MCP client."""
    headers = {"accept": "application/json, text/event-stream"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    return httpx.post(gateway.url + path, json=HELLO, headers=headers)


def test_a_client_finds_the_issuer_by_itself(issuer, trusting):
    """Follows the documents from the refusal to the metadata of the authorization server."""
    refused = knock(trusting)
    assert refused.status_code == 401
    scheme, _, parameters = refused.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    pairs = dict(pair.split("=", 1) for pair in parameters.split(", "))
    found = httpx.get(json.loads(pairs["resource_metadata"])).json()
    assert found["resource"] == f"{trusting.url}/mcp"
    assert found["authorization_servers"] == [issuer.url]
    assert found["scopes_supported"] == ["tools"]


@pytest.mark.parametrize("algorithm", KINDS)
def test_tokens_signed_by_another_library_are_accepted(issuer, trusting, algorithm):
    """Each algorithm, in the formats that issuers use."""
    for claims in [{"scope": "tools"}, {"scope": None, "scp": ["other", "tools"]}, {"aud": ["x", AUDIENCE]}]:
        claims = {"scope": "tools", **claims}
        audience = claims.pop("aud", AUDIENCE)
        answer = knock(trusting, issuer.token(algorithm, audience, **claims))
        assert answer.status_code == 200, answer.text
    token = issuer.token(algorithm, AUDIENCE, scope="tools")
    assert httpx.get(f"{trusting.url}/api/tools", headers={"authorization": f"Bearer {token}"}).status_code == 401


def test_everything_else_is_refused(issuer, trusting):
    """Invalid tokens of any signer and for any reason."""
    now = int(time.time())
    stranger = KINDS["ES256"][0]()
    good = issuer.token("ES256", AUDIENCE, scope="tools")
    header, payload, signature = good.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"at+jwt"}').decode().rstrip("=")
    refused = {
        "another's key": issuer.token("ES256", AUDIENCE, key=stranger, scope="tools"),
        "an unknown key": issuer.token("ES256", AUDIENCE, scope="tools", headers={"kid": "other"}),
        "a secret": issuer.token("HS256", AUDIENCE, key="x" * 64, scope="tools", headers={"kid": "ES256"}),
        "another hash": issuer.token("RS512", AUDIENCE, key=issuer.keys["RS256"], scope="tools"),
        "no algorithm": f"{none}.{payload}.{signature}",
        "no signature": f"{header}.{payload}.",
        "another audience": issuer.token("ES256", "api://other", scope="tools"),
        "another issuer": issuer.token("ES256", AUDIENCE, scope="tools", iss="https://evil.example"),
        "another subject": issuer.token("ES256", AUDIENCE, scope="tools", sub="eve"),
        "no subject": issuer.token("ES256", AUDIENCE, scope="tools", sub=None),
        "no end": issuer.token("ES256", AUDIENCE, scope="tools", exp=None),
        "an end in the past": issuer.token("ES256", AUDIENCE, scope="tools", exp=now - 60),
        "a start to come": issuer.token("ES256", AUDIENCE, scope="tools", nbf=now + 120),
        "a key of its holder": issuer.token("ES256", AUDIENCE, scope="tools", cnf={"jkt": "x"}),
        "another kind": issuer.token("ES256", AUDIENCE, scope="tools", headers={"typ": "logout+jwt"}),
    }
    for what, token in refused.items():
        answer = knock(trusting, token)
        assert answer.status_code == 401, (what, answer.text)
        assert 'error="invalid_token"' in answer.headers["www-authenticate"], what
    answer = knock(trusting, issuer.token("ES256", AUDIENCE, scope="other"))
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]


def login(data_dir, *args):
    """Logs in like a person whose browser agrees."""
    command = [binary(), "mcp", "login", "guarded", "--no-browser", "--data-dir", str(data_dir), *args]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        address = next(line.strip() for line in process.stderr if line.strip().startswith("http"))
        page = httpx.get(address, follow_redirects=True)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode, out, page


def wait_for(what, timeout=20.0):
    """Waits for the first true result of `what`."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def succeeded(answer):
    """Returns the answer of a successful call."""
    return answer if answer.status_code == 200 and answer.json()["status"] == "success" else None


def test_a_login_gives_the_gateway_tokens_that_it_renews_by_itself(issuer, tmp_path):
    """From `mcp login` to a call, and through an automatic renewal."""
    guarded = Guarded(issuer)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "mcp.toml").write_text(f'[servers.guarded]\nurl = "{guarded.url}/mcp"\n')
    issuer.life_s = 4
    code, out, page = login(data)
    assert code == 0, out
    assert "logged in to guarded" in out
    assert page.status_code == 200 and "terminal" in page.text
    assert issuer.registered[0]["application_type"] == "native"
    assert issuer.registered[0]["redirect_uris"][0].startswith("http://127.0.0.1:")
    kept = data / "mcp-tokens" / "guarded"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not any(token.encode() in kept.read_bytes() for token in [*issuer.access, *issuer.refresh])
    gateway = Gateway(data).start()
    try:
        def call():
            return httpx.post(
                f"{gateway.url}/api/tools/guarded__secret/call",
                json={"args": {}},
                headers={"authorization": f"Bearer {gateway.owner_token}"},
            )

        answer = wait_for(lambda: succeeded(call()))
        assert "told" in answer.text
        before = issuer.refreshed
        wait_for(lambda: succeeded(call()) and issuer.refreshed > before)
        assert not any("twy_" in token for token in guarded.seen), "the gateway's own tokens go to nobody"
    finally:
        gateway.stop()
        guarded.stop()


def test_a_removed_login_no_longer_works(issuer, tmp_path):
    """Removing a login that does not exist is an error."""
    guarded = Guarded(issuer)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "mcp.toml").write_text(f'[servers.guarded]\nurl = "{guarded.url}/mcp"\n')
    assert login(data)[0] == 0
    forget = [binary(), "mcp", "logout", "guarded", "--data-dir", str(data)]
    assert subprocess.run(forget, check=False).returncode == 0
    assert not (data / "mcp-tokens" / "guarded").exists()
    assert subprocess.run(forget, check=False, capture_output=True).returncode != 0
    guarded.stop()


def test_each_challenge_of_any_request_leads_to_a_login_that_meets_it(issuer, tmp_path):
    """A server that names a scope at its list of tools, and another one at a call."""
    guarded = GuardedByScope(issuer)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "mcp.toml").write_text(f'[servers.guarded]\nurl = "{guarded.url}/mcp"\n')
    code, out, _ = login(data)
    assert code == 0, out
    assert [asked["scope"] for asked in issuer.asked] == ["basic"]
    gateway = Gateway(data).start()
    try:
        headers = {"authorization": f"Bearer {gateway.owner_token}"}

        def call():
            url = f"{gateway.url}/api/tools/guarded__secret/call"
            return httpx.post(url, json={"args": {}}, headers=headers)

        def status():
            return httpx.get(f"{gateway.url}/api/mcp/servers/guarded", headers=headers).json()["status"]

        wait_for(lambda: status()["state"] == "connected")
        refused = call()
        assert refused.json()["code"] == "auth_required", refused.text
        assert "toolway mcp login guarded" in refused.text
        assert status()["state"] == "connected", "other tools still work"
        code, out, _ = login(data)
        assert code == 0, out
        assert issuer.asked[1]["scope"] == "basic write"
        assert "told" in wait_for(lambda: succeeded(call())).text
    finally:
        gateway.stop()
        guarded.stop()
