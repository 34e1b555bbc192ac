"""Tokens for MCP servers that the gateway gets without a person, checked by other libraries."""

import subprocess

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from gateway_process import Gateway, binary
from issuer import KINDS, Guarded
from test_sign_in import succeeded, wait_for
from unattended_issuer import JWT_BEARER, TOKEN_EXCHANGE, IdentityProvider, UnattendedIssuer, check_proof

SECRET = "s3cret with: signs & more"


class GuardedByTokens(Guarded):
    """A server that takes the tokens of an issuer; with a nonce, only tokens that are bound to a key."""

    def __init__(self, issuer, nonce=None):
        self.nonce = nonce
        self.proofs = set()
        super().__init__(issuer)

    def respond(self, method, path, query, headers, body):
        if path != "/mcp":
            return super().respond(method, path, query, headers, body)
        if method != "POST":
            return 405, {}, ""
        scheme, _, token = (headers.get("authorization") or "").partition(" ")
        self.seen.append(token)
        if token not in self.issuer.tokens:
            return 401, {"www-authenticate": "DPoP" if self.nonce else "Bearer"}, ""
        if not self.nonce:
            assert scheme == "Bearer"
            return self.answer(body)
        assert scheme == "DPoP"
        key = check_proof(headers["dpop"], "POST", f"{self.url}/mcp", self.proofs, self.nonce, token)
        if key is None:
            refused = {"www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": self.nonce}
            return 401, refused, ""
        assert key == self.issuer.tokens[token]
        return self.answer(body)


