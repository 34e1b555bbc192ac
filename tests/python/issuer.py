"""An authorization server and an MCP server that wants its tokens, written from the RFCs alone, on loopback ports.

Tokens are signed by PyJWT with keys that `cryptography` makes: nothing here is shared with the program under test.
"""

import base64
import hashlib
import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm


class Server:
    """An HTTP server on a free port, in threads, until it is stopped."""

    def __init__(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, method):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length).decode()
                url = urlsplit(self.path)
                found = outer.respond(method, url.path, dict(parse_qsl(url.query)), self.headers, body)
                status, headers, text = found
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                data = text.encode()
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer("GET")

            def do_POST(self):
                self.answer("POST")

            def do_DELETE(self):
                self.answer("DELETE")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def respond(self, method, path, query, headers, body):
        raise NotImplementedError


def document(value, status=200):
    return status, {"content-type": "application/json"}, json.dumps(value)


#: Algorithm, a function that creates a key, and PyJWT's function for its public part.
KINDS = {
    "RS256": (lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048), RSAAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


class Issuer(Server):
    """An authorization server with a key of each kind."""

    def __init__(self):
        self.keys = {name: make() for name, (make, _) in KINDS.items()}
        self.codes = {}
        # Queries of the authorization requests.
        self.asked = []
        self.refresh = {}
        self.access = set()
        # Granted scopes by access token.
        self.scopes = {}
        self.registered = []
        self.refreshed = 0
        self.life_s = 3600
        super().__init__()

    def jwks(self):
        keys = []
        for name, key in self.keys.items():
            jwk = KINDS[name][1].to_jwk(key.public_key(), as_dict=True)
            keys.append({**jwk, "kid": name, "alg": name, "use": "sig"})
        return {"keys": keys}

    def token(self, algorithm, audience, *, key=None, headers=None, **claims):
        now = int(time.time())
        claims = {"iss": self.url, "sub": "ada", "aud": audience, "iat": now, "exp": now + 600, **claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        headers = {"kid": algorithm, "typ": "at+jwt", **(headers or {})}
        return jwt.encode(claims, key or self.keys[algorithm], algorithm=algorithm, headers=headers)

    def respond(self, method, path, query, headers, body):
        if path == "/.well-known/oauth-authorization-server":
            return document(
                {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "registration_endpoint": f"{self.url}/register",
                    "jwks_uri": f"{self.url}/keys",
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                }
            )
        if path == "/keys":
            return document(self.jwks())
        if path == "/register" and method == "POST":
            self.registered.append(json.loads(body))
            return document({"client_id": f"client-{len(self.registered)}"}, 201)
        if path == "/authorize":
            code = uuid.uuid4().hex
            self.codes[code] = query
            self.asked.append(query)
            back = urlencode({"code": code, "state": query["state"]})
            return 302, {"location": f"{query['redirect_uri']}?{back}"}, ""
        if path == "/token" and method == "POST":
            return self.exchange({name: values[0] for name, values in parse_qs(body).items()})
        return 404, {}, ""

    def exchange(self, form):
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            good = (
                asked is not None
                and asked["code_challenge"] == challenge
                and asked["redirect_uri"] == form["redirect_uri"]
                and asked["resource"] == form["resource"]
                and asked["client_id"] == form["client_id"]
            )
        else:
            asked = None
            good = self.refresh.pop(form["refresh_token"], None) == form["client_id"]
            self.refreshed += good
        if not good:
            return document({"error": "invalid_grant"}, 400)
        access, refresh = uuid.uuid4().hex, uuid.uuid4().hex
        self.access = {access}
        self.refresh[refresh] = form["client_id"]
        self.scopes[access] = (asked or {}).get("scope", "").split()
        return document(
            {
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": self.life_s,
                "refresh_token": refresh,
            }
        )


class Guarded(Server):
    """An MCP server of 2025-11-25 with one tool, for clients with a token of an issuer."""

    def __init__(self, issuer):
        self.issuer = issuer
        self.seen = []
        super().__init__()

    def respond(self, method, path, query, headers, body):
        if path == "/.well-known/oauth-protected-resource/mcp":
            return document({"resource": f"{self.url}/mcp", "authorization_servers": [self.issuer.url]})
        if path != "/mcp":
            return 404, {}, ""
        token = (headers.get("authorization") or "").removeprefix("Bearer ")
        self.seen.append(token)
        if token not in self.issuer.access:
            place = f"{self.url}/.well-known/oauth-protected-resource/mcp"
            return 401, {"www-authenticate": f'Bearer resource_metadata="{place}"'}, ""
        if method != "POST":
            return 405, {}, ""
        return self.answer(body)

    def answer(self, body):
        asked = json.loads(body)
        if "id" not in asked:
            return 202, {}, ""
        answer = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] == "initialize":
            answer["result"] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            }
        elif asked["method"] == "tools/list":
            answer["result"] = {"tools": [{"name": "secret", "inputSchema": {"type": "object"}}]}
        elif asked["method"] == "tools/call":
            answer["result"] = {"content": [{"type": "text", "text": "told"}]}
        else:
            answer["error"] = {"code": -32601, "message": "method not found"}
        return document(answer)


class GuardedByScope(Guarded):
    """A server that takes `initialize` from everyone, and wants a scope for its list and another one for calls."""

    NEEDED = {"tools/list": "basic", "tools/call": "write"}

    def respond(self, method, path, query, headers, body):
        if path == "/metadata":
            named = {"resource": f"{self.url}/mcp", "authorization_servers": [self.issuer.url]}
            return document({**named, "scopes_supported": ["profile"]})
        if path == "/.well-known/oauth-protected-resource/mcp":
            return 404, {}, ""
        asked = json.loads(body or "{}").get("method")
        if path != "/mcp" or method != "POST" or asked == "server/discover":
            return (405 if path == "/mcp" else 404), {}, ""
        token = (headers.get("authorization") or "").removeprefix("Bearer ")
        needed = self.NEEDED.get(asked)
        place = f'scope="{needed}", resource_metadata="{self.url}/metadata"'
        if needed and token not in self.issuer.access:
            return 401, {"www-authenticate": f"Bearer {place}"}, ""
        if needed and needed not in self.issuer.scopes[token]:
            return 403, {"www-authenticate": f'Bearer error="insufficient_scope", {place}'}, ""
        return self.answer(body)
