//! `toolway mcp list`: lists the MCP servers.

use clap::Args;
use toolway_api::mcp_servers::{McpServerDetail, McpServerList};

use super::servers::{has_gateway, load_definitions, load_settings, redacted_fields};
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Flags of `mcp list`.
#[derive(Debug, Args)]
pub(crate) struct ListMcpServersArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ListMcpServersArgs, context: &CliContext) -> CliResult {
    // Only a running gateway knows the connection state.
    if has_gateway(&args.connect, context)? {
        let text = context.client(&args.connect)?.get(&["api", "mcp", "servers"], &[]).await?;
        if context.printer.json {
            return context.printer.raw_json(&text);
        }
        return print(&parse_response(&text)?, context);
    }
    let defined = load_definitions(&load_settings(context)?, context)?;
    let servers = defined.into_iter().map(|(name, (definition, origin))| McpServerDetail {
        name,
        definition: redacted_fields(&definition),
        origin,
        status: None,
        log: None,
    });
    let servers = McpServerList { servers: servers.collect(), problems: Vec::new() };
    if context.printer.json {
        return context.printer.json_value(&servers);
    }
    print(&servers, context)?;
    if !servers.servers.is_empty() {
        context
            .printer
            .note("no gateway is running with this data folder; test the servers with `toolway mcp test`");
    }
    Ok(())
}

fn print(found: &McpServerList, context: &CliContext) -> CliResult {
    let mut table = TextTable::new(vec![
        TableColumn::fixed("name"),
        TableColumn::truncatable("location", 20),
        TableColumn::fixed("state"),
        TableColumn::number("tools"),
        TableColumn::truncatable("problem", 16).optional(),
    ]);
    for server in &found.servers {
        let status = server.status.as_ref();
        let state = status.map_or("-", |status| status.state.as_str());
        let style = match state {
            "connected" => Style::Good,
            "connecting" | "needs_login" => Style::Warning,
            "failed" => Style::Error,
            _ => Style::Faint,
        };
        let place = status.map_or_else(|| location_text(server), |status| status.endpoint.clone());
        let problem =
            status.and_then(|status| status.problem.as_ref()).map(|problem| problem.message.as_str());
        table.add_row(vec![
            TableCell::styled(&server.name, Style::Name),
            place.into(),
            TableCell::styled(state.replace('_', " "), style),
            status.map_or_else(|| "-".to_owned(), |status| status.tools.to_string()).into(),
            problem.unwrap_or_default().into(),
        ]);
    }
    context.printer.table(&table, "no MCP servers; add one with `toolway mcp add`")?;
    for problem in &found.problems {
        context.printer.warning(&problem.message, problem.hint.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// Returns the location from a server's definition.
fn location_text(server: &McpServerDetail) -> String {
    serde_json::from_value::<toolway_mcp::definition::ServerDefinition>(server.definition.clone().into())
        .map(|definition| definition.location())
        .unwrap_or_default()
}
