//! `toolway version`: prints the versions of this program and of the protocol.

use serde_json::json;

use crate::context::CliContext;
use crate::error::CliResult;

/// Runs the command.
pub(crate) fn run(context: &CliContext) -> CliResult {
    let version = env!("CARGO_PKG_VERSION");
    if context.printer.json {
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        return context.printer.json_value(
            &json!({"version": version, "protocol_version": toolway_wire::VERSION, "platform": platform}),
        );
    }
    context.printer.line(&format!("toolway {version} (protocol {})", toolway_wire::VERSION))
}
