//! `toolway android scan`: lists every app on a phone that provides tools, with problems and hints.

use clap::Args;
use serde_json::json;
use toolway_android::host::adb::PermissionOwner;
use toolway_android::provider::ToolProvider;

use super::phone::{PhoneArgs, PhoneConnection, PhoneDetails};
use super::provider_output;
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{LabeledValues, TableCell, TableColumn, TextTable};

/// Package prefix of both variants of the bridge app.
const BRIDGE_PACKAGE_PREFIX: &str = "dev.toolway.";

/// Flags of `android scan`.
#[derive(Debug, Args)]
pub(crate) struct ScanPhoneArgs {
    #[command(flatten)]
    phone: PhoneArgs,
}

/// Variant of the bridge app that fits a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BridgeVariant {
    /// The variant that defines the permission.
    Defines,
    /// The variant that only uses the permission.
    Uses,
    /// A bridge app is installed.
    Installed,
}

impl BridgeVariant {
    fn from_owner(owner: Option<&PermissionOwner>) -> Self {
        match owner {
            None => Self::Defines,
            Some(owner) if owner.package.starts_with(BRIDGE_PACKAGE_PREFIX) => Self::Installed,
            Some(_) => Self::Uses,
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::Defines => "defines",
            Self::Uses => "uses",
            Self::Installed => "installed",
        }
    }

    fn describe(self, owner: Option<&PermissionOwner>) -> String {
        let owner = owner.map(|owner| owner.package.as_str()).unwrap_or_default();
        match self {
            Self::Defines => {
                "use the variant that defines ACCESS_TOOLS: no app on this phone defines it".to_owned()
            }
            Self::Uses => {
                format!("use the variant that only uses ACCESS_TOOLS: {owner} already defines it")
            }
            Self::Installed => format!("{owner} is installed and defines ACCESS_TOOLS"),
        }
    }
}

pub(super) async fn run(args: &ScanPhoneArgs, context: &CliContext) -> CliResult {
    let phone = PhoneConnection::new(&args.phone, context)?;
    let about = phone.details().await?;
    let providers = phone.providers(None, PhoneConnection::list_timeout()).await?;
    let unread = phone.host.unreadable_apps();
    if context.printer.json {
        return print_json(&about, &providers, &unread, context);
    }
    print_phone(&about, &providers, &unread, context)
}

fn print_json(
    about: &PhoneDetails,
    providers: &[ToolProvider],
    unread: &[(String, String)],
    context: &CliContext,
) -> CliResult {
    let owner = about.access_tools.as_ref();
    let variant = BridgeVariant::from_owner(owner);
    context.printer.json_value(&json!({
        "phone": {
            "serial": about.info.serial,
            "model": about.info.model,
            "api_level": about.info.api_level,
            "shell_is_root": about.info.is_root,
        },
        "access_tools": owner.map(|it| json!({"defined_by": it.package, "protection": it.protection})),
        "bridge": {"variant": variant.code(), "reason": variant.describe(owner)},
        "providers": providers.iter().map(provider_output::provider_json).collect::<Vec<_>>(),
        "unreadable": unread.iter().map(|(package, why)| json!({"package": package, "reason": why})).collect::<Vec<_>>(),
    }))
}

fn print_phone(
    about: &PhoneDetails,
    providers: &[ToolProvider],
    unread: &[(String, String)],
    context: &CliContext,
) -> CliResult {
    let printer = &context.printer;
    let owner = about.access_tools.as_ref();
    let mut pairs = LabeledValues::default();
    let level = about.info.api_level.map(|level| format!(", API level {level}")).unwrap_or_default();
    pairs.add("phone", format!("{} ({}{level})", about.info.serial, about.info.model));
    pairs.add(
        "ACCESS_TOOLS",
        match owner {
            Some(it) => format!("defined by {} ({})", it.package, it.protection),
            None => "not defined".to_owned(),
        },
    );
    pairs.add("bridge app", BridgeVariant::from_owner(owner).describe(owner));
    if about.info.is_root {
        pairs.add("adb's shell", "runs as root, without permission checks");
    }
    printer.pairs(&pairs)?;
    if !providers.is_empty() {
        printer.line("")?;
    }
    printer.table(&table(providers), "no app on this phone provides tools")?;
    for provider in providers {
        print_provider(provider, context)?;
    }
    for (package, why) in unread {
        printer.warning(&format!("skipped {package}: {why}"), "");
    }
    Ok(())
}

fn table(providers: &[ToolProvider]) -> TextTable {
    let mut table = TextTable::new(vec![
        TableColumn::fixed("app"),
        TableColumn::fixed("state"),
        TableColumn::number("tools"),
        TableColumn::fixed("dialect"),
        TableColumn::truncatable("authority", 16),
        TableColumn::truncatable("package", 12).optional(),
    ]);
    for provider in providers {
        let (word, style) = provider_output::provider_state(provider);
        table.add_row(vec![
            TableCell::styled(provider.title(), Style::Name),
            TableCell::styled(word, style),
            provider.tools.len().to_string().into(),
            provider.dialect.as_str().into(),
            provider.authority.as_str().into(),
            provider.package.as_str().into(),
        ]);
    }
    table
}

/// Prints the details of a provider that the table does not show.
fn print_provider(provider: &ToolProvider, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let notes = provider.notes.to_vec();
    let why = provider_output::state_reason(provider);
    if provider.tools.is_empty() && notes.is_empty() && why.is_none() {
        return Ok(());
    }
    printer.line(&format!(
        "\n{} {}",
        printer.paint(Style::Name, &escape::line(provider.title())),
        printer.paint(Style::Faint, &escape::line(&provider.authority))
    ))?;
    if let Some((reason, hint)) = why {
        let (word, style) = provider_output::provider_state(provider);
        printer.line(&format!(
            "  {} {}",
            printer.paint(style, &format!("{word}:")),
            escape::line(&reason)
        ))?;
        if let Some(hint) = hint {
            printer.line(&format!("    {} {}", printer.paint(Style::Hint, "hint:"), escape::line(&hint)))?;
        }
    }
    for tool in &provider.tools {
        let name = provider.exposed_name(&tool.name).unwrap_or_else(|| tool.name.clone());
        let description = tool.description.as_deref().unwrap_or_default();
        let first = description.lines().next().unwrap_or_default();
        printer.line(&format!(
            "  {}  {}",
            printer.paint(Style::Name, &escape::line(&name)),
            escape::line(first)
        ))?;
    }
    for note in notes {
        let about = note.tool.map(|tool| format!("{tool}: ")).unwrap_or_default();
        let text = escape::line(&format!("{about}{}", note.reason));
        printer.line(&format!("  {} {text}", printer.paint(Style::Warning, "note:")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
