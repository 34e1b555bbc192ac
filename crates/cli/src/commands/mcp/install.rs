//! `toolway mcp install`: a desktop client is given a token of its own and an entry in its own file.

mod desktop;
mod file;
mod text;
mod token;

use std::io::{self, BufRead, Write};

use clap::Args;
use serde_json::{Value, json};

use self::desktop::Desktop;
use self::text::CantEdit;
use self::token::Token;
use super::servers::has_gateway;
use crate::client::ConnectArgs;
use crate::context::Context;
use crate::folder::{private, shell_word};
use crate::print::escape;
use crate::report::{Done, Failure};

/// The name that the entry has.
const NAME: &str = "toolway";

/// Flags of `mcp install`.
#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
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

pub(super) async fn run(args: &InstallArgs, context: &Context) -> Done {
    check_name(&args.client)?;
    match Desktop::named(&args.client) {
        _ if args.print => print(args, context).await,
        Some(desktop) if args.remove => remove(desktop, args, context).await,
        Some(desktop) => install(desktop, args, context).await,
        None => Err(Failure::usage(format!("where {:?} keeps its servers is not known here", args.client))
            .hint(format!("those that are known: {}", Desktop::ALL.map(Desktop::name).join(", ")))
            .hint("--print shows the entry for any other client, to be put where that wants it")),
    }
}

/// The name becomes a file's.
fn check_name(name: &str) -> Done {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts_well && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Failure::usage(format!("--client: {name:?} can't be a client's name"))
        .hint("use small letters, digits and hyphens, as claude-desktop"))
}

/// What the client runs.
fn command(args: &InstallArgs, context: &Context) -> Done<(String, Vec<String>)> {
    let program = std::env::current_exe()
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned))
        .ok_or_else(|| Failure::new("where this program lies can't be told"))?;
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

async fn make_token(args: &InstallArgs, context: &Context) -> Done<Token> {
    let gateway = context.client(&args.connect)?;
    token::make(&args.client, args.agent.as_deref(), args.new_token, &gateway, context).await
}

