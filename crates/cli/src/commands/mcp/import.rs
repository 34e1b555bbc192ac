//! `toolway mcp import`: imports the MCP servers of another program.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use toolway_mcp::definition::import::{self, ImportFileEntry, ImportedServer};
use toolway_mcp::definition::store;

use super::servers::{change_error, load_definitions, load_settings};
use crate::client::ConnectArgs;
use crate::commands::tools::own_tools::{reload_error, reload_gateway, reload_status, require_local_gateway};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::print::escape;
use crate::print::style::Style;
use crate::secrets;

/// Flags of `mcp import`.
#[derive(Debug, Args)]
pub(crate) struct ImportMcpServersArgs {
    /// JSON file with mcpServers (Claude Desktop, Claude Code, Cursor and others) or servers (VS Code)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show what would be added, without changes
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ImportMcpServersArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let text = private_file::read(&args.file)?.ok_or_else(|| {
        CliError::new(format!("file not found: {}", args.file.display())).with_hint("check the path")
    })?;
    let known = load_definitions(&load_settings(context)?, context)?;
    let taken: BTreeSet<_> = known.keys().filter_map(|name| name.parse().ok()).collect();
    let mut found = import::parse_import_file(&text, &taken).map_err(|why| {
        CliError::new(format!("cannot import {}: {why}", args.file.display()))
            .with_code("invalid_file")
            .with_hint("use the configuration file of an MCP client, for example claude_desktop_config.json")
    })?;
    // Do not add servers again that already exist with the same definition.
    for entry in &mut found.entries {
        let is_here = entry
            .outcome
            .as_ref()
            .is_ok_and(|import| known.values().any(|(definition, _)| is_same_definition(definition, import)));
        if is_here {
            entry.outcome = Err("already exists".to_owned());
        }
    }
    let imports: Vec<&ImportedServer> =
        found.entries.iter().filter_map(|entry| entry.outcome.as_ref().ok()).collect();
    let mut told = Ok(false);
    if !args.dry_run && !imports.is_empty() {
        for secret in imports.iter().flat_map(|import| &import.secrets) {
            secrets::set(&context.folder, &secret.name, &secret.value)?;
        }
        context.folder.create()?;
        let servers: Vec<_> =
            imports.iter().map(|import| (import.slug.as_str(), &import.definition)).collect();
        store::put_servers(&context.folder.mcp_servers(), &servers).map_err(change_error)?;
        told = reload_gateway(&args.connect, context).await;
    }
    if context.printer.json {
        let entries: Vec<_> = found.entries.iter().map(entry_json).collect();
        context.printer.json_value(&json!({
            "file": args.file, "dry_run": args.dry_run, "servers": entries, "notes": found.notes,
            "gateway": reload_status(&told),
        }))?;
    } else {
        for entry in &found.entries {
            print_entry(entry, args.dry_run, context)?;
        }
        for note in &found.notes {
            context.printer.note(note);
        }
        if found.entries.is_empty() {
            context.printer.note("the file has no servers");
        } else if !args.dry_run && !imports.is_empty() {
            let flag = context.folder.data_dir_flag();
            context.printer.note(&format!("to see their state: toolway mcp list{flag}"));
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

/// True if both definitions are the same, apart from the names of secrets.
fn is_same_definition(known: &toolway_mcp::definition::ServerDefinition, import: &ImportedServer) -> bool {
    let new = &import.definition;
    known.command == new.command
        && known.args == new.args
        && known.url == new.url
        && known.env.keys().eq(new.env.keys())
        && known.headers.keys().eq(new.headers.keys())
}

fn entry_json(entry: &ImportFileEntry) -> Value {
    match &entry.outcome {
        Ok(import) => json!({
            "name": entry.name, "server": import.slug, "definition": import.definition.redacted(),
            "secrets": import.secrets.iter().map(|secret| &secret.name).collect::<Vec<_>>(), "notes": import.notes,
        }),
        Err(why) => json!({"name": entry.name, "reason": why}),
    }
}

fn print_entry(entry: &ImportFileEntry, dry_run: bool, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let name = escape::line(&entry.name);
    let import = match &entry.outcome {
        Ok(import) => import,
        Err(why) => {
            let mark = printer.paint(Style::Faint, "-");
            return printer.line(&format!("{mark} {name}: not added: {}", escape::line(why)));
        }
    };
    let done = if dry_run { "would be added" } else { "added" };
    let renamed =
        if import.slug.as_str() == entry.name { String::new() } else { format!(" as {}", import.slug) };
    printer.line(&format!(
        "{} {name} {done}{renamed}: {}",
        printer.paint(Style::Good, "✓"),
        escape::line(&import.definition.location())
    ))?;
    for secret in &import.secrets {
        let kept = if dry_run { "would be stored" } else { "stored" };
        printer.line(&format!("    {} {kept} as the secret {}", escape::line(&secret.field), secret.name))?;
    }
    for note in &import.notes {
        printer.line(&format!("    {}", escape::line(note)))?;
    }
    Ok(())
}
