//! Public descriptions of models, and reports of model tests.

use std::collections::BTreeMap;

use toolway_models::ProviderKind;

use super::ModelFacts;

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelView {
    /// The owner's name for it.
    pub name: String,
    /// The kind of its API.
    pub kind: ProviderKind,
    /// The preset that it was made from.
    pub preset: Option<String>,
    /// Its address.
    pub base_url: String,
    /// Location of its key; `None` if it has none.
    pub key: Option<KeyView>,
    /// Default model.
    pub model: Option<String>,
    /// Known facts about single models.
    pub models: BTreeMap<String, ModelFacts>,
}

/// Location of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyView {
    /// Description.
    pub place: String,
    /// The key exists.
    pub present: bool,
}

/// Report of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTestReport {
    /// The provider's name.
    pub name: String,
    /// The tested model; `None` if none is configured.
    pub model: Option<String>,
    /// All required checks passed.
    pub ok: bool,
    /// Checks in the order in which they ran.
    pub checks: Vec<ModelTestCheck>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTestCheck {
    /// Name of the check: `connection`, `key`, `model`, `streaming`, `tool_call` or `usage`.
    pub check: &'static str,
    /// Result of the check.
    pub status: ModelCheckStatus,
    /// Description.
    pub message: String,
    /// Hint for the owner.
    pub hint: Option<String>,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelCheckStatus {
    /// It works.
    Ok,
    /// It does not.
    Failed,
    /// Something before it failed, so it was not looked at.
    Skipped,
}
