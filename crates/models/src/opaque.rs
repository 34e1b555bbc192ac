//! What Anthropic's and Gemini's adapters keep with the parts of an answer, and what goes back of it: ids of calls to
//! the provider that gave them, signatures to the very model whose thinking they sign.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::message::OpaqueState;

/// What is kept with a part.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OpaquePayload {
    /// The model that was asked.
    pub(crate) model: Arc<str>,
    /// The provider's id of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// What the part is signed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<String>,
    /// Thinking that nobody may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redacted: Option<String>,
}

impl OpaquePayload {
    /// For a part of an answer.
    pub(crate) fn to_opaque(&self, config: &ProviderConfig) -> OpaqueState {
        let data = RawJson::from_value(self).unwrap_or_else(|_| RawJson::empty_object());
        OpaqueState { provider: Arc::clone(&config.name), data }
    }

    /// What is kept with a part, where this provider gave it.
    pub(crate) fn from_opaque(opaque: Option<&OpaqueState>, config: &ProviderConfig) -> Option<Self> {
        opaque?.for_provider(&config.name)?.to().ok()
    }

    /// The same, where this model did.
    pub(crate) fn from_opaque_of_model(
        opaque: Option<&OpaqueState>,
        config: &ProviderConfig,
        model: &str,
    ) -> Option<Self> {
        Self::from_opaque(opaque, config).filter(|kept| &*kept.model == model)
    }
}

#[cfg(test)]
mod tests;
