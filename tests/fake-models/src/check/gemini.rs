//! What Gemini refuses. Its front end reads the body as a protocol buffer, so that whatever has no field there is an
//! error; what is wrong beyond that is said by place.

use serde_json::Value;

use super::fields::{fields, is_name, list, text};
use crate::error::ApiError;
use crate::script::Model;
use crate::signatures;

const BODY: &[&str] = &[
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "model",
    "labels",
    "store",
    "serviceTier",
];
const CONFIG: &[&str] = &[
    "stopSequences",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "_responseJsonSchema",
    "responseModalities",
    "candidateCount",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "responseLogprobs",
    "logprobs",
    "enableEnhancedCivicAnswers",
    "speechConfig",
    "thinkingConfig",
    "imageConfig",
    "mediaResolution",
];
const TOOL: &[&str] = &[
    "functionDeclarations",
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
    "computerUse",
    "fileSearch",
    "googleMaps",
    "mcpServers",
];
const FUNCTION: &[&str] = &[
    "name",
    "description",
    "behavior",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
];
const PART: &[&str] = &[
    "text",
    "inlineData",
    "functionCall",
    "functionResponse",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "partMetadata",
    "mediaResolution",
    "toolCall",
    "toolResponse",
];
const DATA: &[&str] = &[
    "text",
    "inlineData",
    "functionCall",
    "functionResponse",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];
const SCHEMA: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

const NAME_CHARS: usize = 64;
const STOP_SEQUENCES: usize = 5;

type Checked = Result<(), ApiError>;

pub(super) fn check(body: &Value, model: &Model) -> Checked {
    let mut unknown = Vec::new();
    payload(body, &mut unknown);
    if !unknown.is_empty() {
        return Err(ApiError::invalid(
            unknown
                .into_iter()
                .map(|what| format!("Invalid JSON payload received. {what}"))
                .collect::<Vec<_>>()
                .join("\n"),
        ));
    }
    let mut wrong = Vec::new();
    declarations(body, &mut wrong);
    config(body, &mut wrong);
    contents(body, &mut wrong);
    if !wrong.is_empty() {
        let lines: Vec<_> = wrong.iter().map(|what| format!("* GenerateContentRequest.{what}")).collect();
        return Err(ApiError::invalid(format!("{}\n", lines.join("\n"))));
    }
    calls_and_responses(body)?;
    signed(body, model)
}

// What has no place in the protocol buffer.

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(char.to_ascii_lowercase());
    }
    snake
}

fn known_only(value: &Value, known: &[&str], at: &str, wrong: &mut Vec<String>) {
    for (name, _) in fields(value) {
        // Both spellings are read.
        if !known.iter().any(|known| known == name || snake(known) == *name) {
            let at = if at.is_empty() { String::new() } else { format!(" at '{at}'") };
            wrong.push(format!("Unknown name \"{name}\"{at}: Cannot find field."));
        }
    }
}

fn payload(body: &Value, wrong: &mut Vec<String>) {
    known_only(body, BODY, "", wrong);
    known_only(body.get("generationConfig").unwrap_or(&Value::Null), CONFIG, "generation_config", wrong);
    if let Some(schema) = body.pointer("/generationConfig/responseSchema") {
        schema_payload(schema, "generation_config.response_schema", wrong);
    }
    for (number, tool) in list(body, "tools").iter().enumerate() {
        let at = format!("tools[{number}]");
        known_only(tool, TOOL, &at, wrong);
        for (index, function) in list(tool, "functionDeclarations").iter().enumerate() {
            let at = format!("{at}.function_declarations[{index}]");
            known_only(function, FUNCTION, &at, wrong);
            if let Some(schema) = function.get("parameters") {
                schema_payload(schema, &format!("{at}.parameters"), wrong);
            }
        }
    }
    for (number, content) in list(body, "contents").iter().enumerate() {
        let at = format!("contents[{number}]");
        known_only(content, &["role", "parts"], &at, wrong);
        for (index, part) in list(content, "parts").iter().enumerate() {
            part_payload(part, &format!("{at}.parts[{index}]"), wrong);
        }
    }
}

