//! Template for a request body: JSON with placeholders in its strings, or text.

use serde_json::Value;
use toolway_types::{Code, JsonObject, ToolError};

use super::text_template::{SecretMap, TextTemplate, percent_encode};

/// A body with placeholders.
#[derive(Debug)]
pub(super) enum BodyTemplate {
    Json(JsonTemplate),
    /// Text, with values inserted unchanged.
    Text(TextTemplate),
    /// A form, with values percent-encoded.
    Form(TextTemplate),
}

/// A JSON value with placeholders.
#[derive(Debug)]
pub(super) enum JsonTemplate {
    /// A value without placeholders.
    Fixed(Value),
    Text(TextTemplate),
    Array(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl BodyTemplate {
    /// Parses a body. A table or a list is JSON, and so is text that is a JSON object or array. Other text is
    /// a form if the definition's `Content-Type` says so, otherwise plain text.
    ///
    /// # Errors
    /// A description of the problem.
    pub(super) fn parse(given: Value, is_form: bool) -> Result<Self, String> {
        let body = match given {
            Value::String(text) => match serde_json::from_str::<Value>(&text) {
                Ok(json @ (Value::Object(_) | Value::Array(_))) => Self::Json(JsonTemplate::parse(json)?),
                _ if is_form => Self::Form(template(&text)?),
                _ => Self::Text(template(&text)?),
            },
            json @ (Value::Object(_) | Value::Array(_)) => Self::Json(JsonTemplate::parse(json)?),
            _ => return Err("body must be a table, a list or text".to_owned()),
        };
        Ok(body)
    }

    /// Default `Content-Type`, for a definition without that header.
    pub(super) fn media_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json",
            Self::Text(_) | Self::Form(_) => "text/plain; charset=utf-8",
        }
    }

    /// Parameters used by the body.
    pub(super) fn placeholders(&self) -> Vec<&str> {
        match self {
            Self::Json(json) => json.placeholders(),
            Self::Text(text) | Self::Form(text) => text.placeholders().collect(),
        }
    }

    /// Parameters without which the body cannot be built.
    pub(super) fn required_placeholders(&self) -> Vec<&str> {
        match self {
            Self::Json(_) => Vec::new(),
            Self::Text(_) | Self::Form(_) => self.placeholders(),
        }
    }

    /// Builds the body for these arguments.
    ///
    /// # Errors
    /// Fails if a value in a text body is missing.
    pub(super) fn fill(&self, arguments: &JsonObject) -> Result<Vec<u8>, ToolError> {
        let text = match self {
            Self::Json(json) => Some(json.fill(arguments).unwrap_or_default().to_string()),
            Self::Text(text) => text.fill(arguments, &SecretMap::new(), str::to_owned),
            Self::Form(text) => text.fill(arguments, &SecretMap::new(), percent_encode),
        };
        text.map(String::into_bytes).ok_or_else(|| {
            let message = format!("{} are needed for the request's body", self.placeholders().join(", "));
            ToolError::new(Code::InvalidArguments, message)
        })
    }
}

impl JsonTemplate {
    fn parse(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(template(&text)?),
            Value::Array(items) => Self::Array(items.into_iter().map(Self::parse).collect::<Result<_, _>>()?),
            Value::Object(members) => {
                // TOML dates arrive in this form; JSON has no equivalent.
                if members.contains_key("$__toml_private_datetime") {
                    return Err("body: JSON has no dates; write the date as text".to_owned());
                }
                let member = |(name, value)| Ok((name, Self::parse(value)?));
                Self::Object(members.into_iter().map(member).collect::<Result<_, String>>()?)
            }
            fixed => Self::Fixed(fixed),
        })
    }

    fn placeholders(&self) -> Vec<&str> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(text) => text.placeholders().collect(),
            Self::Array(items) => items.iter().flat_map(Self::placeholders).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, value)| value.placeholders()).collect(),
        }
    }

    /// Builds the value for these arguments. A string that consists of one placeholder becomes the argument
    /// itself. A member or element whose value is missing is omitted.
    fn fill(&self, arguments: &JsonObject) -> Option<Value> {
        match self {
            Self::Fixed(value) => Some(value.clone()),
            Self::Text(text) => match text.sole_placeholder() {
                Some(name) => arguments.get(name).filter(|value| !value.is_null()).cloned(),
                None => text.fill(arguments, &SecretMap::new(), str::to_owned).map(Value::String),
            },
            Self::Array(items) => Some(items.iter().filter_map(|item| item.fill(arguments)).collect()),
            Self::Object(members) => {
                let filled =
                    members.iter().filter_map(|(name, value)| Some((name.clone(), value.fill(arguments)?)));
                Some(Value::Object(filled.collect()))
            }
        }
    }
}

fn template(text: &str) -> Result<TextTemplate, String> {
    let template = TextTemplate::parse(text).map_err(|problem| format!("body: {problem}"))?;
    if template.secret_names().next().is_some() {
        return Err("body: secrets are only allowed in headers".to_owned());
    }
    Ok(template)
}

#[cfg(test)]
mod tests;
