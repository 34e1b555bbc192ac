//! `toolway mcp login`: logs in to an MCP server with OAuth in a browser and stores the tokens for the gateway. The
//! browser returns to a port of this computer; if it runs on another one, the user pastes the final address. For a
//! server whose tokens need no person, it tests the grant.

mod browser;
mod callback_server;
mod unattended;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use secrecy::SecretString;
use toolway_api::mcp_servers::McpServerDetail;
use toolway_gateway::mcp::sign_in::{self, KeyringWriter, SignInParts};
use toolway_mcp::definition::{OauthGrantType, ServerDefinition};
use toolway_mcp::oauth::store::FileTokenStore;
use toolway_mcp::oauth::{BearerChallenge, OauthAuthorizer, OauthCredentials, OauthError, TokenStore as _};
use toolway_types::Slug;

use super::local_connection;
use super::servers::{self, unknown_server_error};
use crate::client::{ConnectArgs, target};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::secrets::keyring;
use crate::settings::LoadedSettings;
use browser::{BrowserOptions, SystemBrowser};
use unattended::UnattendedServer;

/// Maximum time to wait until the gateway has reconnected.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum time for requests that may bring a challenge.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(20);

/// Flags of `mcp login`.
#[derive(Debug, Args)]
pub(crate) struct LoginMcpServerArgs {
    /// Name of the MCP server, as `toolway mcp list` shows it
    name: String,
    /// Print the address without opening a browser
    #[arg(long)]
    no_browser: bool,
    /// Maximum time to wait for the browser, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

/// Flags of `mcp logout`.
#[derive(Debug, Args)]
pub(crate) struct LogoutMcpServerArgs {
    /// Name of the MCP server, as `toolway mcp list` shows it
    name: String,
}

/// Runs `mcp logout`.
pub(crate) async fn log_out(args: &LogoutMcpServerArgs, context: &CliContext) -> CliResult {
    let loaded = servers::load_settings(context)?;
    let slug: Slug = args.name.parse().map_err(|_| unknown_server_error(&args.name))?;
    let defined =
        servers::load_definitions(&loaded, context)?.remove(slug.as_str()).map(|(definition, _)| definition);
    let oauth = build_oauth(&slug, &defined, &loaded, context);
    remove_login(&slug, defined.is_some(), &oauth, context).await
}

/// Runs `mcp login`.
pub(crate) async fn run(args: &LoginMcpServerArgs, context: &CliContext) -> CliResult {
    let loaded = servers::load_settings(context)?;
    let slug: Slug = args.name.parse().map_err(|_| unknown_server_error(&args.name))?;
    let found = servers::load_definitions(&loaded, context)?.remove(slug.as_str());
    let (definition, origin) = found.ok_or_else(|| unknown_server_error(&args.name))?;
    let oauth = build_oauth(&slug, &Some(definition.clone()), &loaded, context);
    let url = definition.url.clone().ok_or_else(|| {
        CliError::new(format!("{slug} is a local program and has no login"))
            .with_code("mcp_no_login")
            .with_hint("pass credentials with env in its definition")
    })?;
    if definition.oauth.as_ref().is_some_and(|oauth| !oauth.grant.is_default()) {
        let server = UnattendedServer { slug: &slug, url: &url, definition: &definition, origin: &origin };
        return unattended::test_grant(&server, &oauth, &loaded, context).await;
    }
    let challenge = match oauth.probe(&url).await.map_err(|error| login_error(&slug, &error))? {
        Some(challenge) => challenge,
        None => {
            find_later_challenge(&oauth, &slug, definition, &loaded, context).await?;
            BearerChallenge::default()
        }
    };
    let before = oauth.credentials(&slug).await.ok().flatten();
    let visit = BrowserOptions {
        port: before.as_ref().and_then(|it| browser::loopback_port(it.redirect_uri())),
        opens_browser: !args.no_browser && context.environment.stdout.is_terminal,
        accepts_paste: context.environment.stdin_is_terminal,
        timeout: Duration::from_secs(args.timeout),
    };
    let browser = SystemBrowser::new(visit, slug.clone(), context.printer, &context.environment)?;
    let kept =
        oauth.login(&slug, &url, &challenge, &browser).await.map_err(|error| login_error(&slug, &error))?;
    let connected = reconnect_running_gateway(&slug, context).await;
    if context.printer.json {
        return print_json(&slug, OauthGrantType::AuthorizationCode, &kept, connected, context);
    }
    context.printer.line(&format!("logged in to {slug} at {}", escape::line(kept.issuer())))?;
    if !kept.can_be_renewed() {
        context.printer.note("the server issued no refresh token: log in again when the login expires");
    }
    connected.map_or(Ok(()), |server| servers::print_server(&server, context))
}

fn print_json(
    slug: &Slug,
    grant: OauthGrantType,
    kept: &OauthCredentials,
    connected: Option<McpServerDetail>,
    context: &CliContext,
) -> CliResult {
    context.printer.json_value(&serde_json::json!({
        "server": slug.as_str(),
        "grant": grant.as_str(),
        "issuer": kept.issuer(),
        "scopes": kept.scopes(),
        "expires_ms": kept.expires_ms(),
        "refreshable": kept.can_be_renewed(),
        "dpop": kept.is_bound(),
        "status": connected.and_then(|server| server.status),
    }))
}

/// Tells the running gateway to reconnect with the new login. Does nothing if no gateway runs with this data folder.
async fn reconnect_running_gateway(slug: &Slug, context: &CliContext) -> Option<McpServerDetail> {
    let is_running = target::find_running(&context.folder).is_ok_and(|running| running.is_some());
    let client = context.client(&ConnectArgs::default()).ok().filter(|_| is_running)?;
    let server = servers::reconnect_and_wait(&client, slug.as_str(), RECONNECT_TIMEOUT).await;
    let warn = |failure: &CliError| {
        let again = format!("retry with `toolway mcp test {slug}`");
        context.printer.warning(&format!("the gateway did not connect: {}", failure.message()), &again);
    };
    server.inspect_err(warn).ok()
}

fn build_oauth(
    slug: &Slug,
    defined: &Option<ServerDefinition>,
    loaded: &LoadedSettings,
    context: &CliContext,
) -> Arc<OauthAuthorizer> {
    let (slug, defined) = (slug.clone(), defined.clone());
    sign_in::build_oauth(SignInParts {
        data_dir: context.folder.path(),
        settings: &loaded.settings,
        tool_env: &crate::tool_env::tool_env(context),
        clock: Arc::clone(&context.clock),
        definition: Arc::new(move |asked| defined.clone().filter(|_| *asked == slug)),
        keyring: keyring::IS_AVAILABLE.then(|| -> KeyringWriter {
            Arc::new(|name: &str, secret: &SecretString| {
                keyring::set(name, secret).map_err(|it| it.message().to_owned())
            })
        }),
        browser: None,
    })
}

async fn remove_login(
    slug: &Slug,
    is_defined: bool,
    oauth: &OauthAuthorizer,
    context: &CliContext,
) -> CliResult {
    if oauth.remove(slug).await.map_err(|error| login_error(slug, &error))? {
        return context.printer.line(&format!("removed the login of {slug}"));
    }
    if !is_defined {
        return Err(unknown_server_error(slug.as_str()));
    }
    Err(CliError::new(format!("no login for {slug}")).with_code("mcp_no_login"))
}

/// Removes the tokens of a removed server. Returns true if there were any.
pub(super) fn remove_tokens(name: &str, context: &CliContext) -> CliResult<bool> {
    let Ok(slug) = name.parse::<Slug>() else { return Ok(false) };
    let store = FileTokenStore::with_key_file(context.folder.path().join(sign_in::TOKENS_FOLDER));
    store.remove(&slug).map_err(|error| CliError::new(error.to_string()).with_code("io"))
}

/// Connects to a server that accepts its first request without a token, unless the gateway did so before. A challenge
/// to a later request is stored for the login. A server that only asks for a token on tool calls also allows login, if
/// its metadata names an authorization server.
async fn find_later_challenge(
    oauth: &OauthAuthorizer,
    slug: &Slug,
    definition: ServerDefinition,
    loaded: &LoadedSettings,
    context: &CliContext,
) -> CliResult {
    let url = definition.url.as_deref().unwrap_or_default();
    if oauth.has_recorded_challenge(slug, url).await.is_ok_and(|recorded| recorded) {
        return Ok(());
    }
    let wanted = [(slug.clone(), ServerDefinition { disabled: false, ..definition })].into();
    let upstreams = local_connection::connect(wanted, loaded, context, CHALLENGE_TIMEOUT).await?;
    upstreams.shut_down(local_connection::STOP_TIMEOUT).await;
    Ok(())
}

fn login_error(slug: &Slug, error: &OauthError) -> CliError {
    let failure = CliError::new(format!("cannot log in to {slug}: {}", escape::line(&error.to_string())))
        .with_code("mcp_login");
    match error {
        OauthError::NoClient(_) => failure.with_hint(format!(
            "register a client with the server and set its id (and secret) in the server's definition: \
             [servers.{slug}.oauth] client_id = \"…\""
        )),
        OauthError::Unreachable { .. } => failure.with_hint(
            "if the server uses an API key, set it in the definition: headers = { Authorization = \"…\" }",
        ),
        OauthError::IssuerMismatch { .. } | OauthError::ResourceMismatch { .. } => {
            failure.with_hint("contact the server's operator; a login could send the token to another server")
        }
        OauthError::Browser(_) | OauthError::WrongCallback(_) => {
            failure.with_hint(format!("run `toolway mcp login {slug}` again"))
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests;
