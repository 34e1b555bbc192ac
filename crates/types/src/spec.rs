//! A tool's spec as its source said it.

use serde::{Deserialize, Serialize};

use crate::json::{RawJson, null_is_default};

/// The version of the spec's form, published in `/api/tools` and the wire schemas.
pub const SPEC_VERSION: u32 = 1;

/// What a source says of one tool: version 1's fields, and those that version 2 adds. `parameters`,
/// `output_schema` and `annotations` keep the source's own bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpecDocument {
    /// The tool's name within its source.
    pub name: String,
    /// What it does, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema (draft 2020-12) of the arguments; null, absent, `{}` and `[]` mean no parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<RawJson>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// MCP's tool annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// Permissions that running it needs.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub permissions: Vec<String>,
    /// How long one run may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How long it may be silent within that, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_timeout_ms: Option<u64>,
    /// Whether its calls must not overlap with others of the same source.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub sequential: bool,
    /// The whole entry as an MCP server listed it, with what is not named above, for doors of the same protocol. It is no
    /// part of the spec's own form.
    #[serde(skip)]
    pub mcp_entry: Option<RawJson>,
}

impl SpecDocument {
    /// A spec of this name, with nothing else said.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            parameters: None,
            title: None,
            output_schema: None,
            annotations: None,
            permissions: Vec::new(),
            timeout_ms: None,
            progress_timeout_ms: None,
            sequential: false,
            mcp_entry: None,
        }
    }
}

/// MCP's tool annotations, as far as Toolway reads them. They are hints from the source, believed only
/// where the owner trusts it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Doing it twice is like doing it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}
