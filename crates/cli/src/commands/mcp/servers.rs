//! Reads MCP servers through the running gateway or from the files.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolway_api::DefinitionOrigin;
use toolway_api::mcp_servers::{McpServerDetail, McpServerStatus};
use toolway_files::owner_file::FileProblem;
use toolway_gateway::api_views::mcp_server_origin;
use toolway_mcp::definition::store::{self, ServersFileError};
use toolway_mcp::definition::{DefinitionError, DefinitionLocation, ServerDefinition};

use crate::client::{ConnectArgs, GatewayClient, parse_response, target};
use crate::context::CliContext;
use crate::error::{CliError, CliProblem, CliResult};
use crate::print::escape;
use crate::print::style::Style;
use crate::settings::{self, LoadedSettings};

/// Hint about the format of a definition.
pub(crate) const FORMAT_HINT: &str = "see docs/mcp-servers.md for the format";
/// Interval for polling the connection state.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// True if there is a gateway to ask.
pub(crate) fn has_gateway(connect: &ConnectArgs, context: &CliContext) -> CliResult<bool> {
    Ok(connect.gateway.is_some() || target::find_running(&context.folder)?.is_some())
}

/// Fetches a server from the gateway.
pub(crate) async fn fetch_server(client: &GatewayClient, name: &str) -> CliResult<McpServerDetail> {
    parse_response(&client.get(&["api", "mcp", "servers", name], &[]).await?)
}

