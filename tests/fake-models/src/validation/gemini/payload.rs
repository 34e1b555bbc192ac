//! Validates the fields against the protocol buffer.

use serde_json::Value;

use crate::validation::fields::{fields, list, words};

const BODY: &str = "\
    contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent model \
    labels store serviceTier";
const CONFIG: &str = "\
    stopSequences responseMimeType responseSchema responseJsonSchema _responseJsonSchema \
    responseModalities candidateCount maxOutputTokens temperature topP topK seed presencePenalty \
    frequencyPenalty responseLogprobs logprobs enableEnhancedCivicAnswers speechConfig thinkingConfig \
    imageConfig mediaResolution";
const TOOL: &str = "\
    functionDeclarations googleSearch googleSearchRetrieval codeExecution urlContext computerUse \
    fileSearch googleMaps mcpServers";
const FUNCTION: &[&str] = &[
    "name",
    "description",
    "behavior",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
];
const PART: &str = "\
    text inlineData functionCall functionResponse fileData executableCode codeExecutionResult thought \
    thoughtSignature videoMetadata partMetadata mediaResolution toolCall toolResponse";
const SCHEMA: &str = "\
    type format title description nullable enum maxItems minItems properties required minProperties \
    maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum \
    maximum";

pub(super) fn snake(name: &str) -> String {
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
        // Both spellings are accepted.
        if !known.iter().any(|known| known == name || snake(known) == *name) {
            let at = if at.is_empty() { String::new() } else { format!(" at '{at}'") };
            wrong.push(format!("Unknown name \"{name}\"{at}: Cannot find field."));
        }
    }
}

pub(super) fn payload(body: &Value, wrong: &mut Vec<String>) {
    known_only(body, &words(BODY), "", wrong);
    known_only(
        body.get("generationConfig").unwrap_or(&Value::Null),
        &words(CONFIG),
        "generation_config",
        wrong,
    );
    if let Some(schema) = body.pointer("/generationConfig/responseSchema") {
        schema_payload(schema, "generation_config.response_schema", wrong);
    }
    for (number, tool) in list(body, "tools").iter().enumerate() {
        let at = format!("tools[{number}]");
        known_only(tool, &words(TOOL), &at, wrong);
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
    known_only(part, &words(PART), at, wrong);
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
    known_only(schema, &words(SCHEMA), at, wrong);
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
