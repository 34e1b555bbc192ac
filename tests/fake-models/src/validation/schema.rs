//! Validates the schema of a function or of an answer like OpenAI.

use serde_json::Value;

use super::fields::{fields, list, words};

/// Keywords of strict mode.
const STRICT: &str = "\
    $schema $id $ref $defs definitions title description type properties required additionalProperties \
    items enum const anyOf pattern format multipleOf maximum exclusiveMaximum minimum exclusiveMinimum \
    minItems maxItems";

/// Formats of strict mode.
const STRICT_FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Combinators that a function's schema must not have at its root.
const ROOT: &[&str] = &["oneOf", "anyOf", "allOf", "enum", "const", "not"];

/// Validates a function's schema, strict or not.
pub(super) fn of_function(schema: &Value, strict: bool) -> Result<(), String> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::String(kind)) => {
            return Err(format!(
                "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
            ));
        }
        _ => {
            return Err(
                "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.".to_owned()
            );
        }
    }
    if ROOT.iter().any(|keyword| schema.get(keyword).is_some()) {
        return Err(
            "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at \
                    the top level."
                .to_owned(),
        );
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        return Err("In context=(), object schema missing properties.".to_owned());
    }
    if strict { of_strict(schema) } else { arrays_have_items(schema, &mut Vec::new()) }
}

/// Validates a schema in strict mode.
pub(super) fn of_strict(schema: &Value) -> Result<(), String> {
    strict(schema, &mut Vec::new())
}

fn context(path: &[String]) -> String {
    let names: Vec<_> = path.iter().map(|name| format!("'{name}'")).collect();
    format!("In context=({})", names.join(", "))
}

fn arrays_have_items(schema: &Value, path: &mut Vec<String>) -> Result<(), String> {
    if is_of(schema, "array") && schema.get("items").is_none() && schema.get("prefixItems").is_none() {
        return Err(format!("{}, array schema missing items.", context(path)));
    }
    each_below(schema, path, arrays_have_items)
}

fn is_of(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(is)) => is == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|is| is == kind),
        _ => false,
    }
}

fn strict(schema: &Value, path: &mut Vec<String>) -> Result<(), String> {
    let say = |what: String| Err(format!("{}, {what}", context(path)));
    if !schema.is_object() {
        return say("schema must be an object.".to_owned());
    }
    if let Some((name, _)) = fields(schema).find(|(name, _)| !words(STRICT).contains(&name.as_str())) {
        return say(format!("'{name}' is not permitted."));
    }
    if schema.get("$ref").is_some() {
        let beside = fields(schema).find(|(name, _)| *name != "$ref");
        return match beside {
            Some((name, _)) => say(format!("$ref cannot have keywords {{'{name}'}}.")),
            None => Ok(()),
        };
    }
    if ["type", "anyOf", "enum", "const"].iter().all(|keyword| schema.get(keyword).is_none()) {
        return say("schema must have a 'type' key.".to_owned());
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str)
        && !STRICT_FORMATS.contains(&format)
    {
        return say(format!("'{format}' is not a valid format."));
    }
    if is_of(schema, "object") {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return say("'additionalProperties' is required to be supplied and to be false.".to_owned());
        }
        let required = list(schema, "required");
        let properties = schema.get("properties").unwrap_or(&Value::Null);
        let missing = fields(properties).find(|(name, _)| !required.iter().any(|it| it == name.as_str()));
        if let Some((name, _)) = missing {
            return say(format!(
                "'required' is required to be supplied and to be an array including every key in properties. \
                 Missing '{name}'."
            ));
        }
        let extra = required.iter().filter_map(Value::as_str).find(|name| properties.get(name).is_none());
        if let Some(name) = extra {
            return say(format!(
                "'required' is required to be supplied and to be an array including every key in properties. \
                 Extra required key '{name}' supplied."
            ));
        }
    }
    if is_of(schema, "array") && schema.get("items").is_none() {
        return say("array schema missing items.".to_owned());
    }
    each_below(schema, path, strict)
}

/// Visits every nested schema.
fn each_below(
    schema: &Value,
    path: &mut Vec<String>,
    check: fn(&Value, &mut Vec<String>) -> Result<(), String>,
) -> Result<(), String> {
    let mut at = |names: [&str; 2], below: &Value| {
        let before = path.len();
        path.extend(names.iter().filter(|name| !name.is_empty()).map(|name| (*name).to_owned()));
        let checked = check(below, path);
        path.truncate(before);
        checked
    };
    for keyword in ["properties", "$defs", "definitions"] {
        for (name, below) in fields(schema.get(keyword).unwrap_or(&Value::Null)) {
            at([keyword, name], below)?;
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (number, below) in list(schema, keyword).iter().enumerate() {
            at([keyword, &number.to_string()], below)?;
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(below @ Value::Object(_)) = schema.get(keyword) {
            at([keyword, ""], below)?;
        }
    }
    Ok(())
}
