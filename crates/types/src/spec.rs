//! Specs of tools as their sources send them.

use serde::{Deserialize, Serialize};

use crate::json::{RawJson, null_is_default};

/// Version of the spec's form, published in `/api/tools` and the wire schemas.
pub const SPEC_VERSION: u32 = 1;

/// Spec of one tool as sent by its source: the fields of version 1 and those added in version 2.
///
/// `parameters`, `output_schema` and `annotations` keep the source's own bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpecDocument {
    /// Name of the tool within its source.
    pub name: String,
    /// Description of the tool in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema (draft 2020-12) of the arguments. Null, absent, `{}` and `[]` mean no parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<RawJson>,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// MCP tool annotations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// Permissions required to run the tool.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub permissions: Vec<String>,
    /// Maximum duration of one run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Maximum time without progress during a run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_timeout_ms: Option<u64>,
    /// True if calls of this tool must not overlap with other calls of the same source.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub sequential: bool,
    /// The complete entry from an MCP server's tool list, including fields not named above, for MCP clients.
    /// It is not part of the spec's own form.
    #[serde(skip)]
    pub mcp_entry: Option<RawJson>,
}

impl SpecDocument {
    /// Creates a spec with this name and no other field set.
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

/// MCP tool annotations, as far as Toolway reads them. They are hints from the source, trusted only if the
/// owner trusts the source.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Repeating a call has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches beyond its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}
