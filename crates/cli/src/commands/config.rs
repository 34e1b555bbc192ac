//! `toolway config`: the effective settings and where each comes from.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;
use crate::settings::{self, Effective, Loaded, Origin, check};

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show each setting's effective value and where it comes from
    Show(ShowArgs),
    /// Check the settings and print everything that is wrong with them, by line
    Check,
}

/// Flags of `config show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Only settings whose name contains this
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Leave out settings that have their default
    #[arg(long)]
    changed: bool,
}

/// Runs the command.
pub(crate) fn run(command: ConfigCommand, context: &Context) -> Done {
    let loaded =
        settings::load(&context.setting_sources(Vec::new())).map_err(|wrong| settings::failure(&wrong))?;
    match command {
        ConfigCommand::Show(args) => show(&args, &loaded, context),
        ConfigCommand::Check => report(&loaded, context),
    }
}

fn show(args: &ShowArgs, loaded: &Loaded, context: &Context) -> Done {
    let wanted = |it: &Effective| {
        let named = args.name.as_ref().is_none_or(|name| it.key.to_string().contains(name.as_str()));
        named && !(args.changed && it.origin == Origin::Default)
    };
    let shown: Vec<Effective> = loaded.effective().into_iter().filter(wanted).collect();
    if context.printer.json {
        let list: Vec<_> = shown.iter().map(as_json).collect();
        return context.printer.json_value(&json!({ "settings": list }));
    }
    let mut table =
        Table::new(vec![Column::whole("setting"), Column::cut("value", 12), Column::cut("from", 10)]);
    for it in &shown {
        let style = if it.origin == Origin::Default { Style::Faint } else { Style::Plain };
        table.row(vec![
            Cell::styled(it.key.to_string(), Style::Name),
            check::toml(&it.value).into(),
            Cell::styled(it.origin.to_string(), style),
        ]);
    }
    context.printer.table(&table, "no setting fits")?;
    warn(loaded, context);
    Ok(())
}

fn as_json(it: &Effective) -> serde_json::Value {
    let origin = match &it.origin {
        Origin::Default => json!({"kind": "default"}),
        Origin::File { path, line } => json!({"kind": "file", "path": path, "line": line}),
        Origin::Variable(name) => json!({"kind": "variable", "name": name}),
        Origin::Flag(flag) => json!({"kind": "flag", "flag": flag}),
    };
    json!({"key": it.key.to_string(), "value": it.value, "origin": origin, "description": it.description})
}

fn report(loaded: &Loaded, context: &Context) -> Done {
    let file = loaded.file.as_ref();
    if context.printer.json {
        let warnings: Vec<_> = loaded
            .warnings
            .iter()
            .chain(&loaded.ignored)
            .map(|it| json!({"message": it.message(), "hint": it.hint}))
            .collect();
        return context
            .printer
            .json_value(&json!({"ok": true, "file": file, "set": loaded.set(), "warnings": warnings}));
    }
    warn(loaded, context);
    let set = match loaded.set() {
        0 => "all settings have their defaults".to_owned(),
        1 => "1 setting is set, the others have their defaults".to_owned(),
        set => format!("{set} settings are set, the others have their defaults"),
    };
    match file {
        Some(file) => {
            context.printer.line(&format!("the settings are right: {set} (file {})", file.display()))
        }
        None => context.printer.line(&format!(
            "the settings are right: {set} (there is no file {})",
            context.folder.settings().display()
        )),
    }
}

/// Says what is allowed but should be known.
pub(crate) fn warn(loaded: &Loaded, context: &Context) {
    for it in loaded.warnings.iter().chain(&loaded.ignored) {
        context.printer.warning(&it.message(), &it.hint);
    }
}