fn part_payload(part: &Value, at: &str, wrong: &mut Vec<String>) {
    known_only(part, PART, at, wrong);
    for (field, known) in [
        ("functionCall", &["id", "name", "args"] as &[_]),
        ("functionResponse", &["id", "name", "response", "parts", "willContinue", "scheduling"]),
        ("inlineData", &["mimeType", "data", "displayName"]),
    ] {
        let inner = part.get(field).unwrap_or(&Value::Null);
        known_only(inner, known, &format!("{at}.{}", snake(field)), wrong);
    }
    for (field, inner) in [("functionCall", "args"), ("functionResponse", "response")] {
        if let Some(value) = part.get(field).and_then(|value| value.get(inner))
            && !value.is_object()
        {
            wrong.push(format!(
                "Invalid value at '{at}.{}.{inner}' (type.googleapis.com/google.protobuf.Struct), {value}",
                snake(field)
            ));
        }
    }
}

fn schema_payload(schema: &Value, at: &str, wrong: &mut Vec<String>) {
    known_only(schema, SCHEMA, at, wrong);
    if schema.get("type").is_some_and(Value::is_array) {
        wrong.push(format!(
            "Unknown name \"type\" at '{at}': Proto field is not repeating, cannot start list."
        ));
    }
    for (index, value) in list(schema, "enum").iter().enumerate() {
        if !value.is_string() {
            wrong.push(format!("Invalid value at '{at}.enum[{index}]' (TYPE_STRING), {value}"));
        }
    }
    let properties = schema.get("properties").unwrap_or(&Value::Null);
    for (index, (_, below)) in fields(properties).enumerate() {
        schema_payload(below, &format!("{at}.properties[{index}].value"), wrong);
    }
    for (index, below) in list(schema, "anyOf").iter().enumerate() {
        schema_payload(below, &format!("{at}.any_of[{index}]"), wrong);
    }
    if let Some(items) = schema.get("items") {
        schema_payload(items, &format!("{at}.items"), wrong);
    }
}

// What is wrong with what it says.

fn declarations(body: &Value, wrong: &mut Vec<String>) {
    let mut names = Vec::new();
    for (number, tool) in list(body, "tools").iter().enumerate() {
        for (index, function) in list(tool, "functionDeclarations").iter().enumerate() {
            let at = format!("tools[{number}].function_declarations[{index}]");
            let name = text(function, "name");
            let begins_well = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
            if !begins_well || !is_name(name, "_.:-") || name.len() > NAME_CHARS {
                wrong.push(format!(
                    "{at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric \
                     (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of \
                     {NAME_CHARS}."
                ));
            }
            if names.contains(&name) {
                wrong.push(format!("{at}.name: Duplicate function declaration found: {name}"));
            }
            names.push(name);
            let (plain, json) = (function.get("parameters"), function.get("parametersJsonSchema"));
            if plain.is_some() && json.is_some() {
                wrong.push(format!(
                    "{at}: parameters and parameters_json_schema are mutually exclusive, only one may be set."
                ));
            }
            if let Some(schema) = plain {
                self::schema(schema, &format!("{at}.parameters"), wrong);
            }
            if let Some(schema) = json
                && schema.get("type") != Some(&"object".into())
            {
                wrong.push(format!("{at}.parameters_json_schema: schema must be of type object."));
            }
        }
    }
}

fn kind_of(schema: &Value) -> String {
    text(schema, "type").to_ascii_uppercase()
}

