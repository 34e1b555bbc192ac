//! `toolway mcp add`: adds an MCP server. Programs are only configured on the gateway's own computer, never over the
//! network; a server with a URL can also be added to a remote gateway.

mod oauth_flags;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use secrecy::SecretString;
use serde_json::json;
use toolway_api::mcp_servers::McpServerDetail;
use toolway_mcp::definition::import::secret_name;
use toolway_mcp::definition::{
    EraMode, SECRET_PREFIX, ServerDefinition, TransportMode, check_name, is_secret_name, store,
};
use toolway_types::Slug;

use self::oauth_flags::McpOauthFlags;
use super::servers::{
    change_error, invalid_definition_error, load_definitions, load_settings, origin_text, print_server,
    wait_until_settled,
};
use crate::client::{ConnectArgs, target};
use crate::commands::secrets::read_secret;
use crate::commands::tools::own_tools::{reload_error, reload_gateway, reload_status, require_local_gateway};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::secrets;

/// Maximum time to wait until the gateway has connected to the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Flags of this command; a warning is printed if the program gets one of them.
const OWN_FLAGS: &[&str] =
    &["--env", "--cwd", "--header", "--transport", "--sampling", "--roots", "--replace"];

/// Flags of `mcp add`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true))]
pub(crate) struct AddMcpServerArgs {
    /// Name of the server and prefix of its tools: lower-case letters, digits and hyphens
    name: String,
    /// Program to run, for example npx; put its arguments last, after all other flags
    #[arg(long, value_name = "PROGRAM", group = "place")]
    command: Option<String>,
    /// Environment variable of the program, for example LOG_LEVEL=debug; without =VALUE, the value is read from
    /// standard input and stored as a secret; repeat the flag for more
    #[arg(long, value_name = "NAME[=VALUE]", requires = "command")]
    env: Vec<String>,
    /// Working directory of the program
    #[arg(long, value_name = "DIR", requires = "command")]
    cwd: Option<PathBuf>,
    /// URL of the server, for example https://mcp.example.com/mcp
    #[arg(long, value_name = "URL", group = "place")]
    url: Option<String>,
    /// Header of every request, for example X-Team:blue; without :VALUE, the value is read from standard input and
    /// stored as a secret; repeat the flag for more
    #[arg(long, value_name = "NAME[:VALUE]", requires = "url")]
    header: Vec<String>,
    /// Transport of a server with a URL (default: auto)
    #[arg(long, value_enum, requires = "url")]
    transport: Option<McpTransportFlag>,
    /// Era of MCP in which the gateway talks to the server (default: auto)
    #[arg(long, value_enum)]
    era: Option<McpEraFlag>,
    #[command(flatten)]
    oauth: McpOauthFlags,
    /// Allow the server to use the calling client's model (sampling)
    #[arg(long)]
    sampling: bool,
    /// Allow the server to ask for the calling client's folders (roots)
    #[arg(long)]
    roots: bool,
    /// Replace the server with this name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    connect: ConnectArgs,
    /// Arguments of the program
    #[arg(value_name = "ARGS", requires = "command", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Transport of a server with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum McpTransportFlag {
    /// Detect the transport
    Auto,
    /// Streamable HTTP (2025-03-26 and later)
    StreamableHttp,
    /// HTTP with SSE (2024-11-05)
    Sse,
}

/// Era of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum McpEraFlag {
    /// Detect the era; a server of both gets a second connection for older clients
    Auto,
    /// MCP 2025-11-25 or older, for all clients
    #[value(name = "2025")]
    Older,
    /// MCP 2026-07-28, for all clients
    #[value(name = "2026")]
    Newer,
}

/// Names and values to store as secrets; `None` means that the value is read from standard input.
type McpSecretValues = Vec<(String, Option<SecretString>)>;

