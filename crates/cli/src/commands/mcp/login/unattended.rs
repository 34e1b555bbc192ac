//! `toolway mcp login` for a server whose tokens need no person: requests a token and connects with it.

use std::time::Duration;

use toolway_api::DefinitionOrigin;
use toolway_api::mcp_servers::McpServerDetail;
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::oauth::{OauthAuthorizer, OauthError};
use toolway_types::Slug;

use super::{login_error, print_json, reconnect_running_gateway};
use crate::commands::mcp::{local_connection, servers};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::settings::LoadedSettings;

/// Maximum time for connecting from this program.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// A server whose tokens need no person.
pub(super) struct UnattendedServer<'a> {
    pub(super) slug: &'a Slug,
    pub(super) url: &'a str,
    pub(super) definition: &'a ServerDefinition,
    pub(super) origin: &'a DefinitionOrigin,
}

/// Requests a token, and connects to the server with it. Fails if either does not work.
pub(super) async fn test_grant(
    server: &UnattendedServer<'_>,
    oauth: &OauthAuthorizer,
    loaded: &LoadedSettings,
    context: &CliContext,
) -> CliResult {
    let slug = server.slug;
    let grant = server.definition.oauth.as_ref().map(|oauth| oauth.grant).unwrap_or_default();
    let challenge = oauth.probe(server.url).await.map_err(|error| login_error(slug, &error))?;
    let token = oauth.request_token(slug, server.url, &challenge.unwrap_or_default()).await;
    let token = token.map_err(|error| grant_error(slug, &error))?;
    let connected = match reconnect_running_gateway(slug, context).await {
        Some(connected) => Some(connected),
        None => connect_locally(server, loaded, context).await?,
    };
    let works = connected.as_ref().and_then(|it| it.status.as_ref()).is_some_and(|it| it.is_connected());
    if context.printer.json {
        print_json(slug, grant, &token, connected, context)?;
    } else {
        context.printer.line(&format!(
            "no person is needed: {slug} gets its tokens with the grant {} from {}",
            grant.as_str(),
            escape::line(token.issuer())
        ))?;
        connected.map_or(Ok(()), |connected| servers::print_server(&connected, context))?;
    }
    if works {
        return Ok(());
    }
    if context.printer.json {
        return Err(CliError::already_reported());
    }
    Err(CliError::new(format!("{slug} issued a token, but does not work"))
        .with_code("mcp_server_failed")
        .with_hint("follow the hints above"))
}

/// Connects from this program, because no gateway runs.
async fn connect_locally(
    server: &UnattendedServer<'_>,
    loaded: &LoadedSettings,
    context: &CliContext,
) -> CliResult<Option<McpServerDetail>> {
    let definition = ServerDefinition { disabled: false, ..server.definition.clone() };
    let wanted = [(server.slug.clone(), definition)].into();
    let upstreams = local_connection::connect(wanted, loaded, context, CONNECT_TIMEOUT).await?;
    let status = upstreams.status().into_iter().next();
    let detail = status
        .map(|status| local_connection::server_detail(&upstreams, status, server.definition, server.origin));
    upstreams.shut_down(local_connection::STOP_TIMEOUT).await;
    Ok(detail)
}

fn grant_error(slug: &Slug, error: &OauthError) -> CliError {
    let failure = CliError::new(format!("no token for {slug}: {}", escape::line(&error.to_string())));
    failure.with_code("mcp_login").with_hint(format!("check [servers.{slug}.oauth] in its definition"))
}
