//! `toolway mcp list`.

use clap::Args;
use serde_json::json;

use super::servers::{Server, Servers, defined, has_gateway, loaded};
use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;

/// Flags of `mcp list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ListArgs, context: &Context) -> Done {
    // A gateway knows how they stand; without one, it is what the files say.
    if has_gateway(&args.connect, context)? {
        let text = context.client(&args.connect)?.get(&["api", "mcp", "servers"], &[]).await?;
        if context.printer.json {
            return context.printer.raw_json(&text);
        }
        return print(&read(&text)?, context);
    }
    let defined = defined(&loaded(context)?, context)?;
    let servers = defined.into_iter().map(|(name, (definition, place))| Server {
        name,
        definition: json!(definition.shown()),
        origin: json!({"place": place}),
        status: None,
        log: None,
    });
    let servers = Servers { servers: servers.collect(), problems: Vec::new() };
    if context.printer.json {
        return context.printer.json_value(&servers);
    }
    print(&servers, context)?;
    if !servers.servers.is_empty() {
        context.printer.note("no gateway runs on this data folder; `toolway mcp test` tries them from here");
    }
    Ok(())
}

fn print(found: &Servers, context: &Context) -> Done {
    let mut table = Table::new(vec![
        Column::whole("name"),
        Column::cut("where", 20),
        Column::whole("state"),
        Column::number("tools"),
        Column::cut("problem", 16).optional(),
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
        let place = status.map_or_else(|| place(server), |status| status.place.clone());
        let problem =
            status.and_then(|status| status.problem.as_ref()).map(|problem| problem.message.as_str());
        table.row(vec![
            Cell::styled(&server.name, Style::Name),
            place.into(),
            Cell::styled(state.replace('_', " "), style),
            status.map_or_else(|| "-".to_owned(), |status| status.tools.to_string()).into(),
            problem.unwrap_or_default().into(),
        ]);
    }
    context.printer.table(&table, "there is no MCP server; `toolway mcp add` adds one")?;
    for problem in &found.problems {
        context.printer.warning(&problem.message, problem.hint.as_deref().unwrap_or_default());
    }
    Ok(())
}

/// Where a server is, going by its definition.
fn place(server: &Server) -> String {
    serde_json::from_value::<toolway_mcp::definition::ServerDefinition>(server.definition.clone())
        .map(|definition| definition.place())
        .unwrap_or_default()
}
