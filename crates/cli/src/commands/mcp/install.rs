//! `toolway mcp install`: a desktop client is given a token of its own and an entry in its own file.

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

/// The name that the entry has.
const ENTRY_NAME: &str = "toolway";

/// Flags of `mcp install`.
#[derive(Debug, Args)]
pub(crate) struct InstallMcpClientArgs {
    /// The client: claude-desktop, claude-code, cursor or vscode; with --print any name
    #[arg(long, value_name = "CLIENT")]
    client: String,
    /// Show it this agent's tools only; its token is bound to the agent
    #[arg(long, value_name = "AGENT", conflicts_with = "remove")]
    agent: Option<String>,
    /// Show it only tools that say that they read and change nothing
    #[arg(long, conflicts_with = "remove")]
    read_only: bool,
    /// Show it only tools whose source/tool matches, as laptop/*; may be said more than once
    #[arg(long, value_name = "GLOB", conflicts_with = "remove")]
    only: Vec<String>,
    /// Print the entry and where it goes, and write no file of the client's
    #[arg(long)]
    print: bool,
    /// Make it another token, and take the one it has back
    #[arg(long, conflicts_with = "remove")]
    new_token: bool,
    /// Take the entry out again, and the token back
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
        None => Err(CliError::usage(format!("where {:?} keeps its servers is not known here", args.client))
            .with_hint(format!(
                "those that are known: {}",
                DesktopClient::ALL.map(DesktopClient::name).join(", ")
            ))
            .with_hint("--print shows the entry for any other client, to be put where that wants it")),
    }
}

/// The name becomes a file's.
fn check_name(name: &str) -> CliResult {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts_well && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(CliError::usage(format!("--client: {name:?} can't be a client's name"))
        .with_hint("use small letters, digits and hyphens, as claude-desktop"))
}

/// What the client runs.
fn server_command(args: &InstallMcpClientArgs, context: &CliContext) -> CliResult<(String, Vec<String>)> {
    let program = std::env::current_exe()
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned))
        .ok_or_else(|| CliError::new("where this program lies can't be told"))?;
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
        Some(file) => context.printer.note(&format!("it belongs into {}", file.display())),
        None => context.printer.note(
            "it belongs where the client keeps its MCP servers; one that asks for a command instead runs",
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
    // Whoever can't make a token should not be asked first.
    let gateway = context.client(&args.connect)?;
    if changes {
        print_diff(&found, &after, context)?;
        if !path.parent().is_some_and(std::path::Path::is_dir) {
            context.printer.note(&format!(
                "{} does not seem to be here: there is no folder for its file yet",
                desktop.title()
            ));
        }
        confirm(&format!("Write this into {}?", found.path.display()), args, context)?;
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
    let done = if changes { "uses this gateway now" } else { "was set up so already" };
    context.printer.line(&escape::line(&format!("{} {done}: {}", desktop.title(), found.path.display())))?;
    if let Some(backup) = backup {
        context.printer.note(&format!("what was there before is in {}", backup.display()));
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
        confirm(&format!("Take this out of {}?", found.path.display()), args, context)?;
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
    context.printer.line(&format!("{} does not use this gateway any more", desktop.title()))?;
    if let Some(backup) = backup {
        context.printer.note(&format!("what was there before is in {}", backup.display()));
    }
    if !revoked {
        context.printer.note(
            "no gateway runs here, so the client's token could not be taken back; once one does: toolway tokens list",
        );
    }
    Ok(())
}

/// The entry, with what a person has added to the one that is there: an environment, or fields of the client's own.
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
        CliError::new(format!("there is no home folder in which {} could keep its file", desktop.title()))
            .with_hint("--print shows the entry, to be put where the client wants it")
    })
}

fn edit_error(why: &JsonEditError, path: &std::path::Path, desktop: DesktopClient) -> CliError {
    CliError::new(format!("{} can't be changed: {why}", path.display())).with_code("invalid_file").with_hint(
        format!(
            "put it right, or put the entry there yourself: toolway mcp install --client {} --print",
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
            CliError::usage(question).with_hint("say --yes where nobody can be asked; nothing was changed")
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
        context.printer.note(&format!("it has a token of its own, in {}", path.display()));
    }
}
