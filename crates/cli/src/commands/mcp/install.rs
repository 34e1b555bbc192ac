//! `toolway mcp install`: creates a token for a desktop client and adds an entry to the client's configuration file.

mod client_config_file;
mod desktop;
mod json_editor;
mod token;

use std::io::{self, BufRead, Write};

use clap::Args;
use serde_json::{Value, json};

use self::desktop::DesktopClient;
use self::json_editor::JsonEditError;
use self::token::ClientTokenChange;
use super::servers::has_gateway;
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::{private_file, shell_quote};
use crate::print::escape;

/// Name of the entry in the client's file.
const ENTRY_NAME: &str = "toolway";

/// Flags of `mcp install`.
#[derive(Debug, Args)]
pub(crate) struct InstallMcpClientArgs {
    /// Client: claude-desktop, claude-code, cursor or vscode; any name with --print
    #[arg(long, value_name = "CLIENT")]
    client: String,
    /// Offer only this agent's tools, and bind the client's token to the agent
    #[arg(long, value_name = "AGENT", conflicts_with = "remove")]
    agent: Option<String>,
    /// Offer only tools with the read-only annotation
    #[arg(long, conflicts_with = "remove")]
    read_only: bool,
    /// Offer only tools whose id matches, for example laptop/*; can be repeated
    #[arg(long, value_name = "GLOB", conflicts_with = "remove")]
    only: Vec<String>,
    /// Print the entry and the path of its file, and do not write the file
    #[arg(long)]
    print: bool,
    /// Create a new token and revoke the old one
    #[arg(long, conflicts_with = "remove")]
    new_token: bool,
    /// Remove the entry and revoke the token
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &InstallMcpClientArgs, context: &CliContext) -> CliResult {
    check_name(&args.client)?;
    match DesktopClient::from_name(&args.client) {
        _ if args.print => print(args, context).await,
        Some(desktop) if args.remove => remove(desktop, args, context).await,
        Some(desktop) => install(desktop, args, context).await,
        None => Err(CliError::usage(format!("unknown client {:?}", args.client))
            .with_hint(format!("known clients: {}", DesktopClient::ALL.map(DesktopClient::name).join(", ")))
            .with_hint(
                "for any other client, use --print and add the entry to the client's configuration yourself",
            )),
    }
}

/// Checks a client's name. It becomes the name of a file.
fn check_name(name: &str) -> CliResult {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts_well && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(CliError::usage(format!("--client: {name:?} is not a valid client name"))
        .with_hint("use at most 64 lower-case letters, digits and hyphens, for example claude-desktop"))
}

/// Returns the program that the client runs, and its arguments.
fn server_command(args: &InstallMcpClientArgs, context: &CliContext) -> CliResult<(String, Vec<String>)> {
    let program = std::env::current_exe()
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned))
        .ok_or_else(|| CliError::new("the path of this program is unknown or not UTF-8"))?;
    let mut words = vec!["mcp".to_owned(), "--client".to_owned(), args.client.clone()];
    let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
    if let Some(agent) = &args.agent {
        flag("--agent", agent);
    }
    for glob in &args.only {
        flag("--only", glob);
    }
    if let Some(gateway) = &args.connect.gateway {
        flag("--gateway", gateway);
    }
    if let Some(key) = &args.connect.key {
        flag("--key", &key.to_string());
    }
    if let Some(ca) = &args.connect.ca {
        let ca = std::path::absolute(ca).unwrap_or_else(|_| ca.clone());
        flag("--ca", &ca.display().to_string());
    }
    if context.folder.is_named() {
        flag("--data-dir", &context.folder.path().display().to_string());
    }
    if args.connect.insecure {
        words.push("--insecure".to_owned());
    }
    if args.read_only {
        words.push("--read-only".to_owned());
    }
    Ok((program, words))
}

