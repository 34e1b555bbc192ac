//! `toolway mcp test`: tells the running gateway to reconnect to its MCP servers. If no gateway is running, this
//! program connects to them itself.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use toolway_api::mcp_servers::{McpServerDetail, McpServerList};
use toolway_mcp::definition::ServerDefinition;
use toolway_types::Slug;

use super::local_connection;
use super::servers::{
    has_gateway, load_definitions, load_settings, print_server, reconnect_and_wait, unknown_server_error,
};
use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};

/// Maximum time for connecting. It is long because commands such as `uvx` may download programs first.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

/// Flags of `mcp test`.
#[derive(Debug, Args)]
pub(crate) struct TestMcpServersArgs {
    /// Name of the MCP server, as `mcp list` shows it (default: all)
    name: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &TestMcpServersArgs, context: &CliContext) -> CliResult {
    let found = if has_gateway(&args.connect, context)? {
        test_through_gateway(args, &context.client(&args.connect)?, context).await?
    } else {
        context.printer.note(
            "no gateway is running with this data folder; testing with the environment of this command",
        );
        test_locally(args.name.as_deref(), context).await?
    };
    if context.printer.json {
        context.printer.json_value(&json!({ "servers": found }))?;
    }
    let works = |server: &&McpServerDetail| {
        server.status.as_ref().is_some_and(|status| status.is_connected() || status.state == "disabled")
    };
    let failed: Vec<_> =
        found.iter().filter(|server| !works(server)).map(|server| server.name.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    if context.printer.json {
        return Err(CliError::already_reported());
    }
    Err(CliError::new(match failed.as_slice() {
        [one] => format!("{one} does not work"),
        several => format!("{} do not work", several.join(", ")),
    })
    .with_code("mcp_server_failed")
    .with_hint("follow the hints above"))
}

async fn test_through_gateway(
    args: &TestMcpServersArgs,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult<Vec<McpServerDetail>> {
    let all: McpServerList = parse_response(&client.get(&["api", "mcp", "servers"], &[]).await?)?;
    let chosen: Vec<McpServerDetail> = match &args.name {
        None => all.servers,
        Some(name) => vec![
            all.servers.into_iter().find(|it| it.name == *name).ok_or_else(|| unknown_server_error(name))?,
        ],
    };
    let mut found = Vec::new();
    for server in require_servers(chosen)? {
        let is_enabled = server.status.as_ref().is_some_and(|status| status.state != "disabled");
        let server =
            if is_enabled { reconnect_and_wait(client, &server.name, TEST_TIMEOUT).await? } else { server };
        if !context.printer.json {
            print_server(&server, context)?;
        }
        found.push(server);
    }
    Ok(found)
}

fn require_servers<T>(all: Vec<T>) -> CliResult<Vec<T>> {
    if all.is_empty() {
        return Err(CliError::new("no MCP servers to test")
            .with_code("no_mcp_server")
            .with_hint("add one with `toolway mcp add`"));
    }
    Ok(all)
}

/// Connects from this program to all servers at the same time, or only to the one called `name`.
async fn test_locally(name: Option<&str>, context: &CliContext) -> CliResult<Vec<McpServerDetail>> {
    let loaded = load_settings(context)?;
    let mut defined = load_definitions(&loaded, context)?;
    if let Some(name) = name {
        defined.retain(|known, _| known == name);
        if defined.is_empty() {
            return Err(unknown_server_error(name));
        }
    }
    require_servers(defined.keys().collect())?;
    let slug = |name: &String| name.parse::<Slug>().ok();
    let wanted: BTreeMap<Slug, ServerDefinition> = defined
        .iter()
        .filter_map(|(name, (definition, _))| Some((slug(name)?, definition.clone())))
        .collect();
    let upstreams = local_connection::connect(wanted, &loaded, context, TEST_TIMEOUT).await?;
    let mut found = Vec::new();
    for status in upstreams.status() {
        let Some((definition, origin)) = defined.get(status.slug.as_str()) else { continue };
        let server = local_connection::server_detail(&upstreams, status, definition, origin);
        if !context.printer.json {
            print_server(&server, context)?;
        }
        found.push(server);
    }
    upstreams.shut_down(local_connection::STOP_TIMEOUT).await;
    Ok(found)
}
