//! `toolway secrets`: manages secrets for the owner's tools and hooks.

use std::io::{BufRead, Read, Write};

use clap::{Args, Subcommand};
use secrecy::SecretString;
use serde_json::json;

use crate::context::CliContext;
use crate::error::{CliError, CliResult, io_error_message};
use crate::print::escape;
use crate::print::table::{TableColumn, TextTable};
use crate::secrets;
use crate::signals::SignalListener;
use crate::terminal::{TerminalMode, TerminalModeGuard};

/// Maximum number of bytes to read.
const MAX_INPUT: u64 = 128 << 10;

/// Subcommands of `toolway secrets`.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the names of the secrets, without their values
    #[command(after_help = "Example:\n  toolway secrets list")]
    List(ListSecretsArgs),
    /// Store or replace a secret, read from standard input
    #[command(after_help = "Example:\n  toolway secrets set weather-key < key.txt")]
    Set(SetSecretArgs),
    /// Remove a secret
    #[command(after_help = "Example:\n  toolway secrets remove weather-key")]
    Remove(RemoveSecretArgs),
}

/// Flags of `secrets list`.
#[derive(Debug, Args)]
pub(crate) struct ListSecretsArgs {}

/// Flags of `secrets set`.
#[derive(Debug, Args)]
pub(crate) struct SetSecretArgs {
    /// Name of the secret; tool definitions use it as {secret:NAME}
    name: String,
}

/// Flags of `secrets remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveSecretArgs {
    /// Name of the secret, as `secrets list` shows it
    name: String,
}

/// Runs the command.
pub(crate) async fn run(command: SecretsCommand, context: &CliContext) -> CliResult {
    match command {
        SecretsCommand::List(ListSecretsArgs {}) => list(context),
        SecretsCommand::Set(args) => set(&args, context).await,
        SecretsCommand::Remove(args) => remove(&args, context),
    }
}

fn list(context: &CliContext) -> CliResult {
    let names = secrets::names(&context.folder)?;
    if context.printer.json {
        return context.printer.json_value(&json!({ "secrets": names }));
    }
    let mut table = TextTable::new(vec![TableColumn::fixed("name")]);
    for name in names {
        table.add_row(vec![name.into()]);
    }
    context.printer.table(&table, "no secrets; add one with `toolway secrets set NAME`")
}

async fn set(args: &SetSecretArgs, context: &CliContext) -> CliResult {
    let secret = read_secret(&args.name, context).await?;
    let path = secrets::set(&context.folder, &args.name, &secret)?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "file": path}));
    }
    context.printer.line(&escape::line(&format!("stored {} in {}", args.name, path.display())))
}

fn remove(args: &RemoveSecretArgs, context: &CliContext) -> CliResult {
    secrets::remove(&context.folder, &args.name)?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&escape::line(&format!("removed {}", args.name)))
}

/// Reads a secret from standard input: everything from a file or pipe, one hidden line from a terminal.
pub(crate) async fn read_secret(name: &str, context: &CliContext) -> CliResult<SecretString> {
    let failed = |error: std::io::Error| {
        CliError::new(format!("cannot read the secret: {}", io_error_message(&error))).with_code("io")
    };
    if context.environment.stdin_is_terminal {
        return read_hidden_line(name).await?.map(SecretString::from).map_err(failed);
    }
    let mut text = String::new();
    std::io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text).map_err(failed)?;
    Ok(text.into())
}

/// Reads a hidden line. Restores the terminal even after an interrupt.
async fn read_hidden_line(name: &str) -> CliResult<std::io::Result<String>> {
    let mut signals = SignalListener::new()?;
    let hidden = TerminalModeGuard::new(TerminalMode::NoEchoFlush);
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "{} (hidden): ", escape::line(name)).and_then(|()| stderr.flush());
    let (sender, line) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        // The receiver is gone after an interrupt.
        let _ = sender.send(read.map(|_| line));
    });
    let line = tokio::select! {
        line = line => Some(line.unwrap_or_else(|_| Ok(String::new()))),
        _ = signals.next_signal() => None,
    };
    drop(hidden);
    let _ = writeln!(stderr);
    line.ok_or_else(|| CliError::new("interrupted; nothing was stored").with_code("interrupted"))
}
