//! Checks the definitions of MCP servers and, if a gateway runs, their connections.

use super::DoctorReport;
use crate::client::{ConnectArgs, parse_response, target};
use toolway_api::mcp_servers::McpServerList;

use crate::commands::mcp::servers::{FORMAT_HINT, load_definitions};
use crate::context::CliContext;
use crate::settings::LoadedSettings;

/// Runs the checks.
pub(super) async fn check(
    loaded: &LoadedSettings,
    connect: &ConnectArgs,
    context: &CliContext,
    found: &mut DoctorReport,
) {
    let path = context.folder.mcp_servers();
    if let Err(problems) = toolway_mcp::definition::store::read_file(&path) {
        for problem in problems {
            found.add_error(
                "mcp servers",
                problem.to_string(),
                problem.hint.as_deref().unwrap_or(FORMAT_HINT),
            );
        }
        return;
    }
    let defined = match load_definitions(loaded, context) {
        Ok(defined) => defined,
        Err(failure) => return found.add_failure("mcp servers", &failure),
    };
    if defined.is_empty() {
        found.add_fine("mcp servers", "none; add one with `toolway mcp add`");
        return;
    }
    let names: Vec<&str> = defined.keys().map(String::as_str).collect();
    match target::find_running(&context.folder) {
        Ok(Some(_)) => check_connections(connect, context, found).await,
        _ => found.add_fine(
            "mcp servers",
            format!("definitions are valid: {}; test them with `toolway mcp test`", names.join(", ")),
        ),
    }
}

/// Checks each server's state in the running gateway. Connection errors are reported by the gateway check.
async fn check_connections(connect: &ConnectArgs, context: &CliContext, found: &mut DoctorReport) {
    let Ok(client) = context.client(connect) else { return };
    let Ok(text) = client.get(&["api", "mcp", "servers"], &[]).await else { return };
    let Ok(listed) = parse_response::<McpServerList>(&text) else { return };
    let mut fine = Vec::new();
    for server in &listed.servers {
        let Some(status) = &server.status else {
            // `devices rename` would not help: it changes only the display name.
            let name = &server.name;
            let hint = format!(
                "run `toolway mcp remove {name}` and add the server under another name; or run `toolway devices \
                 revoke {name}` and pair the device under another name"
            );
            found.add_warning("mcp servers", format!("{name}: not connected; a device has this name"), hint);
            continue;
        };
        let said = status.problem.as_ref();
        let words = said.map_or_else(|| status.state.replace('_', " "), |said| said.message.clone());
        let usual = match status.state.as_str() {
            "needs_login" => format!("toolway mcp login {}", server.name),
            _ => format!("toolway mcp test {}", server.name),
        };
        let hint = said.and_then(|said| said.hint.clone()).unwrap_or(usual);
        match status.state.as_str() {
            "failed" | "needs_login" => {
                found.add_warning("mcp servers", format!("{}: {words}", server.name), hint);
            }
            state => fine.push(format!("{} ({state}, {} tools)", server.name, status.tools)),
        }
    }
    if !fine.is_empty() {
        found.add_fine("mcp servers", fine.join(", "));
    }
}
