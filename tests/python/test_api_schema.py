"""The REST API from its own OpenAPI document, through schemathesis: whatever it says it takes it
takes, what it does not it refuses, and what it answers is what it said it would."""

import json
import re

import pytest
import schemathesis
from conftest import PATIENT
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance


@pytest.fixture(scope="session")
def schema_gateway(gateway_factory):
    """A separate gateway, in which everything may be created, renamed and deleted."""
    return gateway_factory({"limits": PATIENT}, fresh=True)


@pytest.fixture(scope="session")
def api_schema(schema_gateway):
    """The published document, read with the owner's token."""
    gw = schema_gateway
    headers = {"Authorization": f"Bearer {gw.owner_token}"}
    loaded = schemathesis.openapi.from_url(f"{gw.url}/api/openapi.json", headers=headers)
    loaded.config.update(base_url=gw.url)
    return loaded


#: Invisible characters beyond the basic plane. Dialects of patterns write these in different ways, so the document
#: leaves them out.
INVISIBLE = re.compile("[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")


def is_pattern(text):
    """True for a text with the special characters of patterns over tools."""
    return isinstance(text, str) and any(c in text for c in "[]{}!*?\\/")


def is_not_expressible(case):
    """True for a body that may be refused although it has the right form. Patterns over tools are a language of their
    own, and an attached image must have the bytes of one."""
    path, body = case.operation.path, case.body
    if path == "/api/policy/rules/{name}" or INVISIBLE.search(json.dumps(body, ensure_ascii=False, default=str)):
        return True
    if not isinstance(body, dict):
        return False
    if path == "/api/grants":
        return is_pattern(body.get("tool"))
    if path == "/api/chat":
        attached = body.get("attachments")
        return isinstance(attached, list) and any(isinstance(it, dict) and it.get("type") == "image" for it in attached)
    if path == "/api/personas/{name}":
        names = [*(body.get("allowed_tools") or []), *(body.get("denied_tools") or [])]
        return any(is_pattern(name) or not name for name in names)
    return False


schema = (
    schemathesis.pytest.from_fixture("api_schema")
    # Endless by design; test_rest.py and test_tool_system.py read them.
    .exclude(path_regex=r"/(tail|watch)$")
    # What would stop the gateway or change the token this test speaks with.
    .exclude(path_regex=r"shutdown|restart|rotate")
    # Sockets are no REST.
    .exclude(path_regex=r"^/ws/")
)


@schema.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_api_schema(case, schema_gateway):
    if case.operation.path == "/api/mcp/servers/{name}" and isinstance(case.body, dict):
        # Made-up addresses are not to be connected to. What is wrong with a body stays wrong.
        if isinstance(case.body.get("disabled", True), bool):
            case.body["disabled"] = True
    if case.operation.path == "/api/agents/{name}" and isinstance(case.body, dict):
        # JSON Schema can't say which time zones exist. What is wrong with a name stays wrong.
        zone = case.body.get("time_zone")
        if isinstance(zone, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]{0,99}", zone):
            case.body["time_zone"] = "UTC"
    case.call_and_validate(
        headers={"Authorization": f"Bearer {schema_gateway.owner_token}"},
        timeout=20,
        excluded_checks=[positive_data_acceptance] if is_not_expressible(case) else [],
    )
    assert schema_gateway.process.poll() is None, schema_gateway.log()
