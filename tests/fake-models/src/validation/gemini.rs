//! Validates requests of Gemini. Its front end parses the body as a protocol buffer, so unknown fields are
//! errors; other errors name the position.

mod payload;
mod turns;

use serde_json::Value;

use super::fields::{fields, is_name, list, text, words};
use crate::error::ProviderApiError;
use crate::script::FakeModel;

use self::payload::{payload, snake};
use self::turns::{calls_and_responses, check_signatures};

const DATA: &str = "\
    text inlineData functionCall functionResponse fileData executableCode codeExecutionResult toolCall \
    toolResponse";

const MAX_NAME_CHARS: usize = 64;
const MAX_STOP_SEQUENCES: usize = 5;

type GeminiCheckResult = Result<(), ProviderApiError>;

pub(super) fn check(body: &Value, model: &FakeModel) -> GeminiCheckResult {
    let mut unknown = Vec::new();
    payload(body, &mut unknown);
    if !unknown.is_empty() {
        return Err(ProviderApiError::invalid(
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
        return Err(ProviderApiError::invalid(format!("{}\n", lines.join("\n"))));
    }
    calls_and_responses(body)?;
    check_signatures(body, model)
}

fn declarations(body: &Value, wrong: &mut Vec<String>) {
    let mut names = Vec::new();
    for (number, tool) in list(body, "tools").iter().enumerate() {
        for (index, function) in list(tool, "functionDeclarations").iter().enumerate() {
            let at = format!("tools[{number}].function_declarations[{index}]");
            let name = text(function, "name");
            let begins_well = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
            if !begins_well || !is_name(name, "_.:-") || name.len() > MAX_NAME_CHARS {
                wrong.push(format!(
                    "{at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric \
                     (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of \
                     {MAX_NAME_CHARS}."
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
    if list(config, "stopSequences").len() > MAX_STOP_SEQUENCES {
        wrong.push(format!(
            "generation_config.stop_sequences: the number of stop_sequences must be at most {MAX_STOP_SEQUENCES}"
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
            if words(DATA).iter().filter(|name| part.get(name).is_some()).count() != 1 {
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
