//! The tools in `tools.json`.

use std::sync::LazyLock;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RawTool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: Box<RawValue>,
    pub(crate) output_schema: Option<Box<RawValue>>,
    pub(crate) annotations: Option<ToolAnnotations>,
    #[serde(rename = "_meta")]
    pub(crate) meta: Option<JsonObject>,
}

#[allow(clippy::expect_used, reason = "a file of this crate")]
pub(crate) static RAW: LazyLock<Vec<RawTool>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("tools.json")).expect("tools.json is a list of tools")
});
