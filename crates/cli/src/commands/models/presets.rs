//! `toolway models presets`: lists the known model providers.

use serde_json::json;
use toolway_models::presets::{ALL, ProviderPreset};

use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

pub(super) fn run(context: &CliContext) -> CliResult {
    if context.printer.json {
        let shown = |it: &ProviderPreset| {
            json!({
                "name": it.name, "title": it.title, "kind": it.kind, "base_url": it.base_url, "key_env": it.key_env,
                "documentation": it.documentation, "checked_on": it.verified_on, "tested": it.is_tested, "note": it.note,
            })
        };
        return context.printer.json_value(&json!({"presets": ALL.iter().map(shown).collect::<Vec<_>>()}));
    }
    let mut table = TextTable::new(vec![
        TableColumn::fixed("name"),
        TableColumn::truncatable("provider", 10),
        TableColumn::fixed("kind").optional(),
        TableColumn::truncatable("address", 16).optional(),
        TableColumn::fixed("key").optional(),
        TableColumn::fixed("tested"),
    ]);
    for preset in ALL {
        let (tested, style) = if preset.is_tested { ("yes", Style::Good) } else { ("no", Style::Faint) };
        table.add_row(vec![
            TableCell::styled(preset.name, Style::Name),
            preset.title.into(),
            preset.kind.as_str().into(),
            preset.base_url.into(),
            preset.key_env.unwrap_or("(none)").into(),
            TableCell::styled(tested, style),
        ]);
    }
    context.printer.table(&table, "no presets")?;
    let dates: std::collections::BTreeSet<_> = ALL.iter().map(|preset| preset.verified_on).collect();
    let dates: Vec<_> = dates.into_iter().collect();
    context.printer.note(&format!(
        "From the providers' documentation as of {}. \"tested\" shows which ones were tested against the service. \
         Add any other provider with --kind and --base-url.",
        dates.join(", ")
    ));
    Ok(())
}