def add(data, *args, secret=""):
    """Adds the server with `toolway mcp add`."""
    command = [binary(), "mcp", "add", "guarded", "--data-dir", str(data), *args]
    ran = subprocess.run(command, input=secret, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def login(data):
    """Tests the grant with `toolway mcp login`."""
    command = [binary(), "mcp", "login", "guarded", "--data-dir", str(data)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def call(gateway):
    """Calls the server's tool."""
    return httpx.post(
        f"{gateway.url}/api/tools/guarded__secret/call",
        json={"args": {}},
        headers={"authorization": f"Bearer {gateway.owner_token}"},
    )


def check_calls(data, issuer, grant):
    """Starts a gateway that has no token. Its calls work, also after the tokens have expired."""
    (data / "mcp-tokens" / "guarded").unlink(missing_ok=True)
    issuer.grants.clear()
    issuer.life_s = 4
    gateway = Gateway(data).start()
    try:
        assert "told" in wait_for(lambda: succeeded(call(gateway))).text
        before = len(issuer.grants)
        wait_for(lambda: succeeded(call(gateway)) and len(issuer.grants) > before)
        assert set(issuer.grants) == {grant}
    finally:
        gateway.stop()


@pytest.fixture
def data(tmp_path):
    """A data folder."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


def test_a_client_with_a_secret(data):
    """The secret comes from standard input, and is neither shown nor in a definition."""
    issuer = UnattendedIssuer(secrets={"an id:with/signs": SECRET})
    guarded = GuardedByTokens(issuer)
    add(data, "--url", f"{guarded.url}/mcp", "--grant", "client-credentials", "--client-id", "an id:with/signs",
        "--client-secret", "--issuer", issuer.url, secret=SECRET)
    assert SECRET not in (data / "mcp.toml").read_text()
    ran = login(data)
    assert ran.returncode == 0, ran.stderr
    assert "no person is needed" in ran.stdout and "1 tool" in ran.stdout, ran.stdout
    assert SECRET not in ran.stdout + ran.stderr
    kept = (data / "mcp-tokens" / "guarded").read_bytes()
    assert not any(token.encode() in kept for token in [*issuer.tokens, SECRET])
    check_calls(data, issuer, "client_credentials")


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_with_a_key(data, tmp_path, kind):
    """Keys that another library made and checks, of each kind."""
    key = KINDS[kind][0]()
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    issuer = UnattendedIssuer(keys={"toolway": (key.public_key(), kind)})
    guarded = GuardedByTokens(issuer)
    add(data, "--url", f"{guarded.url}/mcp", "--grant", "client-credentials", "--client-id", "toolway",
        "--private-key", str(file), "--issuer", issuer.url)
    ran = login(data)
    assert ran.returncode == 0, ran.stderr
    check_calls(data, issuer, "client_credentials")


def test_an_assertion_that_the_client_signs(data, tmp_path):
    """A service account: the client signs for it, without another credential."""
    key = KINDS["RS256"][0]()
    file = tmp_path / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    issuer = UnattendedIssuer(trusted={"toolway": (key.public_key(), "RS256")})
    guarded = GuardedByTokens(issuer)
    add(data, "--url", f"{guarded.url}/mcp", "--grant", "jwt-bearer", "--client-id", "toolway", "--private-key",
        str(file), "--subject", "ada", "--issuer", issuer.url)
    check_calls(data, issuer, JWT_BEARER)


def test_an_identity_provider_of_a_company(data):
    """Two servers with two clients: neither sees the secret of the other."""
    signer = KINDS["ES256"][0]()
    provider = IdentityProvider(signer, "the persons token", "toolway", secrets={"sso": "one"})
    issuer = UnattendedIssuer(secrets={"toolway": "two"}, trusted={provider.url: (signer.public_key(), "ES256")})
    guarded = GuardedByTokens(issuer)
    for name, value in {"one": "one", "two": "two", "person": "the persons token"}.items():
        command = [binary(), "secrets", "set", name, "--data-dir", str(data)]
        subprocess.run(command, input=value, text=True, check=True, capture_output=True)
    add(data, "--url", f"{guarded.url}/mcp", "--grant", "enterprise-managed", "--client-id", "toolway",
        "--client-secret=secret:two", "--issuer", issuer.url, "--idp-issuer", provider.url, "--idp-client-id", "sso",
        "--idp-client-secret=secret:one", "--identity-token=secret:person", "--identity-token-type", "refresh-token")
    check_calls(data, issuer, JWT_BEARER)
    assert set(provider.grants) == {TOKEN_EXCHANGE}


def test_tokens_that_are_bound_to_a_key(data):
    """Each request has its own proof, with the token and the nonces of both servers."""
    issuer = UnattendedIssuer(secrets={"toolway": SECRET}, nonce="of-the-issuer")
    guarded = GuardedByTokens(issuer, nonce="of-the-server")
    add(data, "--url", f"{guarded.url}/mcp", "--grant", "client-credentials", "--client-id", "toolway",
        "--client-secret", "--issuer", issuer.url, secret=SECRET)
    check_calls(data, issuer, "client_credentials")
    assert len(guarded.proofs) > 3


def test_a_refused_client_is_shown_and_not_tried_without_end(data):
    """The state names the reason. The owner's own test is made at once and fails."""
    issuer = UnattendedIssuer(secrets={"toolway": SECRET})
    issuer.refusal = 401, {"content-type": "application/json"}, '{"error":"invalid_client"}'
    guarded = GuardedByTokens(issuer)
    add(data, "--url", f"{guarded.url}/mcp", "--grant", "client-credentials", "--client-id", "toolway",
        "--client-secret", "--issuer", issuer.url, secret=SECRET)
    gateway = Gateway(data).start()
    try:
        def status():
            headers = {"authorization": f"Bearer {gateway.owner_token}"}
            return httpx.get(f"{gateway.url}/api/mcp/servers/guarded", headers=headers).json()["status"]

        # The connection is tried again after half a second, and then after a second.
        wait_for(lambda: status()["state"] == "failed" and len(guarded.seen) > 2)
        found = status()["problem"]
        assert "invalid_client" in found["message"] and "toolway mcp login guarded" in found["hint"], found
        assert len(issuer.grants) == 1
        ran = login(data)
        assert ran.returncode != 0 and "invalid_client" in ran.stderr, ran.stderr
        assert SECRET not in ran.stderr
        issuer.refusal = None
        ran = login(data)
        assert ran.returncode == 0, ran.stderr
        assert "told" in wait_for(lambda: succeeded(call(gateway))).text
    finally:
        gateway.stop()
