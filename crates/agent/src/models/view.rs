//! Models as they are shown, and what a test of one found.

use std::collections::BTreeMap;

use toolway_models::ProviderKind;

use super::ModelFacts;

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelView {
    /// The owner's name for it.
    pub name: String,
    /// The API that it speaks.
    pub kind: ProviderKind,
    /// The preset that it was made from.
    pub preset: Option<String>,
    /// Where it is.
    pub base_url: String,
    /// Where its key is kept; none where it has none.
    pub key: Option<KeyView>,
    /// The model that is asked where only its name is said.
    pub model: Option<String>,
    /// What is known of single models.
    pub models: BTreeMap<String, ModelFacts>,
}

/// Where a key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView {
    /// In words.
    pub place: String,
    /// Whether there is one.
    pub present: bool,
}

/// What a test found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTestReport {
    /// The provider's name.
    pub name: String,
    /// The model that was asked; none where none is set.
    pub model: Option<String>,
    /// Whether everything works that must.
    pub ok: bool,
    /// What was looked at, in the order in which it was.
    pub checks: Vec<ModelTestCheck>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTestCheck {
    /// What: `connection`, `key`, `model`, `streaming`, `tool_call`, `usage`.
    pub check: &'static str,
    /// How it came out.
    pub status: ModelCheckStatus,
    /// In words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelCheckStatus {
    /// It works.
    Ok,
    /// It does not.
    Failed,
    /// Something before it failed, so it was not looked at.
    Skipped,
}
