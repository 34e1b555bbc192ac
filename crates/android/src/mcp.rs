//! The MCP dialects: requests and the meaning of the answers (docs/app-providers.md, "Dialects", and the
//! behaviour of published apps).

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

/// MIME type by which dialect A is found, together with the action `android.intent.action.VIEW`.
pub const MIME_TYPE: &str = "application/vnd.mcp.tool";
/// Action of dialect A.
pub const ACTION_VIEW: &str = "android.intent.action.VIEW";
/// Action by which the dialects B and C are found.
pub const ACTION: &str = "se.premex.mcp.MCP_PROVIDER";
/// Permission that a consumer of B and C needs.
pub const PERMISSION: &str = "se.premex.mcp.ACCESS_PROVIDER";
/// Method that describes the tool or tools.
pub const GET_TOOL_INFO: &str = "get_tool_info";
/// Method that runs a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// Creates the extras of `execute_tool`. The arguments are a map of strings, which is present even if it is
/// empty.
#[must_use]
pub fn execute_extras(tool: &str, args: &JsonObject) -> Bundle {
    Bundle::new().with("tool_name", tool).with("tool_arguments", BundleValue::Map(string_arguments(args)))
}

/// Returns the text of a tool's result.
///
/// # Errors
/// [`ProviderFailure`] if the answer is an error or malformed.
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

/// Checks that the answer reports success, which is required.
fn success(bundle: &Bundle) -> Result<(), ProviderFailure> {
    match bundle.get("success") {
        Some(BundleValue::Boolean(true)) => Ok(()),
        Some(BundleValue::Boolean(false)) => Err(ProviderFailure::Failed(
            short_text(bundle, "error_message")
                .filter(|message| !message.trim().is_empty())
                .unwrap_or_else(|| "the app failed without a message".to_owned()),
        )),
        Some(other) => {
            Err(malformed(format!("\"success\" is {} and not a boolean", cut(other.type_name(), 100))))
        }
        None => Err(malformed("\"success\" is missing")),
    }
}

#[cfg(test)]
mod tests;
