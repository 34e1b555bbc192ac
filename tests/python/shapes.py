"""The REST formats that the protocol document does not define, in one place.

Whatever a test needs of them goes through here, so that a different spelling in
`/api/openapi.json` is one change.
"""

import time
import uuid

# error_type of each code, from the protocol document's table.
ERROR_TYPE = {
    "tool_not_available": "execution_error",
    "invalid_arguments": "validation_error",
    "idempotency_conflict": "validation_error",
    "timeout": "timeout",
    "no_progress": "timeout",
    "denied": "permission_denied",
    "denied_always": "permission_denied",
    "approval_unavailable": "permission_denied",
    "auth_required": "permission_denied",
    "cancelled": "execution_error",
    "hook_cancelled": "execution_error",
    "device_disconnected": "execution_error",
    "gateway_restarted": "execution_error",
    "shutting_down": "execution_error",
    "tool_panicked": "execution_error",
    "tool_failed": "execution_error",
    "overloaded": "execution_error",
    "rate_limited": "execution_error",
    "output_too_large": "execution_error",
    "file_not_found": "execution_error",
    "http_status": "execution_error",
    "network": "execution_error",
}

AROUND = {"type", "id", "call_id", "duration_ms"}


def check_success(answer: dict, result="ok", content=None) -> dict:
    """Checks the envelope of a success and the fields of a call's answer."""
    wanted = {"status": "success", "result": result}
    if content is not None:
        wanted["content"] = content
    assert {k: v for k, v in answer.items() if k not in AROUND} == wanted, answer
    check_around(answer)
    return answer


def check_error(answer: dict, code: str, *, dispatched: bool, message=None, hint=None, retryable=None) -> dict:
    """Checks the envelope of an error: all required fields, no others."""
    fields = {k: v for k, v in answer.items() if k not in AROUND}
    assert fields.get("status") == "error" and fields.get("code") == code, answer
    assert fields["error_type"] == ERROR_TYPE[code], answer
    assert isinstance(fields["message"], str) and fields["message"], answer
    assert fields["dispatched"] is dispatched, answer
    assert isinstance(fields["retryable"], bool), answer
    assert set(fields) - {"hint", "authorize_intent"} == {
        "status",
        "error_type",
        "message",
        "code",
        "dispatched",
        "retryable",
    }, answer
    for optional in ("hint", "authorize_intent"):
        assert optional not in fields or isinstance(fields[optional], str), answer
    if message is not None:
        assert fields["message"] == message, answer
    if hint is not None:
        assert fields["hint"] == hint, answer
    if retryable is not None:
        assert fields["retryable"] is retryable, answer
    check_around(answer)
    return answer


def check_around(answer: dict) -> None:
    """call_id (UUIDv7) and duration_ms, in `call_result` and in REST."""
    assert is_uuid7(answer["call_id"]), answer
    assert isinstance(answer["duration_ms"], (int, float)) and answer["duration_ms"] >= 0, answer


def is_uuid7(text: str) -> bool:
    """Returns true for a UUID of version 7 in its usual format."""
    return str(uuid.UUID(text)) == text and uuid.UUID(text).version == 7


def refusal(response) -> str:
    """Checks the format of a refused request and returns its message."""
    error = response.json()["error"]
    assert set(error) - {"hint"} == {"code", "message"}, error
    assert all(isinstance(text, str) and text for text in error.values()), error
    return error["message"]


async def held_back(ask, after: int) -> None:
    """Repeats until a 429, which must come soon after this number of 401 (a few are refilled meanwhile)."""
    answers = []
    while len(answers) < 3 * after + 10:
        response = await ask()
        if response.status_code == 429:
            assert len(answers) >= after, len(answers)
            assert refusal(response) and int(response.headers["retry-after"]) > 0
            return
        assert response.status_code == 401, response.text
        answers.append(response)
    raise AssertionError(f"{len(answers)} tries and not held back")


def rows(body, key: str) -> list:
    """Returns the rows of a list answer: `{key: [...]}`."""
    if isinstance(body, list):
        return body
    return body[key]


def dig(value, *keys):
    """Returns the first value of one of these keys at any depth; None if there is none."""
    if isinstance(value, dict):
        for key in keys:
            if value.get(key) is not None:
                return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for nested in value:
            found = dig(nested, *keys)
            if found is not None:
                return found
    return None


def call_id(entry: dict) -> str:
    """Returns a logged call's id."""
    return entry.get("call_id") or entry["id"]


def call_code(entry: dict):
    """Returns a logged call's error code; None for a success."""
    return dig(entry, "code")


def call_status(entry: dict) -> str:
    """Returns a logged call's status: success or error."""
    return dig(entry, "status")


def next_cursor(body: dict):
    """Returns the cursor of the next page, if there is one."""
    return body.get("next_cursor")


def device_of(devices: list, slug: str) -> dict | None:
    """Returns the device with this source slug."""
    for entry in devices:
        if slug in (entry.get("source"), entry.get("slug"), entry.get("id"), entry.get("name")):
            return entry
    return None


def device_id(entry: dict) -> str:
    """Returns the id for `/api/devices/{id}`."""
    return entry.get("id") or entry["source"]


def is_connected(entry: dict) -> bool:
    """Returns true if a device's entry is online."""
    for key in ("online", "connected"):
        if isinstance(entry.get(key), bool):
            return entry[key]
    state = entry.get("status") or entry.get("state")
    assert isinstance(state, str), f"nothing says whether it is connected: {entry}"
    return state in ("online", "connected")


def last_heard(entry: dict):
    """Returns the time of the device's last message."""
    for key, value in entry.items():
        if any(word in key for word in ("last_seen", "last_heard", "heartbeat", "last_heartbeat", "last_pong")):
            return value
    raise AssertionError(f"no last heartbeat in {entry}")


def source_of(entry: dict) -> str:
    """Returns the source of a listed tool."""
    return entry["id"].split("/", 1)[0]


def fields_of(api: dict, schema: dict) -> dict:
    """Returns the schemas of an object's fields, in all of its variants."""
    while "$ref" in schema:
        found = api
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    found = dict(schema.get("properties", {}))
    for form in schema.get("oneOf", []) + schema.get("anyOf", []) + schema.get("allOf", []):
        found |= fields_of(api, form)
    return found


def request_fields(api: dict, path: str, method: str) -> dict:
    """Returns the schemas of the fields of a request's body."""
    return fields_of(api, api["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"])


def expires_in(api: dict, seconds: int) -> dict:
    """Returns the field of POST /api/tokens for an expiry after `seconds`."""
    properties = request_fields(api, "/api/tokens", "post")
    for name in properties:
        if not name.startswith(("expires", "ttl", "valid")):
            continue
        kind = properties[name].get("type")
        if kind == "string" or (isinstance(kind, list) and "string" in kind):
            return {name: f"{seconds}s"}
        relative = "in" in name.split("_") or name.startswith(("ttl", "valid"))
        if name.endswith("_ms"):
            return {name: seconds * 1000 if relative else int((time.time() + seconds) * 1000)}
        return {name: seconds if relative or name.endswith(("_s", "expires")) else int(time.time() + seconds)}
    raise AssertionError(f"no way to let a token expire in {sorted(properties)}")


def since(moment: float) -> int:
    """`since` of GET /api/calls for a Unix time: times are milliseconds everywhere in REST."""
    return int(moment * 1000)
