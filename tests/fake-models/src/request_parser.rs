//! Parses requests leniently; [`crate::validation`] reports errors.

use serde_json::Value;

use crate::api::ApiKind;
use crate::received_request::{ParsedRequest, ParsedToolCall, ParsedToolResult};

/// Parses a body.
pub(crate) fn parse_request(api: ApiKind, body: &Value) -> ParsedRequest {
    match api {
        ApiKind::Openai | ApiKind::Compatible => chat(body),
        ApiKind::OpenaiResponses => responses(body),
        ApiKind::Anthropic => anthropic(body),
        ApiKind::Gemini => gemini(body),
    }
}

/// Converts the fields of Gemini's body to camel case: it also accepts `snake_case`, and its SDKs send both
/// in one body.
pub(crate) fn to_camel_case(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let camel = fields.iter().map(|(name, value)| {
                let name = camel_name(name);
                // Names below these are the user's own.
                let is_theirs = matches!(
                    name.as_str(),
                    "args"
                        | "response"
                        | "parameters"
                        | "parametersJsonSchema"
                        | "responseSchema"
                        | "responseJsonSchema"
                );
                let value = if is_theirs { value.clone() } else { to_camel_case(value) };
                (name, value)
            });
            Value::Object(camel.collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(to_camel_case).collect()),
        other => other.clone(),
    }
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    // A leading underscore belongs to the name.
    let first = words.next().unwrap_or_default();
    if first.is_empty() {
        return name.to_owned();
    }
    let rest = words.map(|word| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
    });
    first.to_owned() + &rest.collect::<String>()
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the text and the number of images of a content that is a string or a list of parts.
fn content(value: Option<&Value>) -> (String, usize) {
    match value {
        Some(Value::String(text)) => (text.clone(), 0),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            let is_image =
                |part: &&Value| matches!(text(part, "type").as_str(), "image" | "image_url" | "input_image");
            (texts.collect(), parts.iter().filter(is_image).count())
        }
        _ => (String::new(), 0),
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()))
}

fn chat(body: &Value) -> ParsedRequest {
    let mut said = ParsedRequest { model: text(body, "model"), ..ParsedRequest::default() };
    said.stream = body.get("stream") == Some(&Value::Bool(true));
    said.tools = list(body, "tools").iter().map(|tool| text(&tool["function"], "name")).collect();
    for message in list(body, "messages") {
        let (words, images) = content(message.get("content"));
        match text(message, "role").as_str() {
            "system" | "developer" => said.add_system(&words),
            "tool" => {
                let id = text(message, "tool_call_id");
                let name = said.name_of(&id);
                let result = ParsedToolResult { id, name, text: words, images, is_error: None };
                said.message("tool").results.push(result);
            }
            role => {
                let calls = list(message, "tool_calls").iter().map(|call| ParsedToolCall {
                    id: text(call, "id"),
                    name: text(&call["function"], "name"),
                    arguments: match &call["function"]["arguments"] {
                        Value::String(text) => parsed(text),
                        other => other.clone(),
                    },
                });
                let calls: Vec<_> = calls.collect();
                let into = said.message(role);
                into.text.push_str(&words);
                into.images += images;
                into.calls.extend(calls);
                let thinks =
                    ["reasoning_content", "reasoning"].iter().any(|name| message.get(name).is_some());
                into.thinking += usize::from(thinks);
            }
        }
    }
    said
}

fn responses(body: &Value) -> ParsedRequest {
    let mut said = ParsedRequest { model: text(body, "model"), ..ParsedRequest::default() };
    said.stream = body.get("stream") == Some(&Value::Bool(true));
    said.tools = list(body, "tools").iter().map(|tool| text(tool, "name")).collect();
    let instructions = text(body, "instructions");
    if !instructions.is_empty() {
        said.add_system(&instructions);
    }
    if let Some(Value::String(input)) = body.get("input") {
        said.message("user").text.push_str(input);
    }
    for item in list(body, "input") {
        match text(item, "type").as_str() {
            "function_call" => {
                let call = ParsedToolCall {
                    id: text(item, "call_id"),
                    name: text(item, "name"),
                    arguments: parsed(&text(item, "arguments")),
                };
                said.message("assistant").calls.push(call);
            }
            "function_call_output" => {
                let id = text(item, "call_id");
                let name = said.name_of(&id);
                let (words, images) = content(item.get("output"));
                let result = ParsedToolResult { id, name, text: words, images, is_error: None };
                said.message("tool").results.push(result);
            }
            "reasoning" => said.message("assistant").thinking += 1,
            _ => {
                let (words, images) = content(item.get("content"));
                match text(item, "role").as_str() {
                    "system" | "developer" => said.add_system(&words),
                    role => {
                        let into = said.message(role);
                        into.text.push_str(&words);
                        into.images += images;
                    }
                }
            }
        }
    }
    said
}