pub(super) async fn run(args: AddMcpServerArgs, context: &CliContext) -> CliResult {
    let slug = check_name(&args.name).map_err(|flaw| invalid_definition_error(&args.name, &[flaw]))?;
    let (definition, kept) = definition(&slug, &args)?;
    definition.check().map_err(|flaws| invalid_definition_error(&args.name, &flaws))?;
    let elsewhere =
        args.connect.gateway.as_ref().is_some_and(|url| !target::is_local_gateway(url, &context.folder));
    if elsewhere {
        return add_remotely(&args, &definition, kept, context).await;
    }
    let loaded = load_settings(context)?;
    let there = load_definitions(&loaded, context)?.remove(&args.name);
    if let Some((_, origin)) = there {
        let place = origin_text(&origin);
        if loaded.settings.mcp.servers.contains_key(&args.name) {
            return Err(CliError::new(format!(
                "{} is defined in {place}, which this command does not change",
                args.name
            ))
            .with_code("server_in_settings")
            .with_hint("change it there, or choose another name"));
        }
        if !args.replace {
            return Err(CliError::new(format!("the MCP server {} already exists in {place}", args.name))
                .with_code("server_exists")
                .with_hint("use --replace to replace it, or choose another name"));
        }
    }
    let of_file = secret_name(&slug, oauth_flags::PRIVATE_KEY);
    let was_shown = kept.iter().any(|(name, value)| value.is_some() && *name != of_file);
    store_secrets(kept, context).await?;
    context.folder.create()?;
    let file = context.folder.mcp_servers();
    store::put_servers(&file, &[(&args.name, &definition)]).map_err(change_error)?;
    let told = reload_gateway(&args.connect, context).await;
    let server = match &told {
        Ok(true) => Some(
            wait_until_settled(&context.client(&args.connect)?, &args.name, None, CONNECT_TIMEOUT).await?,
        ),
        _ => None,
    };
    if context.printer.json {
        context.printer.json_value(&json!({
            "name": args.name, "file": file, "gateway": reload_status(&told),
            "status": server.as_ref().and_then(|server| server.status.as_ref()),
        }))?;
    } else {
        let words = format!("added the MCP server {} to {}", args.name, file.display());
        context.printer.line(&escape::line(&words))?;
        print_notes(&args, was_shown, context);
        print_result(&args.name, &told, server.as_ref(), context)?;
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// Adds a server to a remote gateway, which validates it.
async fn add_remotely(
    args: &AddMcpServerArgs,
    definition: &ServerDefinition,
    kept: McpSecretValues,
    context: &CliContext,
) -> CliResult {
    if definition.command.is_some() {
        return require_local_gateway(&args.connect, context);
    }
    if !kept.is_empty() {
        return Err(CliError::usage(format!(
            "cannot store {} as a secret of a remote gateway",
            kept.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
        ))
        .with_hint("run this command on the gateway's computer, as the gateway's user"));
    }
    let client = context.client(&args.connect)?;
    if !args.replace && super::servers::fetch_server(&client, &args.name).await.is_ok() {
        return Err(CliError::new(format!("the MCP server {} already exists", args.name))
            .with_code("server_exists")
            .with_hint("use --replace to replace it, or choose another name"));
    }
    client.put(&["api", "mcp", "servers", &args.name], definition).await?;
    let server = wait_until_settled(&client, &args.name, None, CONNECT_TIMEOUT).await?;
    if context.printer.json {
        return context.printer.json_value(&server);
    }
    context.printer.line(&escape::line(&format!("added the MCP server {}", args.name)))?;
    print_server(&server, context)
}

/// Builds the definition from the flags, with the values to store as secrets.
fn definition(slug: &Slug, args: &AddMcpServerArgs) -> CliResult<(ServerDefinition, McpSecretValues)> {
    let mut kept = McpSecretValues::new();
    let mut definition = ServerDefinition {
        args: args.args.clone(),
        url: args.url.clone(),
        transport: match args.transport {
            None | Some(McpTransportFlag::Auto) => TransportMode::Auto,
            Some(McpTransportFlag::StreamableHttp) => TransportMode::StreamableHttp,
            Some(McpTransportFlag::Sse) => TransportMode::Sse,
        },
        era: match args.era {
            None | Some(McpEraFlag::Auto) => EraMode::Auto,
            Some(McpEraFlag::Older) => EraMode::Older,
            Some(McpEraFlag::Newer) => EraMode::Newer,
        },
        sampling: args.sampling,
        roots: args.roots,
        ..ServerDefinition::default()
    };
    // The gateway has another working directory, so relative paths must become absolute.
    definition.command = args.command.as_ref().map(|command| {
        let is_path = PathBuf::from(command).components().count() > 1;
        let whole = std::path::absolute(command).ok().filter(|_| is_path);
        whole.and_then(|whole| Some(whole.to_str()?.to_owned())).unwrap_or_else(|| command.clone())
    });
    definition.cwd = args.cwd.as_ref().map(|cwd| std::path::absolute(cwd).unwrap_or_else(|_| cwd.clone()));
    for text in &args.env {
        let (name, value) = split_secret(slug, text, '=', &mut kept);
        definition.env.insert(name, value);
    }
    for text in &args.header {
        let (name, value) = split_secret(slug, text, ':', &mut kept);
        definition.headers.insert(name, value);
    }
    definition.oauth = args.oauth.definition(slug, &mut kept)?;
    if kept.iter().filter(|(_, value)| value.is_none()).count() > 1 {
        return Err(CliError::usage("only one value can be read from standard input").with_hint(
            "store the others with `toolway secrets set NAME`, and use =secret:NAME or :secret:NAME",
        ));
    }
    Ok((definition, kept))
}

/// Splits a name and its value. Returns a reference to a secret instead of a secret value.
fn split_secret(slug: &Slug, text: &str, between: char, kept: &mut McpSecretValues) -> (String, String) {
    let (name, value) = match text.split_once(between) {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text.trim(), None),
    };
    let secret = secret_name(slug, name);
    let value = match value {
        Some(value) if value.is_empty() || value.starts_with(SECRET_PREFIX) || !is_secret_name(name) => {
            return (name.to_owned(), value.to_owned());
        }
        value => value,
    };
    kept.push((secret.clone(), value.map(|value| value.to_owned().into())));
    (name.to_owned(), format!("{SECRET_PREFIX}{secret}"))
}

async fn store_secrets(kept: McpSecretValues, context: &CliContext) -> CliResult {
    for (name, value) in kept {
        let value = match value {
            Some(value) => value,
            None => read_secret(&name, context).await?,
        };
        secrets::set(&context.folder, &name, &value)?;
    }
    Ok(())
}

fn print_notes(args: &AddMcpServerArgs, was_shown: bool, context: &CliContext) {
    if was_shown {
        context.printer.note(
            "stored the value as a secret; it was visible to other users in the command line. \
             Omit the value next time to enter it on standard input",
        );
    }
    if let Some(flag) = args.args.iter().find(|arg| OWN_FLAGS.contains(&arg.as_str())) {
        context.printer.note(&format!(
            "{flag} is passed to the program; put flags of this command before the program's arguments"
        ));
    }
    let is_plain = args.url.as_deref().is_some_and(|url| url.starts_with("http://"));
    let is_here = args.url.as_deref().and_then(|url| reqwest::Url::parse(url).ok()).is_some_and(|url| {
        url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"))
    });
    if is_plain && !is_here {
        context
            .printer
            .note("http:// is not encrypted: anyone on the network path can read requests and responses");
    }
}

/// Prints the result.
fn print_result(
    name: &str,
    told: &CliResult<bool>,
    server: Option<&McpServerDetail>,
    context: &CliContext,
) -> CliResult {
    let flag = context.folder.data_dir_flag();
    match (told, server) {
        (_, Some(server)) => {
            print_server(server, context)?;
            match server.status.as_ref().map(|status| status.state.as_str()) {
                Some("needs_login") => {
                    context.printer.note(&format!("to log in: toolway mcp login {name}{flag}"))
                }
                Some("connected") => {
                    context
                        .printer
                        .note(&format!("to list its tools: toolway tools list --source {name}{flag}"));
                }
                _ => {}
            }
        }
        (Ok(false), None) => context
            .printer
            .note(&format!("no gateway is running; to test the server: toolway mcp test {name}{flag}")),
        _ => {}
    }
    Ok(())
}
