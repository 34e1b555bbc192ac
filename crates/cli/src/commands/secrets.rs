//! `toolway secrets`: what the owner's tools and hooks need to know and nobody else should.

use std::io::{BufRead, Read, Write};

use clap::{Args, Subcommand};
use secrecy::SecretString;
use serde_json::json;

use crate::context::Context;
use crate::print::escape;
use crate::print::table::{Column, Table};
use crate::report::{Done, Failure, plain};
use crate::secrets;
use crate::signals::Signals;
use crate::terminal::{Held, Mode};

/// No input is read beyond this.
const MAX_INPUT: u64 = 128 << 10;

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the names of the secrets in the data folder; what they are is not shown
    List(ListArgs),
    /// Keep a secret, or replace it; it is read from standard input
    Set(SetArgs),
    /// Remove a secret
    Remove(RemoveArgs),
}

/// Flags of `secrets list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {}

/// Flags of `secrets set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// Its name, by which a tool's definition calls it: {secret:NAME}
    name: String,
}

/// Flags of `secrets remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Its name, as `secrets list` shows it
    name: String,
}

/// Runs the command.
pub(crate) async fn run(command: SecretsCommand, context: &Context) -> Done {
    match command {
        SecretsCommand::List(ListArgs {}) => list(context),
        SecretsCommand::Set(args) => set(&args, context).await,
        SecretsCommand::Remove(args) => remove(&args, context),
    }
}

fn list(context: &Context) -> Done {
    let names = secrets::names(&context.folder)?;
    if context.printer.json {
        return context.printer.json_value(&json!({ "secrets": names }));
    }
    let mut table = Table::new(vec![Column::whole("name")]);
    for name in names {
        table.row(vec![name.into()]);
    }
    context.printer.table(&table, "no secret is kept; `toolway secrets set NAME` keeps one")
}

async fn set(args: &SetArgs, context: &Context) -> Done {
    let secret = read_secret(&args.name, context).await?;
    let path = secrets::set(&context.folder, &args.name, &secret)?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "file": path}));
    }
    context.printer.line(&escape::line(&format!("{} is kept in {}", args.name, path.display())))
}

fn remove(args: &RemoveArgs, context: &Context) -> Done {
    secrets::remove(&context.folder, &args.name)?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "removed": true}));
    }
    context.printer.line(&escape::line(&format!("{} is removed", args.name)))
}

/// From standard input: all of it where that is a file or a pipe, one line that is not shown where somebody types.
pub(crate) async fn read_secret(name: &str, context: &Context) -> Done<SecretString> {
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot read the secret: {}", plain(&error))).code("io");
    if context.environment.stdin_is_terminal {
        return typed(name).await?.map(SecretString::from).map_err(failed);
    }
    let mut text = String::new();
    std::io::stdin().lock().take(MAX_INPUT).read_to_string(&mut text).map_err(failed)?;
    Ok(text.into())
}

/// A line that is typed. Also where that is interrupted, the terminal is left as it was.
async fn typed(name: &str) -> Done<std::io::Result<String>> {
    let mut signals = Signals::new()?;
    let hidden = Held::new(Mode::Secret);
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
        _ = signals.next() => None,
    };
    drop(hidden);
    let _ = writeln!(stderr);
    line.ok_or_else(|| Failure::new("interrupted; nothing was kept").code("interrupted"))
}
