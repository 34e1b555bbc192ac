//! `toolway mcp add`. A program is set here, on the gateway's own computer, and never over a network; a server at an
//! address can be given to a gateway elsewhere too.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use secrecy::SecretString;
use serde_json::json;
use toolway_mcp::definition::import::secret_name;
use toolway_mcp::definition::{
    OauthDefinition, SECRET_PREFIX, ServerDefinition, Transport, check_name, looks_secret, stored,
};
use toolway_types::Slug;

use super::servers::{Server, defined, flawed, loaded, not_changed, say, settled};
use crate::client::{ConnectArgs, find};
use crate::commands::secrets::read_secret;
use crate::commands::tools::own::{not_told, refuse_elsewhere, tell, word};
use crate::context::Context;
use crate::print::escape;
use crate::report::{Done, Failure};
use crate::secrets;

/// How long it is waited for the gateway to have connected.
const PATIENCE: Duration = Duration::from_secs(10);
/// Flags of this command that a program would not know.
const OURS: &[&str] = &["--env", "--cwd", "--header", "--transport", "--sampling", "--roots", "--replace"];

/// Flags of `mcp add`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true))]
pub(crate) struct AddArgs {
    /// A name for it, which its tools begin with: lower-case letters, digits and hyphens
    name: String,
    /// The program to run, as npx; its arguments come last, after all other flags
    #[arg(long, value_name = "PROGRAM", group = "place")]
    command: Option<String>,
    /// A variable of the program's environment, as LOG_LEVEL=debug; without =VALUE it is read from standard input and
    /// kept among the secrets. May be said more than once
    #[arg(long, value_name = "NAME[=VALUE]", requires = "command")]
    env: Vec<String>,
    /// The folder that the program runs in
    #[arg(long, value_name = "DIR", requires = "command")]
    cwd: Option<PathBuf>,
    /// Its address, as https://mcp.example.com/mcp
    #[arg(long, value_name = "URL", group = "place")]
    url: Option<String>,
    /// A header of every request, as X-Team:blue; without :VALUE it is read from standard input and kept among the
    /// secrets. May be said more than once
    #[arg(long, value_name = "NAME[:VALUE]", requires = "url")]
    header: Vec<String>,
    /// How it is spoken to, where that is not to be found by trying
    #[arg(long, value_enum, requires = "url")]
    transport: Option<TransportWord>,
    /// A client that was registered by hand, where the server asks for OAuth and registers none itself
    #[arg(long, value_name = "ID", requires = "url")]
    client_id: Option<String>,
    /// A scope to ask for, in the place of those that the server names; may be said more than once
    #[arg(long, value_name = "SCOPE", requires = "url")]
    scope: Vec<String>,
    /// Let it ask the model of the client that calls it
    #[arg(long)]
    sampling: bool,
    /// Let it ask for the folders that the client that calls it works in
    #[arg(long)]
    roots: bool,
    /// Put it in the place of the one that has this name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    connect: ConnectArgs,
    /// The program's arguments
    #[arg(value_name = "ARGS", requires = "command", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// How a server at an address is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TransportWord {
    /// Found by trying
    Auto,
    /// Streamable HTTP (2025-03-26 and later)
    StreamableHttp,
    /// HTTP with SSE (2024-11-05)
    Sse,
}

/// Values that are kept among the secrets; none where they are yet to be asked for.
type Secrets = Vec<(String, Option<SecretString>)>;

pub(super) async fn run(args: AddArgs, context: &Context) -> Done {
    let slug = check_name(&args.name).map_err(|flaw| flawed(&args.name, &[flaw]))?;
    let (definition, kept) = definition(&slug, &args)?;
    definition.check().map_err(|flaws| flawed(&args.name, &flaws))?;
    let elsewhere = args.connect.gateway.as_ref().is_some_and(|url| !find::is_here(url, &context.folder));
    if elsewhere {
        return add_elsewhere(&args, &definition, kept, context).await;
    }
    let loaded = loaded(context)?;
    let there = defined(&loaded, context)?.remove(&args.name);
    if let Some((_, place)) = there {
        if loaded.settings.mcp.servers.contains_key(&args.name) {
            return Err(Failure::new(format!("{} stands in {place}, which is not changed here", args.name))
                .code("server_in_settings")
                .hint("change it there, or choose another name"));
        }
        if !args.replace {
            return Err(Failure::new(format!("there is an MCP server {} already, in {place}", args.name))
                .code("server_exists")
                .hint("say --replace to put this one in its place, or choose another name"));
        }
    }
    let was_shown = kept.iter().any(|(_, value)| value.is_some());
    keep(kept, context).await?;
    context.folder.create()?;
    let file = context.folder.mcp_servers();
    stored::put(&file, &[(&args.name, &definition)]).map_err(not_changed)?;
    let told = tell(&args.connect, context).await;
    let server = match &told {
        Ok(true) => Some(settled(&context.client(&args.connect)?, &args.name, None, PATIENCE).await?),
        _ => None,
    };
    if context.printer.json {
        context.printer.json_value(&json!({
            "name": args.name, "file": file, "gateway": word(&told),
            "status": server.as_ref().and_then(|server| server.status.as_ref()),
        }))?;
    } else {
        let words = format!("{} is an MCP server now, in {}", args.name, file.display());
        context.printer.line(&escape::line(&words))?;
        notes(&args, was_shown, context);
        after(&args.name, &told, server.as_ref(), context)?;
    }
    told.map(drop).map_err(|failure| not_told(&failure))
}

