//! `toolway secrets`: what the owner's tools and hooks need to know and nobody else should.

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

/// No input is read beyond this.
const MAX_INPUT: u64 = 128 << 10;

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the names of the secrets in the data folder; what they are is not shown
    List(ListSecretsArgs),
    /// Keep a secret, or replace it; it is read from standard input
    Set(SetSecretArgs),
    /// Remove a secret
    Remove(RemoveSecretArgs),
}

/// Flags of `secrets list`.
#[derive(Debug, Args)]
pub(crate) struct ListSecretsArgs {}

/// Flags of `secrets set`.
#[derive(Debug, Args)]
pub(crate) struct SetSecretArgs {
    /// Its name, by which a tool's definition calls it: {secret:NAME}
    name: String,
}

/// Flags of `secrets remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveSecretArgs {
    /// Its name, as `secrets list` shows it
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
    context.printer.table(&table, "no secret is kept; `toolway secrets set NAME` keeps one")
}

async fn set(args: &SetSecretArgs, context: &CliContext) -> CliResult {
    let secret = read_secret(&args.name, context).await?;
    let path = secrets::set(&context.folder, &args.name, &secret)?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "file": path}));
    }
    context.printer.line(&escape::line(&format!("{} is kept in {}", args.name, path.display())))
}

fn remove(args: &RemoveSecretArgs, context: &CliContext) -> CliResult {
    secrets::remove(&context.folder, &args.name)?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&escape::line(&format!("{} is removed", args.name)))
}

/// From standard input: all of it where that is a file or a pipe, one line that is not shown where somebody types.
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

/// A line that is typed. Also where that is interrupted, the terminal is left as it was.
async fn read_hidden_line(name: &str) -> CliResult<std::io::Result<String>> {
    let mut signals = SignalListener::new()?;
    let hidden = TerminalModeGuard::new(TerminalMode::NoEchoFlush);
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "{} (not shown): ", escape::line(name)).and_then(|()| stderr.flush());
    let (sender, line) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        // Nobody waits any more where it was interrupted.
        let _ = sender.send(read.map(|_| line));
    });
    let line = tokio::select! {
        line = line => Some(line.unwrap_or_else(|_| Ok(String::new()))),
        _ = signals.next_signal() => None,
    };
    drop(hidden);
    let _ = writeln!(stderr);
    line.ok_or_else(|| CliError::new("interrupted; nothing was kept").with_code("interrupted"))
}
