//! CETP version 1: what is asked, and what the answers mean (CETP, sections 2.3 and 2.4; docs/app-providers.md links the protocol).

mod info;
mod list;

use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

use crate::bounds::{self, cut};
use crate::bundle::Bundle;
use crate::failure::{AuthorizationRequired, ProviderFailure, malformed, require_bundle, short_text, text};

pub use info::{ProviderInfo, ProviderScope, read_info};
pub use list::read_list;

/// Action of the service that an app is found by.
pub const ACTION: &str = "com.clawseed.action.TOOL_PROVIDER";
/// Meta-data with the authority.
pub const AUTHORITY: &str = "com.clawseed.tools.authority";
/// Meta-data with the protocol's version.
pub const VERSION: &str = "com.clawseed.tools.version";
/// Permission that a consumer needs.
pub const PERMISSION: &str = "com.clawseed.permission.ACCESS_TOOLS";
/// Asks for the tools; extras are null.
pub const LIST_TOOLS: &str = "list_tools";
/// Runs one.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// Asks who the provider is; optional, extras are null.
pub const GET_PROVIDER_INFO: &str = "get_provider_info";

/// The extras of `execute_tool`. `args` is an object as JSON text; `request_id` is the call's id, the same when
/// the call is made again.
#[must_use]
pub fn execute_extras(tool: &str, args: &str, request_id: &str) -> Bundle {
    Bundle::new().with("tool_name", tool).with("args", args).with("request_id", request_id)
}

/// The `data` of a successful answer.
///
/// # Errors
/// [`ProviderFailure`]: what the answer says, or what is wrong with it.
pub fn read_reply(bundle: Option<&Bundle>) -> Result<&str, ProviderFailure> {
    let bundle = require_bundle(bundle)?;
    match text(bundle, "status")? {
        "success" => {
            let data = text(bundle, "data")?;
            if data.len() > bounds::REPLY_BYTES {
                return Err(malformed(format!(
                    "its data take {} bytes, more than the {} that are accepted",
                    data.len(),
                    bounds::REPLY_BYTES
                )));
            }
            Ok(data)
        }
        "error" => Err(failure(bundle)),
        other => Err(malformed(format!("its status is {:?}, neither success nor error", cut(other, 40)))),
    }
}

/// The result of a tool: free-form JSON, byte for byte.
///
/// # Errors
/// [`ProviderFailure`]: what the answer says, or what is wrong with it.
pub fn read_result(bundle: Option<&Bundle>) -> Result<RawJson, ProviderFailure> {
    let data = read_reply(bundle)?;
    json(data)
}

/// JSON that nests within bounds.
fn json(data: &str) -> Result<RawJson, ProviderFailure> {
    if nests_deeper_than(data, bounds::DEPTH) {
        return Err(malformed(format!("its data nest deeper than {} levels", bounds::DEPTH)));
    }
    RawJson::parse(data).map_err(|error| malformed(format!("its data are not JSON: {error}")))
}

fn failure(bundle: &Bundle) -> ProviderFailure {
    let code = match text(bundle, "error_code") {
        Ok(code) => code,
        Err(failure) => return failure,
    };
    let message = short_text(bundle, "error_message")
        .filter(|message| !message.trim().is_empty())
        .unwrap_or_else(|| format!("the app answered {} and says nothing about it", cut(code, 100)));
    match code {
        "AUTH_REQUIRED" => ProviderFailure::AuthorizationRequired(AuthorizationRequired {
            message,
            hint: short_text(bundle, "resolution_hint"),
            intent: short_text(bundle, "authorize_intent").filter(|intent| !intent.is_empty()),
        }),
        "PERMISSION_DENIED" => ProviderFailure::Denied(message),
        "TOOL_NOT_FOUND" => ProviderFailure::NotFound(message),
        "INVALID_ARGS" => ProviderFailure::InvalidArguments(message),
        "RATE_LIMITED" => ProviderFailure::RateLimited(message),
        "INTERNAL_ERROR" => ProviderFailure::Failed(message),
        other => ProviderFailure::Failed(format!("{}: {message}", cut(other, 100))),
    }
}

#[cfg(test)]
mod tests;