fn schema(schema: &Value, at: &str, wrong: &mut Vec<String>) {
    let kind = kind_of(schema);
    let properties = schema.get("properties").unwrap_or(&Value::Null);
    match kind.as_str() {
        "" if schema.get("anyOf").is_none() => wrong.push(format!("{at}.type: must be specified")),
        "OBJECT" if fields(properties).next().is_none() => {
            wrong.push(format!("{at}.properties: should be non-empty for OBJECT type"));
        }
        "ARRAY" if schema.get("items").is_none() => wrong.push(format!("{at}.items: missing field.")),
        "" | "OBJECT" | "ARRAY" | "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "NULL" => {}
        _ => wrong.push(format!("{at}.type: unknown type")),
    }
    if kind != "STRING" && schema.get("enum").is_some() {
        wrong.push(format!("{at}.enum: only allowed for STRING type"));
    }
    if list(schema, "enum").iter().any(|value| value == "") {
        wrong.push(format!("{at}.enum: cannot be empty"));
    }
    match (kind.as_str(), text(schema, "format")) {
        (_, "") | ("STRING", "enum" | "date-time") => {}
        ("NUMBER", "float" | "double") | ("INTEGER", "int32" | "int64") => {}
        ("STRING", _) => {
            wrong.push(format!("{at}.format: only 'enum' and 'date-time' are supported for STRING type"));
        }
        _ => wrong.push(format!("{at}.format: not supported for {kind} type")),
    }
    for (index, name) in list(schema, "required").iter().enumerate() {
        if name.as_str().is_none_or(|name| properties.get(name).is_none()) {
            wrong.push(format!("{at}.required[{index}]: property is not defined"));
        }
    }
    for (name, below) in fields(properties) {
        self::schema(below, &format!("{at}.properties[{name}]"), wrong);
    }
    for (index, below) in list(schema, "anyOf").iter().enumerate() {
        self::schema(below, &format!("{at}.any_of[{index}]"), wrong);
    }
    if let Some(items) = schema.get("items") {
        self::schema(items, &format!("{at}.items"), wrong);
    }
}

fn config(body: &Value, wrong: &mut Vec<String>) {
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    if list(config, "stopSequences").len() > STOP_SEQUENCES {
        wrong.push(format!(
            "generation_config.stop_sequences: the number of stop_sequences must be at most {STOP_SEQUENCES}"
        ));
    }
    let schemas = ["responseSchema", "responseJsonSchema", "_responseJsonSchema"];
    if schemas.iter().any(|name| config.get(name).is_some())
        && text(config, "responseMimeType") != "application/json"
    {
        wrong.push(
            "generation_config.response_mime_type: must be 'application/json' with a schema".to_owned(),
        );
    }
    let calling = body.pointer("/toolConfig/functionCallingConfig").unwrap_or(&Value::Null);
    let mode = text(calling, "mode");
    if !["", "AUTO", "ANY", "NONE", "VALIDATED"].contains(&mode) {
        wrong.push(format!("tool_config.function_calling_config.mode: unknown mode {mode}"));
    }
    let allowed = list(calling, "allowedFunctionNames");
    if !allowed.is_empty() && mode != "ANY" && mode != "VALIDATED" {
        wrong.push(
            "tool_config.function_calling_config.allowed_function_names: should be set only when mode is ANY or \
             VALIDATED"
                .to_owned(),
        );
    }
    let declared: Vec<_> = list(body, "tools")
        .iter()
        .flat_map(|tool| list(tool, "functionDeclarations"))
        .map(|function| text(function, "name"))
        .collect();
    for (index, name) in allowed.iter().enumerate() {
        if !declared.contains(&name.as_str().unwrap_or_default()) {
            wrong.push(format!(
                "tool_config.function_calling_config.allowed_function_names[{index}]: is not one of the declared \
                 functions"
            ));
        }
    }
}

fn contents(body: &Value, wrong: &mut Vec<String>) {
    let contents = list(body, "contents");
    if contents.is_empty() {
        wrong.push("contents: contents is not specified".to_owned());
    }
    for (number, content) in contents.iter().enumerate() {
        let at = format!("contents[{number}]");
        if list(content, "parts").is_empty() {
            wrong.push(format!("{at}.parts: contents.parts must not be empty."));
        }
        for (index, part) in list(content, "parts").iter().enumerate() {
            let at = format!("{at}.parts[{index}]");
            if DATA.iter().filter(|name| part.get(name).is_some()).count() != 1 {
                wrong.push(format!("{at}.data: required oneof field 'data' must have one initialized field"));
            }
            for field in ["functionCall", "functionResponse"] {
                if part.get(field).is_some_and(|inner| text(inner, "name").is_empty()) {
                    wrong.push(format!("{at}.{}.name: Name cannot be empty.", snake(field)));
                }
            }
            if let Some(blob) = part.get("inlineData")
                && (text(blob, "mimeType").is_empty() || text(blob, "data").is_empty())
            {
                wrong.push(format!("{at}.inline_data: mime type and data are required"));
            }
        }
    }
}

