//! Masks secret values in data that is stored: values of names on the owner's list, and of properties that the tool's
//! schemas mark `writeOnly`. The caller and the model get the values; records and conversations do not keep them.

mod json_text;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use toolway_types::{ContentPart, Outcome, RawJson, ToolError, ToolOutput};

use crate::schema::SecretProperties;
use crate::spec::ToolSpec;
use json_text::mask_json;

/// Replacement for a secret.
pub(crate) const REDACTED_TEXT: &str = "[redacted]";

/// The secrets of one tool.
#[derive(Debug, Clone, Default)]
pub struct SecretMask {
    listed: Arc<[String]>,
    marked: Vec<SecretProperties>,
}

impl SecretMask {
    /// Creates a mask for the names on the owner's list.
    pub(crate) fn new(listed: &[String]) -> Self {
        Self { listed: listed.into(), marked: Vec::new() }
    }

    /// Adds the properties that a tool marks.
    pub(crate) fn add_tool(&mut self, spec: &ToolSpec) {
        self.marked.extend(marked_properties(spec).cloned());
    }

    /// Adds the properties that a schema of parameters marks. Everything counts as marked if it can't be read.
    pub fn add_schema(&mut self, schema: &RawJson) {
        match schema.to::<Value>() {
            Ok(schema) => self.marked.extend(SecretProperties::of(&schema)),
            Err(_) => self.marked.push(SecretProperties::all()),
        }
    }

    /// Masks secrets in arguments as a model wrote them. They may be cut or malformed.
    #[must_use]
    pub fn mask_arguments<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.marked.iter().any(SecretProperties::is_all_secret) && !text.trim().is_empty() {
            return Cow::Owned(format!("\"{REDACTED_TEXT}\""));
        }
        mask_json(text, &|name| self.is_secret(name))
    }

    /// Masks secrets in an outcome: in its structured value, and in texts that contain JSON. Without secrets, it is the
    /// same outcome.
    #[must_use]
    pub fn mask_outcome(&self, outcome: &Arc<Outcome>) -> Arc<Outcome> {
        mask_outcome(outcome, &|name| self.is_secret(name))
    }

    fn is_secret(&self, name: &str) -> bool {
        is_listed(&self.listed, name) || self.marked.iter().any(|marked| marked.is_secret(name))
    }
}

/// Masks the secrets of a tool's outcome for its record.
pub(crate) fn mask_recorded_outcome(
    outcome: &Arc<Outcome>,
    listed: &[String],
    spec: Option<&ToolSpec>,
) -> Arc<Outcome> {
    let is_marked =
        |name: &str| spec.is_some_and(|spec| marked_properties(spec).any(|it| it.is_secret(name)));
    mask_outcome(outcome, &|name| is_listed(listed, name) || is_marked(name))
}

fn is_listed(listed: &[String], name: &str) -> bool {
    listed.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Returns the marked properties of a tool's parameters and results.
fn marked_properties(spec: &ToolSpec) -> impl Iterator<Item = &SecretProperties> {
    spec.parameters().secrets().into_iter().chain(spec.output().and_then(|schema| schema.secrets()))
}

fn mask_outcome(outcome: &Arc<Outcome>, is_secret: &dyn Fn(&str) -> bool) -> Arc<Outcome> {
    let masked = match &**outcome {
        Outcome::Success(output) => mask_output(output, is_secret).map(Outcome::Success),
        Outcome::Error(error) => mask_error(error, is_secret).map(Outcome::Error),
    };
    masked.map_or_else(|| Arc::clone(outcome), Arc::new)
}

/// Masks an output; `None` if it has no secrets.
fn mask_output(output: &ToolOutput, is_secret: &dyn Fn(&str) -> bool) -> Option<ToolOutput> {
    let structured = output.structured.as_ref().and_then(|value| mask_raw(value, is_secret));
    let content: Vec<Option<ContentPart>> =
        output.content.iter().map(|part| mask_part(part, is_secret)).collect();
    if structured.is_none() && content.iter().all(Option::is_none) {
        return None;
    }
    let parts =
        output.content.iter().zip(content).map(|(part, masked)| masked.unwrap_or_else(|| part.clone()));
    Some(ToolOutput::new(parts.collect(), structured.or_else(|| output.structured.clone())))
}

fn mask_part(part: &ContentPart, is_secret: &dyn Fn(&str) -> bool) -> Option<ContentPart> {
    match part {
        ContentPart::Text { text } => match mask_json(text, is_secret) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(ContentPart::text(masked)),
        },
        ContentPart::Resource { resource } => {
            let masked = mask_raw(&RawJson::from(resource), is_secret)?;
            Some(ContentPart::Resource { resource: masked.to_value() })
        }
        ContentPart::Image { .. } | ContentPart::Audio { .. } | ContentPart::ResourceLink { .. } => None,
    }
}

fn mask_error(error: &ToolError, is_secret: &dyn Fn(&str) -> bool) -> Option<ToolError> {
    let message = mask_json(&error.message, is_secret);
    let intent = error.authorize_intent.as_ref().and_then(|intent| mask_raw(intent, is_secret));
    if matches!(message, Cow::Borrowed(_)) && intent.is_none() {
        return None;
    }
    let message = message.into_owned();
    let authorize_intent = intent.or_else(|| error.authorize_intent.clone());
    Some(ToolError { message, authorize_intent, original: None, ..error.clone() })
}

fn mask_raw(value: &RawJson, is_secret: &dyn Fn(&str) -> bool) -> Option<RawJson> {
    match mask_json(value.get(), is_secret) {
        Cow::Borrowed(_) => None,
        // Masked JSON is JSON. If it were not, nothing of it may be kept.
        Cow::Owned(masked) => {
            Some(RawJson::parse(&masked).unwrap_or_else(|_| RawJson::from(&Value::from(REDACTED_TEXT))))
        }
    }
}

#[cfg(test)]
mod tests;
