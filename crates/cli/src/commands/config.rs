//! `toolway config`: shows the effective settings with their sources.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};
use crate::settings::former_names::FORMER_NAMES;
use crate::settings::{self, EffectiveSetting, LoadedSettings, SettingOrigin, validation};

/// Subcommands of `toolway config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show each setting's effective value and its source
    #[command(after_help = "Examples:\n  toolway config show --changed\n  toolway config show limits")]
    Show(ShowConfigArgs),
    /// Check the settings and print all errors with line numbers
    #[command(after_help = "Example:\n  toolway config check")]
    Check,
}

/// Flags of `config show`.
#[derive(Debug, Args)]
pub(crate) struct ShowConfigArgs {
    /// Only settings whose name contains this text
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only settings that differ from their default
    #[arg(long)]
    changed: bool,
}

/// Runs the command.
pub(crate) fn run(command: ConfigCommand, context: &CliContext) -> CliResult {
    let loaded = settings::load(&context.setting_sources(Vec::new()))
        .map_err(|wrong| settings::settings_error(&wrong))?;
    match command {
        ConfigCommand::Show(args) => print_settings(&args, &loaded, context),
        ConfigCommand::Check => print_summary(&loaded, context),
    }
}

fn print_settings(args: &ShowConfigArgs, loaded: &LoadedSettings, context: &CliContext) -> CliResult {
    let wanted = |it: &EffectiveSetting| {
        let key = it.key.to_string();
        let named = args.name.as_ref().is_none_or(|name| {
            let mut former = FORMER_NAMES.iter().filter(|(_, present)| *present == key);
            key.contains(name.as_str()) || former.any(|(former, _)| former.contains(name.as_str()))
        });
        named && !(args.changed && it.origin == SettingOrigin::Default)
    };
    let shown: Vec<EffectiveSetting> = loaded.effective_settings().into_iter().filter(wanted).collect();
    if context.printer.json {
        let list: Vec<_> = shown.iter().map(setting_json).collect();
        return context.printer.json_value(&json!({ "settings": list }));
    }
    let mut table = TextTable::new(vec![
        TableColumn::fixed("setting"),
        TableColumn::truncatable("value", 12),
        TableColumn::truncatable("from", 10),
    ]);
    for it in &shown {
        let style = if it.origin == SettingOrigin::Default { Style::Faint } else { Style::Plain };
        table.add_row(vec![
            TableCell::styled(it.key.to_string(), Style::Name),
            validation::toml(&it.value).into(),
            TableCell::styled(it.origin.to_string(), style),
        ]);
    }
    context.printer.table(&table, "no matching settings")?;
    let asked = FORMER_NAMES.iter().find(|(former, _)| args.name.as_deref() == Some(former));
    if let Some((former, present)) = asked {
        let hint = format!("use {present}; the former name still works");
        context.printer.warning(&format!("{former} was renamed to {present}"), &hint);
    }
    print_warnings(loaded, context);
    Ok(())
}

fn setting_json(it: &EffectiveSetting) -> serde_json::Value {
    let origin = match &it.origin {
        SettingOrigin::Default => json!({"kind": "default"}),
        SettingOrigin::File { path, line } => json!({"kind": "file", "path": path, "line": line}),
        SettingOrigin::Variable(name) => json!({"kind": "variable", "name": name}),
        SettingOrigin::Flag(flag) => json!({"kind": "flag", "flag": flag}),
    };
    json!({"key": it.key.to_string(), "value": it.value, "origin": origin, "description": it.description})
}

fn print_summary(loaded: &LoadedSettings, context: &CliContext) -> CliResult {
    let file = loaded.file.as_ref();
    if context.printer.json {
        let warnings: Vec<_> =
            loaded.all_warnings().map(|it| json!({"message": it.message(), "hint": it.hint})).collect();
        return context.printer.json_value(
            &json!({"ok": true, "file": file, "settings_set": loaded.set_count(), "warnings": warnings}),
        );
    }
    print_warnings(loaded, context);
    let set = match loaded.set_count() {
        0 => "all settings have default values".to_owned(),
        1 => "1 setting is set, the others have default values".to_owned(),
        set => format!("{set} settings are set, the others have default values"),
    };
    match file {
        Some(file) => {
            context.printer.line(&format!("the settings are valid: {set} (file {})", file.display()))
        }
        None => context.printer.line(&format!(
            "the settings are valid: {set} (no file {})",
            context.folder.settings().display()
        )),
    }
}

/// Prints warnings about settings that are valid but need attention.
pub(crate) fn print_warnings(loaded: &LoadedSettings, context: &CliContext) {
    for it in loaded.all_warnings() {
        context.printer.warning(&it.message(), &it.hint);
    }
}
