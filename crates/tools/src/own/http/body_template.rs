//! The body of a definition: JSON with holes in its strings, or text.

use serde_json::Value;
use toolway_types::{Code, JsonObject, ToolError};

use super::text_template::{SecretMap, TextTemplate, percent_encode};

/// A body with holes in it.
#[derive(Debug)]
pub(super) enum BodyTemplate {
    Json(JsonTemplate),
    /// Text, into which values go as they are.
    Text(TextTemplate),
    /// Pairs of a form, into which values go percent-encoded.
    Form(TextTemplate),
}

/// JSON with holes in it.
#[derive(Debug)]
pub(super) enum JsonTemplate {
    /// Without holes.
    Fixed(Value),
    Text(TextTemplate),
    Array(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl BodyTemplate {
    /// Reads a body: a table or a list is JSON, and so is text that is a JSON object or array; other text is
    /// text, or pairs of a form where the definition's `Content-Type` says so.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(given: Value, is_form: bool) -> Result<Self, String> {
        let body = match given {
            Value::String(text) => match serde_json::from_str::<Value>(&text) {
                Ok(json @ (Value::Object(_) | Value::Array(_))) => Self::Json(JsonTemplate::parse(json)?),
                _ if is_form => Self::Form(template(&text)?),
                _ => Self::Text(template(&text)?),
            },
            json @ (Value::Object(_) | Value::Array(_)) => Self::Json(JsonTemplate::parse(json)?),
            _ => return Err("body: it is a table, a list, or text".to_owned()),
        };
        Ok(body)
    }

    /// What it is, for a `Content-Type` where the definition has none.
    pub(super) fn media_type(&self) -> &'static str {
        match self {
            Self::Json(_) => "application/json",
            Self::Text(_) | Self::Form(_) => "text/plain; charset=utf-8",
        }
    }

    /// The parameters that it names.
    pub(super) fn placeholders(&self) -> Vec<&str> {
        match self {
            Self::Json(json) => json.placeholders(),
            Self::Text(text) | Self::Form(text) => text.placeholders().collect(),
        }
    }

    /// Those without which there is no body.
    pub(super) fn required_placeholders(&self) -> Vec<&str> {
        match self {
            Self::Json(_) => Vec::new(),
            Self::Text(_) | Self::Form(_) => self.placeholders(),
        }
    }

    /// The body for these arguments.
    ///
    /// # Errors
    /// Where a value is missing in text.
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
                // How TOML hands over a date, which JSON does not have.
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

    /// The value for these arguments: a text that is one hole becomes the argument itself, whatever it is. What
    /// has a value missing is left out of what it is in.
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
        return Err("body: secrets are for headers".to_owned());
    }
    Ok(template)
}

#[cfg(test)]
mod tests;
