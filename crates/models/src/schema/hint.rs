//! Sentences in descriptions that tell the model short constraints which the provider's schema can't express.

use super::document::truncate_chars;
use super::json::{OrderedFields, OrderedJson};
use super::required_names;

/// Maximum number of hints on one schema, and the maximum length of one.
const MAX_HINTS: usize = 8;
const MAX_HINT_CHARS: usize = 120;

/// Hints for the description of a schema.
#[derive(Debug, Default)]
pub(super) struct DescriptionHints(Vec<String>);

impl DescriptionHints {
    /// Adds a keyword that is left out.
    pub(super) fn add(&mut self, name: &str, value: &OrderedJson) {
        let is_of_use = matches!(
            name,
            "default"
                | "format"
                | "pattern"
                | "minLength"
                | "maxLength"
                | "exclusiveMinimum"
                | "exclusiveMaximum"
                | "multipleOf"
                | "minimum"
                | "maximum"
                | "minItems"
                | "maxItems"
                | "minProperties"
                | "maxProperties"
        );
        if is_of_use {
            let value = value.as_text().map_or_else(|| value.to_json_string(), str::to_owned);
            self.push(&format!("{name}: {value}"));
        } else if name == "uniqueItems" && *value == OrderedJson::Bool(true) {
            self.push("no item twice");
        }
    }

    /// Adds alternatives that consist only of required names.
    pub(super) fn add_required_alternatives(&mut self, alternatives: &[OrderedJson]) {
        let sets = alternatives.iter().map(|schema| {
            let required = schema.as_object().and_then(|fields| fields.get("required"));
            let mut names: Vec<_> = required_names(required).into_iter().collect();
            names.sort_unstable();
            names.join(" and ")
        });
        let sets: Vec<_> = sets.filter(|set| !set.is_empty()).collect();
        if !sets.is_empty() && sets.len() == alternatives.len() {
            self.push(&format!("needs {}", sets.join(", or ")));
        }
    }

    fn push(&mut self, hint: &str) {
        if self.0.len() < MAX_HINTS {
            self.0.push(truncate_chars(hint, MAX_HINT_CHARS));
        }
    }

    /// Adds the hints to the description of a schema.
    pub(super) fn describe(self, out: &mut OrderedFields) {
        if !self.0.is_empty() {
            add_words(out, &self.0.join("; "));
        }
    }
}

/// Appends a note in brackets to the description of a schema.
pub(super) fn add_words(out: &mut OrderedFields, words: &str) {
    let text = match out.get("description").and_then(OrderedJson::as_text) {
        Some(said) if !said.is_empty() => format!("{said} ({words})"),
        _ => words.to_owned(),
    };
    out.put("description", OrderedJson::Text(text));
}