/// What was added is said to the gateway elsewhere, which checks it itself.
async fn add_elsewhere(
    args: &AddArgs,
    definition: &ServerDefinition,
    kept: Secrets,
    context: &Context,
) -> Done {
    if definition.command.is_some() {
        return refuse_elsewhere(&args.connect, context);
    }
    if !kept.is_empty() {
        return Err(Failure::usage(format!(
            "{} would be kept as a secret, which is done on the gateway's own computer",
            kept.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        ))
        .hint("run this on that computer, as the user that its gateway runs as"));
    }
    let client = context.client(&args.connect)?;
    if !args.replace && super::servers::shown(&client, &args.name).await.is_ok() {
        return Err(Failure::new(format!("there is an MCP server {} already", args.name))
            .code("server_exists")
            .hint("say --replace to put this one in its place, or choose another name"));
    }
    client.put(&["api", "mcp", "servers", &args.name], definition).await?;
    let server = settled(&client, &args.name, None, PATIENCE).await?;
    if context.printer.json {
        return context.printer.json_value(&server);
    }
    context.printer.line(&escape::line(&format!("{} is an MCP server now", args.name)))?;
    say(&server, context)
}

/// What the flags say, with the values that are to be kept as secrets beside it.
fn definition(slug: &Slug, args: &AddArgs) -> Done<(ServerDefinition, Secrets)> {
    let mut kept = Secrets::new();
    let mut definition = ServerDefinition {
        args: args.args.clone(),
        url: args.url.clone(),
        transport: match args.transport {
            None | Some(TransportWord::Auto) => Transport::Auto,
            Some(TransportWord::StreamableHttp) => Transport::StreamableHttp,
            Some(TransportWord::Sse) => Transport::Sse,
        },
        sampling: args.sampling,
        roots: args.roots,
        ..ServerDefinition::default()
    };
    // The gateway has another folder to start from.
    definition.command = args.command.as_ref().map(|command| {
        let is_path = PathBuf::from(command).components().count() > 1;
        let whole = std::path::absolute(command).ok().filter(|_| is_path);
        whole.and_then(|whole| Some(whole.to_str()?.to_owned())).unwrap_or_else(|| command.clone())
    });
    definition.cwd = args.cwd.as_ref().map(|cwd| std::path::absolute(cwd).unwrap_or_else(|_| cwd.clone()));
    for text in &args.env {
        let (name, value) = value_of(slug, text, '=', &mut kept);
        definition.env.insert(name, value);
    }
    for text in &args.header {
        let (name, value) = value_of(slug, text, ':', &mut kept);
        definition.headers.insert(name, value);
    }
    if args.client_id.is_some() || !args.scope.is_empty() {
        definition.oauth = Some(OauthDefinition {
            client_id: args.client_id.clone(),
            scopes: args.scope.clone(),
            ..OauthDefinition::default()
        });
    }
    if kept.iter().filter(|(_, value)| value.is_none()).count() > 1 {
        return Err(Failure::usage("only one value can be read from standard input").hint(
            "keep the others with `toolway secrets set NAME`, and write =secret:NAME or :secret:NAME",
        ));
    }
    Ok((definition, kept))
}

/// One value, or the name of the secret that it is kept as.
fn value_of(slug: &Slug, text: &str, between: char, kept: &mut Secrets) -> (String, String) {
    let (name, value) = match text.split_once(between) {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text.trim(), None),
    };
    let secret = secret_name(slug, name);
    let said = match value {
        Some(value) if value.is_empty() || value.starts_with(SECRET_PREFIX) || !looks_secret(name) => {
            return (name.to_owned(), value.to_owned());
        }
        said => said,
    };
    kept.push((secret.clone(), said.map(|value| value.to_owned().into())));
    (name.to_owned(), format!("{SECRET_PREFIX}{secret}"))
}

async fn keep(kept: Secrets, context: &Context) -> Done {
    for (name, value) in kept {
        let value = match value {
            Some(value) => value,
            None => read_secret(&name, context).await?,
        };
        secrets::set(&context.folder, &name, &value)?;
    }
    Ok(())
}

fn notes(args: &AddArgs, was_shown: bool, context: &Context) {
    if was_shown {
        context.printer.note(
            "what looks like a secret is kept among the secrets; it stood in the command, where others on this \
             computer could see it. Leave its value out next time, and it is read from standard input",
        );
    }
    if let Some(flag) = args.args.iter().find(|arg| OURS.contains(&arg.as_str())) {
        context.printer.note(&format!(
            "{flag} is given to the program; flags of this command stand before the program's arguments"
        ));
    }
    let is_plain = args.url.as_deref().is_some_and(|url| url.starts_with("http://"));
    let is_here = args.url.as_deref().and_then(|url| reqwest::Url::parse(url).ok()).is_some_and(|url| {
        url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"))
    });
    if is_plain && !is_here {
        context
            .printer
            .note("this address is not encrypted: whoever is on the way can read what is sent there");
    }
}

/// What became of it.
fn after(name: &str, told: &Done<bool>, server: Option<&Server>, context: &Context) -> Done {
    let flag = context.folder.flag();
    match (told, server) {
        (_, Some(server)) => {
            say(server, context)?;
            match server.status.as_ref().map(|status| status.state.as_str()) {
                Some("needs_login") => {
                    context.printer.note(&format!("to sign in: toolway mcp login {name}{flag}"))
                }
                Some("connected") => {
                    context.printer.note(&format!("its tools: toolway tools list --source {name}{flag}"));
                }
                _ => {}
            }
        }
        (Ok(false), None) => {
            context.printer.note(&format!("no gateway runs here; to try it: toolway mcp test {name}{flag}"))
        }
        _ => {}
    }
    Ok(())
}
