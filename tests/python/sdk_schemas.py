"""JSON Schemas of what the official SDKs send, made from the SDKs' own types when a test runs, and closed: a field
that the SDK does not have is an error. (Validating with the types themselves is of no use here: they are lazy where
they take an iterable, so that a bad element passes.)"""

import functools

import jsonschema_rs
import pydantic

#: Objects that are open because what stands in them is the user's own: the SDKs mark their answers as open too,
#: and take them back as requests.
OPEN = {"InputSchemaTyped"}


def closed(schema, name=None):
    """Returns the schema with additional properties forbidden in each object that names properties."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    # Below `properties` and `$defs`, keys are names and not keywords.
    named = ("properties", "$defs")
    result = {
        key: {name: closed(each, name) for name, each in value.items()} if key in named else closed(value)
        for key, value in schema.items()
        if key not in ("title", "description", "default")
    }
    if schema.get("type") == "object" and "properties" in schema and name not in OPEN:
        if schema.get("additionalProperties", True) is True:
            result["additionalProperties"] = False
    return result


def _openai():
    from openai.types.chat import completion_create_params as params

    return params.CompletionCreateParamsStreaming


def _openai_responses():
    from openai.types.responses import response_create_params as params

    return params.ResponseCreateParamsStreaming


def _anthropic():
    from anthropic.types import message_create_params as params

    return params.MessageCreateParamsStreaming


def _anthropic_beta():
    from anthropic.types.beta import message_create_params as params

    return params.MessageCreateParamsStreaming


def _gemini():
    from google.genai import types

    # The SDK has no one type for what it sends: it moves the fields of its configuration to where the API has them.
    optional = {
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "safetySettings": list[types.SafetySetting],
        "generationConfig": types.GenerationConfig,
        "cachedContent": str,
    }
    fields = {name: (kind | None, None) for name, kind in optional.items()}
    return pydantic.create_model(
        "Body", __config__=pydantic.ConfigDict(extra="forbid"), contents=(list[types.Content], ...), **fields
    )


KINDS = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    # With fields that need the header `anthropic-beta`.
    "anthropic-beta": _anthropic_beta,
    "gemini": _gemini,
    # What is compatible is spoken to as OpenAI is.
    "compatible": _openai,
}


@functools.cache
def validator(kind: str):
    """Returns a validator for bodies of this kind of model provider."""
    schema = pydantic.TypeAdapter(KINDS[kind]()).json_schema(by_alias=True)
    return jsonschema_rs.validator_for(closed(schema))


def complaints(kind: str, body) -> list[str]:
    """Returns the problems of a body."""
    return [
        f"at {'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
        for error in validator(kind).iter_errors(body)
    ]
