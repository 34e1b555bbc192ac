//! Data that the adapters of Anthropic and Gemini store with the parts of a response. Call ids go back to the provider
//! that made them, signatures only to the model whose thinking they sign.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use crate::config::ProviderConfig;
use crate::message::OpaqueState;

/// Data stored with a part.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OpaquePayload {
    /// The requested model.
    pub(crate) model: Arc<str>,
    /// The provider's id of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// Signature of the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<String>,
    /// Encrypted thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redacted: Option<String>,
}

impl OpaquePayload {
    /// Converts the data for storage with a part.
    pub(crate) fn to_opaque(&self, config: &ProviderConfig) -> OpaqueState {
        let data = RawJson::from_value(self).unwrap_or_else(|_| RawJson::empty_object());
        OpaqueState { provider: Arc::clone(&config.name), data }
    }

    /// Reads the data of a part, if this provider wrote it.
    pub(crate) fn from_opaque(opaque: Option<&OpaqueState>, config: &ProviderConfig) -> Option<Self> {
        opaque?.for_provider(&config.name)?.to().ok()
    }

    /// Reads the data of a part, if this model of this provider wrote it.
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