/// The names of the calls, or of the responses, in a content.
fn names<'a>(content: Option<&'a Value>, field: &str) -> Vec<&'a str> {
    let parts = content.map(|content| list(content, "parts")).unwrap_or_default().iter();
    parts.filter_map(|part| part.get(field)).map(|inner| text(inner, "name")).collect()
}

fn calls_and_responses(body: &Value) -> Checked {
    let contents = list(body, "contents");
    for (number, content) in contents.iter().enumerate() {
        let role = text(content, "role");
        if !["", "user", "model"].contains(&role) {
            return Err(ApiError::invalid("Please use a valid role: user, model."));
        }
        let calls = names(Some(content), "functionCall");
        let before = number.checked_sub(1).and_then(|before| contents.get(before));
        if !calls.is_empty() {
            let follows = before.is_some_and(|before| text(before, "role") != "model");
            if role != "model" || !follows {
                return Err(ApiError::invalid(
                    "Please ensure that function call turn comes immediately after a user turn or after a function \
                     response turn.",
                ));
            }
            let responses = names(contents.get(number + 1), "functionResponse");
            if responses.len() != calls.len() {
                return Err(ApiError::invalid(
                    "Please ensure that the number of function response parts is equal to the number of function \
                     call parts of the function call turn.",
                ));
            }
            // Responses are told apart by their order, and by name where that shows a mistake.
            if let Some(name) = responses.iter().find(|name| !calls.contains(name)) {
                return Err(ApiError::invalid(format!(
                    "Please ensure that function response turn answers the functions of the function call turn: \
                     {name} was not called."
                )));
            }
        }
        let responses = names(Some(content), "functionResponse");
        if !responses.is_empty() && names(before, "functionCall").is_empty() {
            return Err(ApiError::invalid(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
    }
    Ok(())
}

/// In the current turn, the first call of each step carries its signature; and no signature is made up.
fn signed(body: &Value, model: &Model) -> Checked {
    let contents = list(body, "contents");
    let speaks = |content: &Value| {
        let said = |part: &Value| part.get("text").is_some() || part.get("inlineData").is_some();
        text(content, "role") != "model"
            && names(Some(content), "functionResponse").is_empty()
            && list(content, "parts").iter().any(said)
    };
    let current = contents.iter().rposition(speaks).unwrap_or(0);
    for (number, content) in contents.iter().enumerate() {
        let mut first = true;
        for (index, part) in list(content, "parts").iter().enumerate() {
            let signature = part.get("thoughtSignature").and_then(Value::as_str);
            if let Some(call) = part.get("functionCall") {
                let args = call.get("args").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                let right = signatures::of_call(text(call, "name"), &args);
                let wanted = model.thinks && first && number >= current;
                first = false;
                match signature {
                    Some(given) if given == right => {}
                    Some(_) => return Err(ApiError::invalid("Corrupted thought signature.")),
                    None if wanted => {
                        let name = text(call, "name");
                        return Err(ApiError::invalid(format!(
                            "Function call is missing a thought_signature in functionCall parts. This is required for \
                             tools to work correctly, and missing thought_signature may lead to degraded model \
                             performance. Additional data, function call `default_api:{name}` , position {number}."
                        )));
                    }
                    None => {}
                }
            } else if signature.is_some_and(|given| given != signatures::of_text()) {
                return Err(ApiError::invalid(format!(
                    "Corrupted thought signature. (contents[{number}].parts[{index}])"
                )));
            }
        }
    }
    Ok(())
}
