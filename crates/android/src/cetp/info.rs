//! Who a provider says that it is: `get_provider_info`, which is optional.

use serde::Deserialize;
use serde_json::Value;

use super::read_reply;
use crate::bounds::{self, cut};
use crate::bundle::Bundle;

/// A provider's own words on itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderInfo {
    /// Its name.
    pub name: Option<String>,
    /// What its data are.
    pub description: Option<String>,
    /// What a user can allow.
    pub scopes: Vec<ProviderScope>,
}

/// One thing that a user can allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderScope {
    /// Its name.
    pub name: String,
    /// What it covers.
    pub description: Option<String>,
}

#[derive(Deserialize)]
struct RawProviderInfo {
    provider_name: Option<Value>,
    description: Option<Value>,
    scopes: Option<Value>,
}

/// Reads an answer. Any failure, and any answer that is not usable, means that there is none: the method is
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