async fn print(args: &InstallArgs, context: &Context) -> Done {
    let (program, words) = command(args, context)?;
    let made = make_token(args, context).await?;
    let desktop = Desktop::named(&args.client);
    let table = desktop.map_or("mcpServers", Desktop::table);
    let entry = desktop.unwrap_or(Desktop::Claude).entry(&program, &words);
    let file = desktop.and_then(|desktop| desktop.file(&context.environment));
    let whole = json!({ table: { NAME: entry } });
    if context.printer.json {
        return context.printer.json_value(&json!({
            "client": args.client, "file": file, "entry": whole, "token": word(made),
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
        let line: Vec<_> = std::iter::once(&program).chain(&words).map(|word| shell_word(word)).collect();
        context.printer.note(&format!("    {}", line.join(" ")));
    }
    say_token(made, args, context);
    Ok(())
}

async fn install(desktop: Desktop, args: &InstallArgs, context: &Context) -> Done {
    let (program, words) = command(args, context)?;
    let path = place(desktop, context)?;
    let found = file::read(&path)?;
    let before = found.text.as_deref().unwrap_or_default();
    let entry = entry(desktop, &program, &words, before);
    let after =
        text::with(before, desktop.table(), NAME, &entry).map_err(|why| cant(&why, &path, desktop))?;
    let changes = found.text.as_deref() != Some(after.as_str());
    // Whoever can't make a token should not be asked first.
    let gateway = context.client(&args.connect)?;
    if changes {
        show(&found, &after, context)?;
        if !path.parent().is_some_and(std::path::Path::is_dir) {
            context.printer.note(&format!(
                "{} does not seem to be here: there is no folder for its file yet",
                desktop.title()
            ));
        }
        confirm(&format!("Write this into {}?", found.path.display()), args, context)?;
    }
    let made = token::make(&args.client, args.agent.as_deref(), args.new_token, &gateway, context).await?;
    let backup = if changes { file::replace(&found, &after, context.clock.now())? } else { None };
    if context.printer.json {
        return context.printer.json_value(&json!({
            "client": args.client, "file": found.path, "changed": changes, "backup": backup, "token": word(made),
        }));
    }
    let done = if changes { "uses this gateway now" } else { "was set up so already" };
    context.printer.line(&escape::line(&format!("{} {done}: {}", desktop.title(), found.path.display())))?;
    if let Some(backup) = backup {
        context.printer.note(&format!("what was there before is in {}", backup.display()));
    }
    say_token(made, args, context);
    if changes {
        context.printer.note(desktop.after());
    }
    Ok(())
}

async fn remove(desktop: Desktop, args: &InstallArgs, context: &Context) -> Done {
    let path = place(desktop, context)?;
    let found = file::read(&path)?;
    let before = found.text.as_deref().unwrap_or_default();
    let after = text::without(before, desktop.table(), NAME).map_err(|why| cant(&why, &path, desktop))?;
    let mut backup = None;
    if let Some(after) = &after {
        show(&found, after, context)?;
        confirm(&format!("Take this out of {}?", found.path.display()), args, context)?;
        backup = file::replace(&found, after, context.clock.now())?;
    }
    let has_token = private::read_token(&context.folder.mcp_client(&args.client))?.is_some();
    if after.is_none() && !has_token {
        return Err(Failure::new(format!("{} does not use this gateway", desktop.title()))
            .code("not_installed")
            .hint(format!("there is no entry {NAME:?} in {}", found.path.display())));
    }
    let gateway = match has_gateway(&args.connect, context)? {
        true => Some(context.client(&args.connect)?),
        false => None,
    };
    let revoked = token::forget(&args.client, gateway.as_ref(), context).await?;
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
fn entry(desktop: Desktop, program: &str, words: &[String], text: &str) -> Value {
    let mut entry =
        text::get(text, desktop.table(), NAME).filter(Value::is_object).unwrap_or_else(|| json!({}));
    if let (Some(fields), Value::Object(new)) = (entry.as_object_mut(), desktop.entry(program, words)) {
        for field in ["url", "headers"] {
            fields.remove(field);
        }
        fields.extend(new);
    }
    entry
}

fn place(desktop: Desktop, context: &Context) -> Done<std::path::PathBuf> {
    desktop.file(&context.environment).ok_or_else(|| {
        Failure::new(format!("there is no home folder in which {} could keep its file", desktop.title()))
            .hint("--print shows the entry, to be put where the client wants it")
    })
}

fn cant(why: &CantEdit, path: &std::path::Path, desktop: Desktop) -> Failure {
    Failure::new(format!("{} can't be changed: {why}", path.display())).code("bad_file").hint(format!(
        "put it right, or put the entry there yourself: toolway mcp install --client {} --print",
        desktop.name()
    ))
}

fn show(found: &file::Found, after: &str, context: &Context) -> Done {
    if context.printer.json {
        return Ok(());
    }
    context.printer.text(&escape::lines(&file::diff(found, after)))
}

fn confirm(question: &str, args: &InstallArgs, context: &Context) -> Done {
    if args.yes {
        return Ok(());
    }
    if !context.environment.stdin_is_terminal || context.printer.json {
        return Err(Failure::usage(question).hint("say --yes where nobody can be asked; nothing was changed"));
    }
    let mut stderr = io::stderr().lock();
    let mut answer = String::new();
    let _ = write!(stderr, "{} [y/N] ", escape::line(question)).and_then(|()| stderr.flush());
    let read = io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::new("not written; nothing was changed").code("declined"))
}

fn word(token: Token) -> &'static str {
    match token {
        Token::Kept => "kept",
        Token::Made => "made",
    }
}

fn say_token(token: Token, args: &InstallArgs, context: &Context) {
    if token == Token::Made {
        let path = context.folder.mcp_client(&args.client);
        context.printer.note(&format!("it has a token of its own, in {}", path.display()));
    }
}