async fn make_token(args: &InstallMcpClientArgs, context: &CliContext) -> CliResult<ClientTokenChange> {
    let gateway = context.client(&args.connect)?;
    token::ensure_token(&args.client, args.agent.as_deref(), args.new_token, &gateway, context).await
}

async fn print(args: &InstallMcpClientArgs, context: &CliContext) -> CliResult {
    let (program, words) = server_command(args, context)?;
    let made = make_token(args, context).await?;
    let desktop = DesktopClient::from_name(&args.client);
    let table = desktop.map_or("mcpServers", DesktopClient::servers_key);
    let entry = desktop.unwrap_or(DesktopClient::Claude).entry(&program, &words);
    let file = desktop.and_then(|desktop| desktop.config_path(&context.environment));
    let whole = json!({ table: { ENTRY_NAME: entry } });
    if context.printer.json {
        return context.printer.json_value(&json!({
            "client": args.client, "file": file, "entry": whole, "token": token_change_name(made),
        }));
    }
    context.printer.line(&escape::lines(&serde_json::to_string_pretty(&whole).unwrap_or_default()))?;
    match file {
        Some(file) => context.printer.note(&format!("add this entry to {}", file.display())),
        None => context.printer.note(
            "add this entry to the client's configuration of MCP servers; if the client asks for a command, use",
        ),
    }
    if desktop.is_none() {
        let line: Vec<_> = std::iter::once(&program).chain(&words).map(|word| shell_quote(word)).collect();
        context.printer.note(&format!("    {}", line.join(" ")));
    }
    print_token_note(made, args, context);
    Ok(())
}

async fn install(desktop: DesktopClient, args: &InstallMcpClientArgs, context: &CliContext) -> CliResult {
    let (program, words) = server_command(args, context)?;
    let path = config_path(desktop, context)?;
    let found = client_config_file::read(&path)?;
    let before = found.content.as_deref().unwrap_or_default();
    let entry = merged_entry(desktop, &program, &words, before);
    let after = json_editor::set_entry(before, desktop.servers_key(), ENTRY_NAME, &entry)
        .map_err(|why| edit_error(&why, &path, desktop))?;
    let changes = found.content.as_deref() != Some(after.as_str());
    // Check the connection first: without a gateway there is no token, and no need to ask.
    let gateway = context.client(&args.connect)?;
    if changes {
        print_diff(&found, &after, context)?;
        if !path.parent().is_some_and(std::path::Path::is_dir) {
            context.printer.note(&format!(
                "{} does not seem to be installed: the folder of its configuration file does not exist",
                desktop.title()
            ));
        }
        confirm(&format!("Write this change to {}?", found.path.display()), args, context)?;
    }
    let made =
        token::ensure_token(&args.client, args.agent.as_deref(), args.new_token, &gateway, context).await?;
    let backup =
        if changes { client_config_file::replace(&found, &after, context.clock.now())? } else { None };
    if context.printer.json {
        return context.printer.json_value(&json!({
            "client": args.client, "file": found.path, "changed": changes, "backup": backup, "token": token_change_name(made),
        }));
    }
    let done = if changes { "now uses this gateway" } else { "already uses this gateway" };
    context.printer.line(&escape::line(&format!("{} {done}: {}", desktop.title(), found.path.display())))?;
    if let Some(backup) = backup {
        context.printer.note(&format!("the old file is {}", backup.display()));
    }
    print_token_note(made, args, context);
    if changes {
        context.printer.note(desktop.restart_hint());
    }
    Ok(())
}