/// Waits until a server has connected or failed since `before`, and returns it. After the timeout it returns the
/// current state.
pub(crate) async fn wait_until_settled(
    client: &GatewayClient,
    name: &str,
    before: Option<i64>,
    within: Duration,
) -> CliResult<McpServerDetail> {
    let end = Instant::now() + within;
    loop {
        let server = fetch_server(client, name).await?;
        let is_new = |status: &McpServerStatus| status.is_settled() && Some(status.since_ms) != before;
        if server.status.as_ref().is_none_or(is_new) || Instant::now() >= end {
            return Ok(server);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Makes the gateway reconnect to a server, and waits for the result.
pub(crate) async fn reconnect_and_wait(
    client: &GatewayClient,
    name: &str,
    within: Duration,
) -> CliResult<McpServerDetail> {
    let before = fetch_server(client, name).await?.status.map(|status| status.since_ms);
    client.send_empty(Method::POST, &["api", "mcp", "servers", name, "reconnect"]).await?;
    wait_until_settled(client, name, before, within).await
}

/// Loads the definitions of the settings and of the data folder's file, with their locations.
pub(crate) fn load_definitions(
    loaded: &LoadedSettings,
    context: &CliContext,
) -> CliResult<BTreeMap<String, (ServerDefinition, DefinitionOrigin)>> {
    let path = context.folder.mcp_servers();
    let file = store::read_file(&path).map_err(|problems| servers_file_error(&problems))?;
    let of_file = file.servers.into_iter().map(|(slug, entry)| {
        let location = DefinitionLocation::File { path: path.clone(), line: entry.line };
        (slug.to_string(), (entry.definition, mcp_server_origin(&location)))
    });
    let mut all: BTreeMap<_, _> = of_file.collect();
    let lines = loaded.origin();
    for (name, definition) in &loaded.settings.mcp.servers {
        let line = lines.server_lines.get(name).copied();
        let location =
            DefinitionLocation::Settings { path: lines.file.clone().filter(|_| line.is_some()), line };
        let origin = mcp_server_origin(&location);
        if let Some((_, other)) = all.get(name) {
            let (place, other) = (origin_text(&origin), origin_text(other));
            return Err(CliError::new(format!("the MCP server {name} is defined in {place} and in {other}"))
                .with_code("invalid_file")
                .with_hint("remove or rename one of them"));
        }
        all.insert(name.clone(), (definition.clone(), origin));
    }
    Ok(all)
}

/// Describes the location of a definition.
pub(crate) fn origin_text(origin: &DefinitionOrigin) -> String {
    match (&origin.path, origin.line) {
        (Some(path), Some(line)) => format!("{path}:{line}"),
        (Some(path), None) => path.clone(),
        (None, _) => "the settings".to_owned(),
    }
}

/// Returns the fields of a definition without secret values.
pub(crate) fn redacted_fields(definition: &ServerDefinition) -> Map<String, Value> {
    match json!(definition.redacted()) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Loads the settings of this data folder.
pub(crate) fn load_settings(context: &CliContext) -> CliResult<LoadedSettings> {
    settings::load(&context.setting_sources(Vec::new())).map_err(|wrong| settings::settings_error(&wrong))
}

/// Creates the error for an unknown server.
pub(crate) fn unknown_server_error(name: &str) -> CliError {
    CliError::new(format!("unknown MCP server {name:?}"))
        .with_code("mcp_server_not_found")
        .with_hint("list the servers with `toolway mcp list`, or add one with `toolway mcp add`")
}

/// Creates the error for an invalid file.
pub(crate) fn servers_file_error(problems: &[FileProblem]) -> CliError {
    let what = match problems {
        [_] => "the file of MCP servers is invalid".to_owned(),
        several => format!("the file of MCP servers has {} errors", several.len()),
    };
    let problem = |one: &FileProblem| CliProblem { message: one.to_string(), hint: one.hint.clone() };
    CliError::new(what)
        .with_code("invalid_file")
        .with_problems(problems.iter().map(problem).collect())
        .with_hint(FORMAT_HINT)
}

/// Creates the error for an invalid definition.
pub(crate) fn invalid_definition_error(name: &str, flaws: &[DefinitionError]) -> CliError {
    let problem =
        |flaw: &DefinitionError| CliProblem { message: flaw.to_string(), hint: Some(flaw.hint.clone()) };
    CliError::usage(format!("the definition of the MCP server {name} is invalid"))
        .with_problems(flaws.iter().map(problem).collect())
        .with_hint(FORMAT_HINT)
}

/// Converts an error from changing the file.
pub(crate) fn change_error(error: ServersFileError) -> CliError {
    match error {
        ServersFileError::Invalid { problems, .. } => servers_file_error(&problems),
        ServersFileError::Io { path, error } => CliError::io("write", &path, &error),
        ServersFileError::NotEditable { .. } => {
            CliError::new(error.to_string()).with_code("invalid_file").with_hint(FORMAT_HINT)
        }
    }
}

/// Prints the state of one server.
pub(crate) fn print_server(server: &McpServerDetail, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let name = printer.paint(Style::Name, &escape::line(&server.name));
    let Some(status) = &server.status else {
        return printer.line(&format!(
            "{} {name}: not connected, because a device has this name",
            printer.paint(Style::Error, "✗")
        ));
    };
    let (mark, style) = match status.state.as_str() {
        "connected" => ("✓", Style::Good),
        "disabled" => ("-", Style::Faint),
        "connecting" => ("…", Style::Warning),
        _ => ("✗", Style::Error),
    };
    printer.line(&format!(
        "{} {name}  {}",
        printer.paint(style, mark),
        printer.paint(Style::Faint, &escape::line(&status.endpoint))
    ))?;
    printer.line(&format!("  {}", escape::line(&status_summary(status))))?;
    let era = server.definition.get("era").and_then(|era| era.as_str());
    if let Some(era) = era.filter(|era| *era != "auto") {
        printer.line(&format!("  era: {}", escape::line(era)))?;
    }
    for left_out in &status.left_out {
        printer.line(&format!(
            "  skipped: {}: {}",
            escape::line(&left_out.name),
            escape::line(&left_out.reason)
        ))?;
    }
    let Some(problem) = &status.problem else { return Ok(()) };
    printer.line(&format!("  {}", escape::line(&problem.message)))?;
    if let Some(hint) = &problem.hint {
        printer.line(&format!("  {} {}", printer.paint(Style::Hint, "hint:"), escape::line(hint)))?;
    }
    if !status.is_connected() {
        for line in last_lines(server.log.as_deref().unwrap_or_default()) {
            printer.line(&format!("  {} {}", printer.paint(Style::Faint, "log:"), escape::line(line)))?;
        }
    }
    Ok(())
}

/// Returns the last lines of a log.
fn last_lines(lines: &[String]) -> &[String] {
    const SHOWN: usize = 5;
    lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default()
}

/// Describes the state of a server in one line.
fn status_summary(status: &McpServerStatus) -> String {
    if !status.is_connected() {
        return match status.state.as_str() {
            "connecting" => "still connecting; check with `toolway mcp list`".to_owned(),
            "needs_login" => "needs login".to_owned(),
            other => other.to_owned(),
        };
    }
    let named = match (&status.server_name, &status.server_version) {
        (Some(name), Some(version)) if !version.is_empty() => format!("{name} {version}, "),
        (Some(name), _) => format!("{name}, "),
        _ => String::new(),
    };
    let spoken =
        status.protocol_version.as_deref().map(|version| format!("MCP {version}")).unwrap_or_default();
    let over = status.transport.as_deref().map(|kind| format!(" over {kind}")).unwrap_or_default();
    format!(
        "{named}{spoken}{over}: {}, {}, {}",
        pluralize(status.tools, "tool"),
        pluralize(status.resources, "resource"),
        pluralize(status.prompts, "prompt")
    )
}

fn pluralize(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