fn anthropic(body: &Value) -> ParsedRequest {
    let mut said = ParsedRequest { model: text(body, "model"), ..ParsedRequest::default() };
    said.stream = body.get("stream") == Some(&Value::Bool(true));
    said.tools = list(body, "tools").iter().map(|tool| text(tool, "name")).collect();
    let (system, _) = content(body.get("system"));
    if !system.is_empty() {
        said.add_system(&system);
    }
    for message in list(body, "messages") {
        let role = text(message, "role");
        if let Some(Value::String(words)) = message.get("content") {
            said.message(&role).text.push_str(words);
        }
        for block in list(message, "content") {
            match text(block, "type").as_str() {
                "text" => said.message(&role).text.push_str(&text(block, "text")),
                "image" => said.message(&role).images += 1,
                "thinking" | "redacted_thinking" => said.message(&role).thinking += 1,
                "tool_use" => {
                    let call = ParsedToolCall {
                        id: text(block, "id"),
                        name: text(block, "name"),
                        arguments: block.get("input").cloned().unwrap_or_default(),
                    };
                    said.message(&role).calls.push(call);
                }
                "tool_result" => {
                    let id = text(block, "tool_use_id");
                    let name = said.name_of(&id);
                    let (words, images) = content(block.get("content"));
                    let is_error = Some(block.get("is_error") == Some(&Value::Bool(true)));
                    let result = ParsedToolResult { id, name, text: words, images, is_error };
                    said.message("tool").results.push(result);
                }
                _ => {}
            }
        }
    }
    said
}

fn gemini(body: &Value) -> ParsedRequest {
    let mut said = ParsedRequest::default();
    for group in list(body, "tools") {
        let declared = list(group, "functionDeclarations").iter();
        said.tools.extend(declared.map(|function| text(function, "name")));
    }
    let system = list(&body["systemInstruction"], "parts").iter().map(|part| text(part, "text"));
    let system: String = system.collect();
    if !system.is_empty() {
        said.add_system(&system);
    }
    for turn in list(body, "contents") {
        let role = if text(turn, "role") == "model" { "assistant" } else { "user" };
        for part in list(turn, "parts") {
            if part.get("thought") == Some(&Value::Bool(true)) {
                said.message(role).thinking += 1;
            } else if let Some(call) = part.get("functionCall") {
                let call = ParsedToolCall {
                    id: text(call, "id"),
                    name: text(call, "name"),
                    arguments: call.get("args").cloned().unwrap_or_default(),
                };
                said.message(role).calls.push(call);
            } else if let Some(response) = part.get("functionResponse") {
                let result = gemini_result(response);
                said.message("tool").results.push(result);
            } else if part.get("inlineData").is_some() {
                // An image next to results belongs to the last of them.
                let into = said.messages.last_mut().and_then(|message| message.results.last_mut());
                match into {
                    Some(result) if role == "user" => result.images += 1,
                    _ => said.message(role).images += 1,
                }
            } else {
                said.message(role).text.push_str(&text(part, "text"));
            }
        }
    }
    said
}

fn gemini_result(response: &Value) -> ParsedToolResult {
    let inner = &response["response"];
    let is_error = inner.get("error").is_some();
    let output = match (inner.get("error"), inner.get("output")) {
        (Some(error), _) => error,
        (None, Some(output)) => output,
        // Without either, all of it is the output.
        (None, None) => inner,
    };
    ParsedToolResult {
        id: text(response, "id"),
        name: text(response, "name"),
        text: output.as_str().map_or_else(|| output.to_string(), str::to_owned),
        images: list(response, "parts").len(),
        is_error: Some(is_error),
    }
}
