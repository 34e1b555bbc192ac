//! Differences between Google's models, by model id.
//!
//! Sources, read in November 2026: "Gemini thinking" (levels and budgets by model), "Thought signatures", "Function
//! calling" (multimodal responses), "Structured outputs" (with tools). Newer models are treated
//! like the newest of these.

use serde_json::{Map, Value, json};

use crate::request::ReasoningEffort;

/// Generation and variant of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GeminiGeneration {
    /// Version; `None` if it is not a Gemini model.
    version: Option<(u32, u32)>,
    is_pro: bool,
    is_flash: bool,
}

/// Returns the generation of a model.
pub(super) fn for_model(model: &str) -> GeminiGeneration {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let Some(rest) = name.strip_prefix("gemini-") else {
        return GeminiGeneration { version: None, is_pro: false, is_flash: false };
    };
    let words: Vec<_> = rest.split('-').collect();
    let number = words.iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let version = number.and_then(|number| {
        let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    // `gemini-flash-latest` is always the newest.
    let version = Some(version.unwrap_or((u32::MAX, 0)));
    GeminiGeneration { version, is_pro: words.contains(&"pro"), is_flash: words.contains(&"flash") }
}

impl GeminiGeneration {
    fn is_at_least(self, version: (u32, u32)) -> bool {
        self.version.is_some_and(|own| own >= version)
    }

    /// Returns whether the API refuses a call without its signature.
    pub(super) fn needs_signatures(self) -> bool {
        self.is_at_least((3, 0))
    }

    /// Returns whether tool results may contain images.
    pub(super) fn takes_images_in_results(self) -> bool {
        self.is_at_least((3, 0))
    }

    /// Returns whether a response schema may be combined with tools.
    pub(super) fn takes_schema_beside_tools(self) -> bool {
        self.is_at_least((3, 0))
    }

    /// Returns the field `thinkingConfig`; `None` if the model can't think.
    pub(super) fn thinking_config(self, effort: Option<ReasoningEffort>) -> Option<Value> {
        if !self.is_at_least((2, 5)) {
            return None;
        }
        let mut config = Map::new();
        match effort {
            None => {}
            Some(effort) if self.is_at_least((3, 0)) => {
                config.insert("thinkingLevel".to_owned(), json!(self.thinking_level(effort)));
            }
            Some(effort) => {
                config.insert("thinkingBudget".to_owned(), json!(self.thinking_budget(effort)));
            }
        }
        let is_silent = effort == Some(ReasoningEffort::None);
        config.insert("includeThoughts".to_owned(), json!(!is_silent));
        Some(Value::Object(config))
    }

    fn thinking_level(self, effort: ReasoningEffort) -> &'static str {
        let has_minimal = self.is_flash && !self.is_at_least((3, 7));
        match effort {
            ReasoningEffort::None if has_minimal => "MINIMAL",
            ReasoningEffort::None | ReasoningEffort::Low => "LOW",
            // The first of them had nothing in between.
            ReasoningEffort::Medium if self.is_pro && !self.is_at_least((3, 1)) => "HIGH",
            ReasoningEffort::Medium => "MEDIUM",
            ReasoningEffort::High => "HIGH",
        }
    }

    fn thinking_budget(self, effort: ReasoningEffort) -> u32 {
        match effort {
            // It can't do without.
            ReasoningEffort::None if self.is_pro => 128,
            ReasoningEffort::None => 0,
            ReasoningEffort::Low => 1_024,
            ReasoningEffort::Medium => 8_192,
            ReasoningEffort::High => 24_576,
        }
    }
}

#[cfg(test)]
mod tests;
