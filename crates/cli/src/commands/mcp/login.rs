//! `toolway mcp login`: signs in to an MCP server that wants OAuth, in a person's browser, and keeps what comes of it
//! for the gateway. The browser is sent back to a port of this computer; where it runs on another one, the address that
//! it ends at can be pasted instead.

mod browser;
mod page;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use secrecy::SecretString;
use toolway_gateway::mcp::SERVERS_FILE;
use toolway_gateway::mcp::sign_in::{self, KeepInKeyring, SignInParts};
use toolway_mcp::definition::{self, ServerDefinition};
use toolway_mcp::oauth::{Challenge, Oauth, OauthError};
use toolway_types::Slug;

use crate::context::Context;
use crate::print::escape;
use crate::report::{Done, Failure};
use crate::secrets::keyring;
use crate::settings::{self, Loaded};
use browser::{PersonsBrowser, Visit};

/// Flags of `mcp login`.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// The server's name, as `toolway mcp list` shows it.
    name: String,
    /// Show the address alone; open no browser.
    #[arg(long)]
    no_browser: bool,
    /// How long to wait for the browser to come back, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Forget the login there is, and don't sign in again.
    #[arg(long, conflicts_with_all = ["no_browser", "timeout"])]
    forget: bool,
}

/// Runs the command.
pub(crate) async fn run(args: &LoginArgs, context: &Context) -> Done {
    let loaded =
        settings::load(&context.setting_sources(Vec::new())).map_err(|wrong| settings::failure(&wrong))?;
    let slug: Slug = args.name.parse().map_err(|_| unknown(&args.name))?;
    let defined = find(&slug, &loaded, context)?;
    let oauth = oauth(&slug, &defined, &loaded, context);
    if args.forget {
        return forget(&slug, defined.is_some(), &oauth, context).await;
    }
    let url = defined.ok_or_else(|| unknown(&args.name))?.url.ok_or_else(|| {
        Failure::new(format!("{slug} is a program on this computer, which nobody signs in to"))
            .code("mcp_no_login")
            .hint("give it what it needs in its environment: env in its definition")
    })?;
    let challenge = wanted(&oauth, &slug, &url).await?;
    let before = oauth.credentials(&slug).await.ok().flatten();
    let visit = Visit {
        port: before.as_ref().and_then(|it| browser::port_of(it.redirect_uri())),
        open: !args.no_browser && context.environment.stdout.is_terminal,
        paste: context.environment.stdin_is_terminal,
        within: Duration::from_secs(args.timeout),
    };
    let browser = PersonsBrowser::new(visit, slug.clone(), context.printer, &context.environment)?;
    let kept = oauth.login(&slug, &url, &challenge, &browser).await.map_err(|error| failed(&slug, &error))?;
    if context.printer.json {
        return context.printer.json_value(&serde_json::json!({
            "server": slug.as_str(),
            "issuer": kept.issuer(),
            "scopes": kept.scopes(),
            "expires_ms": kept.expires_ms(),
            "renews_itself": kept.can_be_renewed(),
        }));
    }
    context.printer.line(&format!("signed in to {slug} at {}", escape(kept.issuer())))?;
    if !kept.can_be_renewed() {
        context.printer.note("the server gave no means to renew this: when it ends, sign in again");
    }
    Ok(())
}

/// The definition of this server, in the settings or in the data folder's file.
fn find(slug: &Slug, loaded: &Loaded, context: &Context) -> Done<Option<ServerDefinition>> {
    if let Some(found) = loaded.settings.mcp.servers.get(slug.as_str()) {
        return Ok(Some(found.clone()));
    }
    let path = context.folder.path().join(SERVERS_FILE);
    let file = definition::stored::read(&path).map_err(|problems| {
        let failure = Failure::new(format!("{} can't be used", path.display())).code("mcp_servers");
        problems.iter().fold(failure, |failure, problem| failure.hint(problem.to_string()))
    })?;
    Ok(file.servers.get(slug).map(|entry| entry.definition.clone()))
}

fn unknown(name: &str) -> Failure {
    Failure::new(format!("there is no MCP server {name:?}"))
        .code("mcp_server_unknown")
        .hint("`toolway mcp list` shows their names, `toolway mcp add` adds one")
}

fn oauth(slug: &Slug, defined: &Option<ServerDefinition>, loaded: &Loaded, context: &Context) -> Arc<Oauth> {
    let (slug, defined) = (slug.clone(), defined.clone());
    sign_in::oauth(SignInParts {
        data_dir: context.folder.path(),
        settings: &loaded.settings,
        surroundings: &crate::surroundings::of(context),
        clock: Arc::clone(&context.clock),
        definition: Arc::new(move |asked| defined.clone().filter(|_| *asked == slug)),
        keyring: keyring::EXISTS.then(|| -> KeepInKeyring {
            Arc::new(|name: &str, secret: &SecretString| keyring::set(name, secret).map_err(|it| it.message().to_owned()))
        }),
        browser: None,
    })
}

async fn forget(slug: &Slug, is_defined: bool, oauth: &Oauth, context: &Context) -> Done {
    if oauth.forget(slug).await.map_err(|error| failed(slug, &error))? {
        return context.printer.line(&format!("forgot the login to {slug}"));
    }
    if !is_defined {
        return Err(unknown(slug.as_str()));
    }
    Err(Failure::new(format!("there is no login to {slug}")).code("mcp_no_login"))
}

/// What the server says without a token. One that wants none until a tool is called is signed in to all the same, as
/// long as it says where.
async fn wanted(oauth: &Oauth, slug: &Slug, url: &str) -> Done<Challenge> {
    let said = oauth.probe(url).await.map_err(|error| failed(slug, &error))?;
    Ok(said.unwrap_or_default())
}

fn failed(slug: &Slug, error: &OauthError) -> Failure {
    let failure = Failure::new(format!("cannot sign in to {slug}: {}", escape(&error.to_string()))).code("mcp_login");
    match error {
        OauthError::NoClient(_) => failure.hint(format!(
            "register a client there by hand and set its id (and secret) in the server's definition: \
             [servers.{slug}.oauth] client_id = \"…\""
        )),
        OauthError::Unreachable { .. } => failure
            .hint("if the server takes a key instead, set it in its definition: headers = { Authorization = \"…\" }"),
        OauthError::IssuerMismatch { .. } | OauthError::ResourceMismatch { .. } => {
            failure.hint("tell whoever runs the server; signing in would hand the token to somebody else")
        }
        OauthError::Browser(_) | OauthError::WrongCallback(_) => {
            failure.hint(format!("run `toolway mcp login {slug}` again"))
        }
        _ => failure,
    }
}

#[cfg(test)]
mod tests;
