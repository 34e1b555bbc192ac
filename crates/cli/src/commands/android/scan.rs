//! `toolway android scan`: every app on a phone that offers tools, with what is refused and the way out.

use clap::Args;
use serde_json::json;
use toolway_android::host::adb::PermissionOwner;
use toolway_android::provider::Provider;

use super::phone::{About, Phone, PhoneArgs};
use super::shown;
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Pairs, Table};
use crate::report::Done;

/// How the packages of the bridge app begin, whichever variant.
const BRIDGE: &str = "dev.toolway.";

/// Flags of `android scan`.
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    phone: PhoneArgs,
}

/// Which of the two variants of the bridge app fits a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// The one that defines the permission.
    Defines,
    /// The one that only uses it.
    Uses,
    /// One is there.
    Installed,
}

impl Variant {
    fn of(owner: Option<&PermissionOwner>) -> Self {
        match owner {
            None => Self::Defines,
            Some(owner) if owner.package.starts_with(BRIDGE) => Self::Installed,
            Some(_) => Self::Uses,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Defines => "defines",
            Self::Uses => "uses",
            Self::Installed => "installed",
        }
    }

    fn in_words(self, owner: Option<&PermissionOwner>) -> String {
        let owner = owner.map(|owner| owner.package.as_str()).unwrap_or_default();
        match self {
            Self::Defines => "the variant that defines ACCESS_TOOLS fits: no app here does".to_owned(),
            Self::Uses => {
                format!(
                    "the variant that only uses ACCESS_TOOLS fits: {owner} defines it, and no second app may"
                )
            }
            Self::Installed => format!("{owner} is installed, and defines ACCESS_TOOLS"),
        }
    }
}

pub(super) async fn run(args: &ScanArgs, context: &Context) -> Done {
    let phone = Phone::new(&args.phone, context)?;
    let about = phone.about().await?;
    let providers = phone.providers(None, Phone::list_patience()).await?;
    let unread = phone.host.unread();
    if context.printer.json {
        return as_json(&about, &providers, &unread, context);
    }
    show(&about, &providers, &unread, context)
}

fn as_json(about: &About, providers: &[Provider], unread: &[(String, String)], context: &Context) -> Done {
    let owner = about.access_tools.as_ref();
    let variant = Variant::of(owner);
    context.printer.json_value(&json!({
        "phone": {
            "serial": about.info.serial,
            "model": about.info.model,
            "api_level": about.info.api_level,
            "shell_is_root": about.info.is_root,
        },
        "access_tools": owner.map(|it| json!({"defined_by": it.package, "protection": it.protection})),
        "bridge": {"variant": variant.word(), "reason": variant.in_words(owner)},
        "providers": providers.iter().map(shown::provider).collect::<Vec<_>>(),
        "unread": unread.iter().map(|(package, why)| json!({"package": package, "reason": why})).collect::<Vec<_>>(),
    }))
}

fn show(about: &About, providers: &[Provider], unread: &[(String, String)], context: &Context) -> Done {
    let printer = &context.printer;
    let owner = about.access_tools.as_ref();
    let mut pairs = Pairs::default();
    let level = about.info.api_level.map(|level| format!(", API level {level}")).unwrap_or_default();
    pairs.add("phone", format!("{} ({}{level})", about.info.serial, about.info.model));
    pairs.add(
        "ACCESS_TOOLS",
        match owner {
            Some(it) => format!("defined by {} ({})", it.package, it.protection),
            None => "defined by no app".to_owned(),
        },
    );
    pairs.add("bridge app", Variant::of(owner).in_words(owner));
    if about.info.is_root {
        pairs.add("adb's shell", "is root's: no permission keeps it out");
    }
    printer.pairs(&pairs)?;
    if !providers.is_empty() {
        printer.line("")?;
    }
    printer.table(&table(providers), "no app on this phone offers tools")?;
    for provider in providers {
        details(provider, context)?;
    }
    for (package, why) in unread {
        printer.warning(&format!("{package} was left out: {why}"), "");
    }
    Ok(())
}

fn table(providers: &[Provider]) -> Table {
    let mut table = Table::new(vec![
        Column::whole("app"),
        Column::whole("state"),
        Column::number("tools"),
        Column::whole("dialect"),
        Column::cut("authority", 16),
        Column::cut("package", 12).optional(),
    ]);
    for provider in providers {
        let (word, style) = shown::state(provider);
        table.row(vec![
            Cell::styled(provider.title(), Style::Name),
            Cell::styled(word, style),
            provider.tools.len().to_string().into(),
            provider.dialect.as_str().into(),
            provider.authority.as_str().into(),
            provider.package.as_str().into(),
        ]);
    }
    table
}

/// What the table has no room for.
fn details(provider: &Provider, context: &Context) -> Done {
    let printer = &context.printer;
    let notes = provider.notes.to_vec();
    let why = shown::reason(provider);
    if provider.tools.is_empty() && notes.is_empty() && why.is_none() {
        return Ok(());
    }
    printer.line(&format!(
        "\n{} {}",
        printer.paint(Style::Name, &escape::line(provider.title())),
        printer.paint(Style::Faint, &escape::line(&provider.authority))
    ))?;
    if let Some((reason, hint)) = why {
        let (word, style) = shown::state(provider);
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
        let name = provider.exposed(&tool.name).unwrap_or_else(|| tool.name.clone());
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
        printer.line(&format!("  {} {text}", printer.paint(Style::Warning, "odd:")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
