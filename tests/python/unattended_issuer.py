"""An authorization server for clients without a person, written from the RFCs alone, with keys and tokens of PyJWT."""

import base64
import hashlib
import json
import time
import uuid
from urllib.parse import parse_qs, unquote_plus

import jwt
from issuer import Server, document

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def sha256(text):
    """Returns the hash of a text as tokens write it."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def thumbprint(jwk):
    """Returns the thumbprint of an EC key (RFC 7638)."""
    required = {name: jwk[name] for name in ["crv", "kty", "x", "y"]}
    return sha256(json.dumps(required, separators=(",", ":"), sort_keys=True))


def check_proof(proof, method, url, seen, nonce=None, token=None):
    """Checks a DPoP proof as RFC 9449, section 4.3, says. Returns the thumbprint of its key, or None without the
    nonce."""
    header = jwt.get_unverified_header(proof)
    assert header["typ"] == "dpop+jwt" and "d" not in header["jwk"]
    claims = jwt.decode(proof, jwt.PyJWK(header["jwk"]).key, algorithms=["ES256"])
    assert (claims["htm"], claims["htu"]) == (method, url), claims
    assert abs(claims["iat"] - time.time()) < 60
    assert claims["jti"] not in seen, "a proof was sent twice"
    seen.add(claims["jti"])
    assert claims.get("ath") == (sha256(token) if token else None)
    return None if nonce and claims.get("nonce") != nonce else thumbprint(header["jwk"])


class UnattendedIssuer(Server):
    """Issues tokens for client credentials and assertions. `secrets` and `keys` are those of its clients."""

    def __init__(self, secrets=None, keys=None, trusted=None, nonce=None):
        self.secrets = secrets or {}
        # (public key, algorithm) by client.
        self.keys = keys or {}
        # Keys of the issuers of assertions.
        self.trusted = trusted or {}
        self.nonce = nonce
        self.life_s = 3600
        self.refusal = None
        self.grants = []
        self.proofs = set()
        # The thumbprint of the key by token; None for bearer tokens.
        self.tokens = {}
        super().__init__()

    def respond(self, method, path, query, headers, body):
        if path == "/.well-known/oauth-authorization-server":
            methods = ["client_secret_basic"] * bool(self.secrets) + ["private_key_jwt"] * bool(self.keys)
            metadata = {
                "issuer": self.url,
                "token_endpoint": f"{self.url}/token",
                "token_endpoint_auth_methods_supported": methods or ["none"],
            }
            if self.nonce:
                metadata["dpop_signing_alg_values_supported"] = ["ES256"]
            return document(metadata)
        if path != "/token" or method != "POST":
            return 404, {}, ""
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if self.refusal:
            self.grants.append(form["grant_type"])
            return self.refusal
        key = None
        if self.nonce:
            key = check_proof(headers["dpop"], "POST", f"{self.url}/token", self.proofs, self.nonce)
            if key is None:
                status, fields, text = document({"error": "use_dpop_nonce"}, 400)
                return status, {**fields, "dpop-nonce": self.nonce}, text
        client = self.client(form, headers)
        self.grants.append(form["grant_type"])
        return document(self.grant(form, client, key))

    def client(self, form, headers):
        """Returns the id of the client that has proved who it is."""
        if "client_assertion" in form:
            assert form["client_assertion_type"] == ASSERTION_TYPE
            name = jwt.decode(form["client_assertion"], options={"verify_signature": False})["iss"]
            key, algorithm = self.keys[name]
            claims = jwt.decode(form["client_assertion"], key, algorithms=[algorithm], audience=self.url)
            assert claims["sub"] == name and claims["exp"] - claims["iat"] <= 300
            assert claims["jti"] not in self.proofs
            self.proofs.add(claims["jti"])
            return name
        if self.secrets:
            pair = base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode()
            name, secret = (unquote_plus(part) for part in pair.split(":"))
            assert self.secrets[name] == secret
            return name
        return form["client_id"]

    def grant(self, form, client, key):
        """Returns the response to a valid request."""
        if form["grant_type"] == JWT_BEARER:
            issuer = jwt.decode(form["assertion"], options={"verify_signature": False})["iss"]
            signer, algorithm = self.trusted[issuer]
            claims = jwt.decode(form["assertion"], signer, algorithms=[algorithm], audience=self.url)
            assert claims.get("client_id", client) == client
            assert claims.get("resource", form["resource"]) == form["resource"]
        else:
            assert form["grant_type"] == "client_credentials"
        token = uuid.uuid4().hex
        self.tokens[token] = key
        kind = "DPoP" if key else "Bearer"
        return {"access_token": token, "token_type": kind, "expires_in": self.life_s}


class IdentityProvider(UnattendedIssuer):
    """Exchanges the token `subject` of a person for assertions that its own key signs."""

    def __init__(self, signer, subject, client_of_resource, **clients):
        self.signer = signer
        self.subject = subject
        self.client_of_resource = client_of_resource
        super().__init__(**clients)

    def grant(self, form, client, key):
        assert form["grant_type"] == TOKEN_EXCHANGE
        assert form["requested_token_type"] == ID_JAG
        assert form["subject_token"] == self.subject
        assert form["subject_token_type"] == "urn:ietf:params:oauth:token-type:refresh_token"
        now = int(time.time())
        claims = {
            "iss": self.url,
            "sub": "ada",
            "aud": form["audience"],
            "resource": form["resource"],
            "client_id": self.client_of_resource,
            "iat": now,
            "exp": now + 300,
            "jti": uuid.uuid4().hex,
        }
        assertion = jwt.encode(claims, self.signer, algorithm="ES256", headers={"typ": "oauth-id-jag+jwt"})
        return {"access_token": assertion, "issued_token_type": ID_JAG, "token_type": "N_A", "expires_in": 300}
