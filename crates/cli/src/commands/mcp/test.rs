//! `toolway mcp test`: the running gateway connects anew; where none runs, it is tried from here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::time::Instant;
use toolway_gateway::mcp::alone::{self, AloneParts};
use toolway_mcp::definition::ServerDefinition;
use toolway_types::Slug;

use super::servers::{Server, Servers, defined, has_gateway, loaded, reconnected, say, unknown};
use crate::client::{Client, ConnectArgs, read};
use crate::context::Context;
use crate::report::{Done, Failure};

/// How long a server may take: programs may have to be downloaded first.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked whether a connection stands.
const LOOK: Duration = Duration::from_millis(50);
/// How long programs may take to end.
const STOP: Duration = Duration::from_secs(5);

/// Flags of `mcp test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Name of the MCP server, as `mcp list` shows it; all of them, where none is named
    name: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &TestArgs, context: &Context) -> Done {
    let found = if has_gateway(&args.connect, context)? {
        by_gateway(args, &context.client(&args.connect)?, context).await?
    } else {
        context
            .printer
            .note("no gateway runs on this data folder, so it is tried from here, with this environment");
        from_here(args.name.as_deref(), context).await?
    };
    if context.printer.json {
        context.printer.json_value(&json!({ "servers": found }))?;
    }
    let works = |server: &&Server| {
        server.status.as_ref().is_some_and(|status| status.is_connected() || status.state == "disabled")
    };
    let failed: Vec<_> =
        found.iter().filter(|server| !works(server)).map(|server| server.name.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    if context.printer.json {
        return Err(Failure::told());
    }
    Err(Failure::new(match failed.as_slice() {
        [one] => format!("{one} can't be used"),
        several => format!("{} can't be used", several.join(", ")),
    })
    .code("mcp_server_failed")
    .hint("the lines above say what to do"))
}

async fn by_gateway(args: &TestArgs, client: &Client, context: &Context) -> Done<Vec<Server>> {
    let all: Servers = read(&client.get(&["api", "mcp", "servers"], &[]).await?)?;
    let chosen: Vec<Server> = match &args.name {
        None => all.servers,
        Some(name) => vec![all.servers.into_iter().find(|it| it.name == *name).ok_or_else(|| unknown(name))?],
    };
    let mut found = Vec::new();
    for server in some(chosen)? {
        let is_tried = server.status.as_ref().is_some_and(|status| status.state != "disabled");
        let server = if is_tried { reconnected(client, &server.name, PATIENCE).await? } else { server };
        if !context.printer.json {
            say(&server, context)?;
        }
        found.push(server);
    }
    Ok(found)
}

fn some<T>(all: Vec<T>) -> Done<Vec<T>> {
    if all.is_empty() {
        return Err(Failure::new("there is no MCP server to try")
            .code("no_mcp_server")
            .hint("`toolway mcp add` adds one"));
    }
    Ok(all)
}

/// Connects to all of them at once.
async fn from_here(name: Option<&str>, context: &Context) -> Done<Vec<Server>> {
    let loaded = loaded(context)?;
    let mut defined = defined(&loaded, context)?;
    if let Some(name) = name {
        defined.retain(|known, _| known == name);
        if defined.is_empty() {
            return Err(unknown(name));
        }
    }
    some(defined.keys().collect())?;
    let slug = |name: &String| name.parse::<Slug>().ok();
    let wanted: BTreeMap<Slug, ServerDefinition> = defined
        .iter()
        .filter_map(|(name, (definition, _))| Some((slug(name)?, definition.clone())))
        .collect();
    let looked_up = wanted.clone();
    let surroundings = crate::surroundings::of(context);
    context.folder.create()?;
    let upstreams = alone::upstreams(AloneParts {
        data_dir: context.folder.path(),
        settings: &loaded.settings,
        surroundings: &surroundings,
        clock: Arc::clone(&context.clock),
        definition: Arc::new(move |slug| looked_up.get(slug).cloned()),
    });
    upstreams.apply(wanted);
    let end = Instant::now() + PATIENCE;
    let is_connecting = |state| state == toolway_mcp::upstream::State::Connecting;
    while upstreams.status().iter().any(|status| is_connecting(status.state)) && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
    let mut found = Vec::new();
    for status in upstreams.status() {
        let name = status.slug.to_string();
        let log = upstreams.get(&status.slug).map(|upstream| upstream.log().lines());
        let Some((definition, place)) = defined.get(&name) else { continue };
        let server = Server {
            definition: json!(definition.shown()),
            origin: json!({"place": place}),
            status: Some(read(&json!(status).to_string())?),
            name,
            log,
        };
        if !context.printer.json {
            say(&server, context)?;
        }
        found.push(server);
    }
    upstreams.shut_down(STOP).await;
    Ok(found)
}
