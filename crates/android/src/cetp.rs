//! CETP version 1: requests and the meaning of the answers (CETP, sections 2.3 and 2.4; docs/app-providers.md
//! links the protocol).

mod info;
mod list;
mod request_id;

use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

use crate::bounds::{self, cut};
use crate::bundle::Bundle;
use crate::failure::{AuthorizationRequired, ProviderFailure, malformed, require_bundle, short_text, text};

pub use info::{ProviderInfo, ProviderScope, read_info};
pub use list::read_list;

/// Action of the service by which an app is found.
pub const ACTION: &str = "com.clawseed.action.TOOL_PROVIDER";
/// Meta-data key of the authority.
pub const AUTHORITY: &str = "com.clawseed.tools.authority";
/// Meta-data key of the protocol version.
pub const VERSION: &str = "com.clawseed.tools.version";
/// Permission that a consumer needs.
pub const PERMISSION: &str = "com.clawseed.permission.ACCESS_TOOLS";
/// Method that lists the tools; extras are null.
pub const LIST_TOOLS: &str = "list_tools";
/// Method that runs a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// Method that describes the provider; optional, extras are null.
pub const GET_PROVIDER_INFO: &str = "get_provider_info";

/// Creates the extras of `execute_tool`. `args` is an object as JSON. `call_id` is the same for retries; the app
/// gets it as a UUID.
#[must_use]
pub fn execute_extras(tool: &str, args: &str, call_id: &str) -> Bundle {
    Bundle::new()
        .with("tool_name", tool)
        .with("args", args)
        .with("request_id", request_id::request_id(call_id))
}

/// Returns the `data` of a successful answer.
///
/// # Errors
/// [`ProviderFailure`] if the answer is an error or malformed.
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

/// Returns the result of a tool: any JSON, byte for byte.
///
/// # Errors
/// [`ProviderFailure`] if the answer is an error or malformed.
pub fn read_result(bundle: Option<&Bundle>) -> Result<RawJson, ProviderFailure> {
    let data = read_reply(bundle)?;
    json(data)
}

/// Parses JSON and checks its nesting.
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
        .unwrap_or_else(|| format!("the app returned {} without a message", cut(code, 100)));
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