async fn remove(desktop: DesktopClient, args: &InstallMcpClientArgs, context: &CliContext) -> CliResult {
    let path = config_path(desktop, context)?;
    let found = client_config_file::read(&path)?;
    let before = found.content.as_deref().unwrap_or_default();
    let after = json_editor::remove_entry(before, desktop.servers_key(), ENTRY_NAME)
        .map_err(|why| edit_error(&why, &path, desktop))?;
    let mut backup = None;
    if let Some(after) = &after {
        print_diff(&found, after, context)?;
        confirm(&format!("Remove this from {}?", found.path.display()), args, context)?;
        backup = client_config_file::replace(&found, after, context.clock.now())?;
    }
    let has_token = private_file::read_token(&context.folder.mcp_client(&args.client))?.is_some();
    if after.is_none() && !has_token {
        return Err(CliError::new(format!("{} does not use this gateway", desktop.title()))
            .with_code("not_installed")
            .with_hint(format!("there is no entry {ENTRY_NAME:?} in {}", found.path.display())));
    }
    let gateway = match has_gateway(&args.connect, context)? {
        true => Some(context.client(&args.connect)?),
        false => None,
    };
    let revoked = token::remove_token(&args.client, gateway.as_ref(), context).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({
            "client": args.client, "file": found.path, "removed": after.is_some(), "backup": backup,
            "token_revoked": revoked,
        }));
    }
    context.printer.line(&format!("{} no longer uses this gateway", desktop.title()))?;
    if let Some(backup) = backup {
        context.printer.note(&format!("the old file is {}", backup.display()));
    }
    if !revoked {
        context.printer.note(
            "the client's token was not revoked, because no gateway is running; start the gateway, then use `toolway tokens list` and `toolway tokens revoke`",
        );
    }
    Ok(())
}

/// Returns the new entry. Keeps fields that the user or the client has added to the existing entry, for example an
/// environment.
fn merged_entry(desktop: DesktopClient, program: &str, words: &[String], text: &str) -> Value {
    let mut entry = json_editor::get_entry(text, desktop.servers_key(), ENTRY_NAME)
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    if let (Some(fields), Value::Object(new)) = (entry.as_object_mut(), desktop.entry(program, words)) {
        for field in ["url", "headers"] {
            fields.remove(field);
        }
        fields.extend(new);
    }
    entry
}

fn config_path(desktop: DesktopClient, context: &CliContext) -> CliResult<std::path::PathBuf> {
    desktop.config_path(&context.environment).ok_or_else(|| {
        CliError::new(format!("the folder of {}'s configuration file is unknown", desktop.title()))
            .with_hint("use --print, and add the entry to the client's configuration yourself")
    })
}

fn edit_error(why: &JsonEditError, path: &std::path::Path, desktop: DesktopClient) -> CliError {
    CliError::new(format!("{} can't be changed: {why}", path.display())).with_code("invalid_file").with_hint(
        format!(
            "correct the file, or add the entry yourself: toolway mcp install --client {} --print",
            desktop.name()
        ),
    )
}

fn print_diff(found: &client_config_file::ClientConfigFile, after: &str, context: &CliContext) -> CliResult {
    if context.printer.json {
        return Ok(());
    }
    context.printer.text(&escape::lines(&client_config_file::diff(found, after)))
}

fn confirm(question: &str, args: &InstallMcpClientArgs, context: &CliContext) -> CliResult {
    if args.yes {
        return Ok(());
    }
    if !context.environment.stdin_is_terminal || context.printer.json {
        return Err(
            CliError::usage(question).with_hint("nothing was changed; use --yes to write without asking")
        );
    }
    let mut stderr = io::stderr().lock();
    let mut answer = String::new();
    let _ = write!(stderr, "{} [y/N] ", escape::line(question)).and_then(|()| stderr.flush());
    let read = io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(CliError::new("not written; nothing was changed").with_code("declined"))
}

fn token_change_name(token: ClientTokenChange) -> &'static str {
    match token {
        ClientTokenChange::Reused => "kept",
        ClientTokenChange::Created => "made",
    }
}

fn print_token_note(token: ClientTokenChange, args: &InstallMcpClientArgs, context: &CliContext) {
    if token == ClientTokenChange::Created {
        let path = context.folder.mcp_client(&args.client);
        context.printer.note(&format!("created a token for this client, in {}", path.display()));
    }
}
