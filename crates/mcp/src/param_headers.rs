//! The headers that repeat parts of a request (2026-07-28, "Standard request headers" and "Custom headers from tool
//! parameters"), so that proxies need not parse bodies. The client side writes them, the server side compares them.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// The annotation of a property in a schema.
pub(crate) const HEADER_ANNOTATION: &str = "x-mcp-header";
/// Start and end of a value in base64.
const BASE64_MARKS: (&str, &str) = ("=?base64?", "?=");
/// Maximum depth to search in a schema.
const MAX_DEPTH: usize = 64;

/// A parameter that a header repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderParam {
    /// The path of properties to the parameter.
    path: Vec<String>,
    header: HeaderName,
}

/// The parameters of a tool that headers repeat.
///
/// # Errors
/// A description of an invalid annotation. Clients must not offer such a tool.
pub(crate) fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, String> {
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

impl HeaderParam {
    /// The text of this parameter in the arguments. Absent and null arguments have none.
    fn text(&self, arguments: &Value) -> Option<String> {
        let found = self.path.iter().try_fold(arguments, |value, key| value.get(key))?;
        match found {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(found.to_string()),
            _ => None,
        }
    }
}

/// The headers for these arguments. Absent and null arguments have none.
pub(crate) fn argument_headers(params: &[HeaderParam], arguments: &Value) -> Vec<(HeaderName, HeaderValue)> {
    let of = |param: &HeaderParam| Some((param.header.clone(), value(&param.text(arguments)?)?));
    params.iter().filter_map(of).collect()
}

/// Compares the headers of a request with its arguments.
///
/// # Errors
/// A description of the first difference.
pub(crate) fn check_argument_headers(
    params: &[HeaderParam],
    arguments: &Value,
    headers: &HeaderMap,
) -> Result<(), String> {
    for param in params {
        let header = &param.header;
        match (decoded_header(headers, header)?, param.text(arguments)) {
            (None, None) => {}
            (Some(_), None) => {
                return Err(format!("the header {header} repeats an argument that is not there"));
            }
            (None, Some(_)) => return Err(format!("the header {header} is missing")),
            (Some(given), Some(expected)) if given == expected => {}
            (Some(_), Some(_)) => return Err(format!("the header {header} differs from the argument")),
        }
    }
    Ok(())
}

/// The decoded value of a header, if it is there. It must be there once: another reader could choose the other value.
///
/// # Errors
/// A description of the problem.
pub(crate) fn decoded_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<Cow<'a, str>>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the header {name} is there more than once"));
    }
    let text =
        value.to_str().map_err(|_| format!("the header {name} has characters that are not allowed"))?;
    let (prefix, suffix) = BASE64_MARKS;
    let Some(encoded) = text.strip_prefix(prefix).and_then(|text| text.strip_suffix(suffix)) else {
        return Ok(Some(text.into()));
    };
    let decoded = BASE64_STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.map(|text| Some(text.into())).ok_or_else(|| format!("the header {name} is not valid base64"))
}

/// Encodes a value for a header: unchanged, or in base64 if it contains other characters.
pub(crate) fn value(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches([' ', '\t']).len() == text.len()
        && !(text.starts_with(BASE64_MARKS.0) && text.ends_with(BASE64_MARKS.1));
    if is_plain {
        return HeaderValue::from_str(text).ok();
    }
    let (prefix, suffix) = BASE64_MARKS;
    HeaderValue::try_from(format!("{prefix}{}{suffix}", BASE64_STANDARD.encode(text))).ok()
}

#[cfg(test)]
mod tests;
