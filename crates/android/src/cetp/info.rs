//! A provider's description of itself: `get_provider_info`, which is optional.

use serde::Deserialize;
use serde_json::Value;

use super::read_reply;
use crate::bounds::{self, cut};
use crate::bundle::Bundle;

/// A provider's description of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderInfo {
    /// Name of the provider.
    pub name: Option<String>,
    /// Description of its data.
    pub description: Option<String>,
    /// Scopes that a user can authorize.
    pub scopes: Vec<ProviderScope>,
}

/// A scope that a user can authorize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderScope {
    /// Name of the scope.
    pub name: String,
    /// Description of the scope.
    pub description: Option<String>,
}

#[derive(Deserialize)]
struct RawProviderInfo {
    provider_name: Option<Value>,
    description: Option<Value>,
    scopes: Option<Value>,
}

/// Reads an answer. Any failure and any unusable answer means that there is no description: the method is
/// optional, and older providers answer `TOOL_NOT_FOUND`.
#[must_use]
pub fn read_info(bundle: Option<&Bundle>) -> Option<ProviderInfo> {
    let data = read_reply(bundle).ok()?;
    let raw: RawProviderInfo = serde_json::from_str(data).ok()?;
    let text = |value: &Value| value.as_str().map(|text| cut(text, bounds::TEXT));
    let scopes = match &raw.scopes {
        Some(Value::Array(scopes)) => scopes
            .iter()
            .filter_map(|scope| {
                let name = scope.get("name").and_then(text)?;
                Some(ProviderScope { name, description: scope.get("description").and_then(text) })
            })
            .take(bounds::SCOPES)
            .collect(),
        _ => Vec::new(),
    };
    let info = ProviderInfo {
        name: raw.provider_name.as_ref().and_then(text),
        description: raw.description.as_ref().and_then(text),
        scopes,
    };
    (info != ProviderInfo::default()).then_some(info)
}
