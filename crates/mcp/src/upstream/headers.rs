//! The headers that repeat parts of a request (2026-07-28, "Standard request headers" and "Custom headers from tool
//! parameters"), so that proxies need not parse bodies.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// The annotation of a property in a schema.
const HEADER_ANNOTATION: &str = "x-mcp-header";
/// Maximum depth to search in a schema.
const MAX_DEPTH: usize = 64;

/// A parameter that a header repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderParam {
    /// The path of properties to the parameter.
    path: Vec<String>,
    header: HeaderName,
}

/// The parameters of a tool that headers repeat.
///
/// # Errors
/// A description of an invalid annotation. Clients must not offer such a tool.
pub(super) fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, String> {
    let mut found = HeaderParamFinder::default();
    if let Value::Object(schema) = schema {
        if schema.contains_key(HEADER_ANNOTATION) {
            return Err(format!(
                "{HEADER_ANNOTATION} is only allowed on properties, not on the whole schema"
            ));
        }
        found.visit_schema(schema, &mut Vec::new(), true, 0)?;
    }
    Ok(found.params)
}

#[derive(Default)]
struct HeaderParamFinder {
    params: Vec<HeaderParam>,
    seen: HashSet<String>,
}

impl HeaderParamFinder {
    /// Searches a schema. `reached` is true if only properties lead to it from the root.
    fn visit_schema(
        &mut self,
        schema: &Map<String, Value>,
        path: &mut Vec<String>,
        reached: bool,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Ok(());
        }
        for (key, value) in schema {
            match key.as_str() {
                HEADER_ANNOTATION if reached => self.add_param(schema, value, path)?,
                HEADER_ANNOTATION => {
                    return Err(format!(
                        "{HEADER_ANNOTATION} is only allowed on properties that other properties lead to"
                    ));
                }
                "properties" => {
                    for (name, property) in value.as_object().into_iter().flatten() {
                        path.push(name.clone());
                        self.header_value(property, path, reached, depth)?;
                        path.pop();
                    }
                }
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" => {
                    for (_, schema) in value.as_object().into_iter().flatten() {
                        self.header_value(schema, path, false, depth)?;
                    }
                }
                // These contain data, not schemas.
                "default" | "const" | "enum" | "examples" | "dependentRequired" => {}
                _ => self.header_value(value, path, false, depth)?,
            }
        }
        Ok(())
    }

    fn header_value(
        &mut self,
        value: &Value,
        path: &mut Vec<String>,
        reached: bool,
        depth: usize,
    ) -> Result<(), String> {
        match value {
            Value::Object(schema) => self.visit_schema(schema, path, reached, depth + 1),
            Value::Array(several) => {
                several.iter().try_for_each(|one| self.header_value(one, path, false, depth + 1))
            }
            _ => Ok(()),
        }
    }

    fn add_param(
        &mut self,
        schema: &Map<String, Value>,
        mark: &Value,
        path: &[String],
    ) -> Result<(), String> {
        let of = path.join(".");
        let Value::String(name) = mark else {
            return Err(format!("{HEADER_ANNOTATION} of {of} is not a string"));
        };
        if name.is_empty() {
            return Err(format!("{HEADER_ANNOTATION} of {of} is empty"));
        }
        let header = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes());
        let header =
            header.map_err(|_| format!("{HEADER_ANNOTATION} of {of} is not a header name: {name:?}"))?;
        if !self.seen.insert(name.to_ascii_lowercase()) {
            return Err(format!("{HEADER_ANNOTATION} {name:?} occurs twice"));
        }
        let kind = schema.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "{HEADER_ANNOTATION} of {of} marks what is neither text, integer nor boolean"
            ));
        }
        self.params.push(HeaderParam { path: path.to_vec(), header });
        Ok(())
    }
}

/// The headers for these arguments. Absent and null arguments have none.
pub(super) fn argument_headers(params: &[HeaderParam], arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
    let of = |param: &HeaderParam| {
        let found = param.path.iter().try_fold(arguments, |value, key| value.get(key))?;
        let text = match found {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => found.to_string(),
            _ => return None,
        };
        Some((param.header.clone(), value(&text)?))
    };
    params.iter().filter_map(of).collect()
}

/// Encodes a value for a header: unchanged, or in base64 if it contains other characters.
pub(super) fn value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches([' ', '\t']).len() == text.len()
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain {
        return HeaderValue::from_str(text).ok();
    }
    HeaderValue::try_from(format!("=?base64?{}?=", BASE64_STANDARD.encode(text))).ok()
}

#[cfg(test)]
mod tests;
