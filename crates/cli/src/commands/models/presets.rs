//! `toolway models presets`.

use serde_json::json;
use toolway_models::presets::{ALL, Preset};

use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;

pub(super) fn run(context: &Context) -> Done {
    if context.printer.json {
        let shown = |it: &Preset| {
            json!({
                "name": it.name, "title": it.title, "kind": it.kind, "base_url": it.base_url, "key_env": it.key_env,
                "documentation": it.documentation, "looked_at": it.looked_at, "tried": it.tried, "note": it.note,
            })
        };
        return context.printer.json_value(&json!({"presets": ALL.iter().map(shown).collect::<Vec<_>>()}));
    }
    let mut table = Table::new(vec![
        Column::whole("name"),
        Column::cut("for", 10),
        Column::whole("kind").optional(),
        Column::cut("address", 16).optional(),
        Column::whole("key").optional(),
        Column::whole("tried"),
    ]);
    for preset in ALL {
        let (tried, style) = if preset.tried { ("yes", Style::Good) } else { ("no", Style::Faint) };
        table.row(vec![
            Cell::styled(preset.name, Style::Name),
            preset.title.into(),
            preset.kind.as_str().into(),
            preset.base_url.into(),
            preset.key_env.unwrap_or("(none)").into(),
            Cell::styled(tried, style),
        ]);
    }
    context.printer.table(&table, "no preset is known")?;
    let dates: std::collections::BTreeSet<_> = ALL.iter().map(|preset| preset.looked_at).collect();
    let dates: Vec<_> = dates.into_iter().collect();
    context.printer.note(&format!(
        "From their makers' documentation as of {}. Whether one was tried against the provider itself is said; any other \
         is added with --kind and --base-url.",
        dates.join(", ")
    ));
    Ok(())
}
