//! The MCP dialects: what is asked, and what the answers mean (docs/app-providers.md, "Dialects",
//! and what published apps do).

mod arguments;
mod info;
mod inputs;
mod properties;

use toolway_types::JsonObject;

use crate::bounds::{self, cut};
use crate::bundle::{Bundle, BundleValue};
use crate::failure::{ProviderFailure, malformed, require_bundle, short_text, text};

pub use arguments::string_arguments;
pub use info::read_info;

/// MIME type by which dialect A is found, with the action `android.intent.action.VIEW`.
pub const MIME_TYPE: &str = "application/vnd.mcp.tool";
/// Action of dialect A.
pub const ACTION_VIEW: &str = "android.intent.action.VIEW";
/// Action by which the dialects B and C are found.
pub const ACTION: &str = "se.premex.mcp.MCP_PROVIDER";
/// Permission that a consumer of B and C needs.
pub const PERMISSION: &str = "se.premex.mcp.ACCESS_PROVIDER";
/// Asks for the tool, or for the tools.
pub const GET_TOOL_INFO: &str = "get_tool_info";
/// Runs one.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// The extras of `execute_tool`. The arguments are a map of strings, which is there where there are none as well.
#[must_use]
pub fn execute_extras(tool: &str, args: &JsonObject) -> Bundle {
    Bundle::new().with("tool_name", tool).with("tool_arguments", BundleValue::Map(string_arguments(args)))
}

/// The text that a tool gave.
///
/// # Errors
/// [`ProviderFailure`]: what the answer says, or what is wrong with it.
pub fn read_result(bundle: Option<&Bundle>) -> Result<&str, ProviderFailure> {
    let bundle = require_bundle(bundle)?;
    success(bundle)?;
    let result = text(bundle, "tool_result")?;
    if result.len() > bounds::REPLY_BYTES {
        return Err(malformed(format!(
            "its result takes {} bytes, more than the {} that are accepted",
            result.len(),
            bounds::REPLY_BYTES
        )));
    }
    Ok(result)
}

/// Whether the answer says that it worked; it has to say so.
fn success(bundle: &Bundle) -> Result<(), ProviderFailure> {
    match bundle.get("success") {
        Some(BundleValue::Boolean(true)) => Ok(()),
        Some(BundleValue::Boolean(false)) => Err(ProviderFailure::Failed(
            short_text(bundle, "error_message")
                .filter(|message| !message.trim().is_empty())
                .unwrap_or_else(|| "the app says that it failed and not why".to_owned()),
        )),
        Some(other) => {
            Err(malformed(format!("\"success\" is {} and not a boolean", cut(other.type_name(), 100))))
        }
        None => Err(malformed("there is no \"success\" in it")),
    }
}

#[cfg(test)]
mod tests;
