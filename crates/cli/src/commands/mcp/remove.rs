//! `toolway mcp remove`: removes an MCP server, its login and its secrets.

use clap::Args;
use reqwest::Method;
use serde_json::json;
use toolway_mcp::definition::{OauthDefinition, SECRET_PREFIX, ServerDefinition, store};

use super::login;
use super::servers::{change_error, load_definitions, load_settings, origin_text, unknown_server_error};
use crate::client::{ConnectArgs, target};
use crate::commands::tools::own_tools::{reload_error, reload_gateway, reload_status};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::secrets;

/// Flags of `mcp remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveMcpServerArgs {
    /// Name of the MCP server, as `mcp list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &RemoveMcpServerArgs, context: &CliContext) -> CliResult {
    let name = &args.name;
    if let Some(url) =
        args.connect.gateway.as_ref().filter(|url| !target::is_local_gateway(url, &context.folder))
    {
        let path = ["api", "mcp", "servers", name];
        context.client(&args.connect)?.send_empty(Method::DELETE, &path).await?;
        if context.printer.json {
            return context.printer.json_value(&json!({"name": name, "removed": true, "gateway": url}));
        }
        return context.printer.line(&escape::line(&format!("removed {name}")));
    }
    let loaded = load_settings(context)?;
    if loaded.settings.mcp.servers.contains_key(name) {
        let place = load_definitions(&loaded, context)?
            .remove(name)
            .map(|(_, origin)| origin_text(&origin))
            .unwrap_or_default();
        return Err(CliError::new(format!(
            "{name} is defined in {place}, which this command does not change"
        ))
        .with_code("server_in_settings")
        .with_hint("remove it there"));
    }
    let file = context.folder.mcp_servers();
    let before = store::read_file(&file).ok();
    if !store::remove_server(&file, name).map_err(change_error)? {
        return Err(unknown_server_error(name));
    }
    let removed = before.and_then(|mut before| before.servers.remove(name.as_str()));
    let forgotten = match removed {
        Some(entry) => remove_secrets(name, &entry.definition, context)?,
        None => Vec::new(),
    };
    let was_signed_in = login::remove_tokens(name, context)?;
    let told = reload_gateway(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(&json!({
            "name": name, "removed": true, "secrets_removed": forgotten, "login_removed": was_signed_in, "gateway": reload_status(&told),
        }))?;
    } else {
        context.printer.line(&escape::line(&format!("removed {name}")))?;
        if was_signed_in {
            context.printer.note("removed its login");
        }
        if !forgotten.is_empty() {
            context.printer.note(&format!("removed its secrets: {}", forgotten.join(", ")));
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Removes the secrets that only this server used.
fn remove_secrets(name: &str, removed: &ServerDefinition, context: &CliContext) -> CliResult<Vec<String>> {
    let own = format!("mcp-{name}-");
    let named = |definition: &ServerDefinition| -> Vec<String> {
        let of_oauth = definition.oauth.iter().flat_map(OauthDefinition::secret_values);
        let values = definition.env.values().chain(definition.headers.values());
        let values = values.chain(of_oauth.map(|(_, value)| value));
        values.filter_map(|value| value.strip_prefix(SECRET_PREFIX)).map(str::to_owned).collect()
    };
    let file = store::read_file(&context.folder.mcp_servers()).unwrap_or_default();
    let used: Vec<String> = file.servers.values().flat_map(|entry| named(&entry.definition)).collect();
    let mut forgotten = Vec::new();
    for secret in named(removed) {
        if !secret.starts_with(&own) || used.contains(&secret) || forgotten.contains(&secret) {
            continue;
        }
        match secrets::remove(&context.folder, &secret) {
            Ok(()) => forgotten.push(secret),
            // Removed before, or stored at a location that the settings define.
            Err(failure) if failure.code() == "secret_not_found" => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(forgotten)
}
