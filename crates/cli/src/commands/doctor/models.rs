//! Models, agents and prices: whether their files are right, whether keys are where they should be, and whether prices
//! say of when they are.

use std::path::Path;

use jiff::civil::Date;
use toolway_agent::files::FileProblem;

use super::Findings;
use crate::commands::models::{FORM, open};
use crate::commands::prices;
use crate::context::Context;
use crate::folder::private;

/// Prices older than this may have changed, in days.
const OLD_DAYS: i32 = 180;

/// Looks at all of them.
pub(super) async fn look(context: &Context, found: &mut Findings) {
    models(context, found).await;
    agents(&context.folder.agents(), found);
    prices(context, found);
}

async fn models(context: &Context, found: &mut Findings) {
    if !context.folder.models().exists() {
        found.fine("models", "there is no model provider; `toolway models add` adds one");
        return;
    }
    let models = match open(context).await {
        Ok(models) => models,
        Err(failure) => return found.failure("models", &failure),
    };
    wrong("models", &models.problems(), FORM, found);
    let listed = models.list().await;
    let missing: Vec<_> =
        listed.iter().filter(|model| model.key.as_ref().is_some_and(|key| !key.present)).collect();
    for model in &missing {
        let place = model.key.as_ref().map(|key| key.place.as_str()).unwrap_or_default();
        // The gateway may have been started with other variables than this program.
        found.warning(
            "models",
            format!("{}: no key in {place}", model.name),
            "put it there, where the gateway finds it; `toolway models list` says what a running gateway finds",
        );
    }
    if models.problems().is_empty() {
        let names: Vec<_> = listed.iter().map(|model| model.name.as_str()).collect();
        found.fine("models", format!("{} set up: {}", count(names.len(), "is", "are"), names.join(", ")));
    }
}

fn agents(folder: &Path, found: &mut Findings) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_hidden = |path: &Path| path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "toml") && !is_hidden(path)).collect();
    files.sort();
    let mut right = 0;
    for path in &files {
        match private::read(path) {
            Ok(text) => match toolway_agent::agents::check(&text.unwrap_or_default(), path) {
                Ok(_) => right += 1,
                Err(problems) => {
                    wrong("agents", &problems, "docs/agents.md shows how agents are written", found)
                }
            },
            Err(failure) => found.failure("agents", &failure),
        }
    }
    if right > 0 {
        found
            .fine("agents", format!("{} written rightly in {}", count(right, "is", "are"), folder.display()));
    }
}

fn prices(context: &Context, found: &mut Findings) {
    if !context.folder.prices().exists() {
        return;
    }
    let table = match prices::load(context) {
        Ok(table) => table,
        Err(failure) => return found.failure("prices", &failure),
    };
    let all = table.prices().len();
    let dates: Vec<Date> =
        table.prices().iter().filter_map(|price| price.date.as_ref()?.parse().ok()).collect();
    let anew = "`toolway prices import` takes newer ones over";
    if dates.len() < all {
        found.warning("prices", format!("{} of {all} don't say of when they are", all - dates.len()), anew);
    }
    let Some(oldest) = dates.iter().min() else { return };
    let today = context.zone().to_datetime(context.clock.now()).date();
    match today.since(*oldest).map(|age| age.get_days()) {
        Ok(days) if days > OLD_DAYS => {
            found.warning(
                "prices",
                format!("there are {all}, the oldest as of {oldest}; they may have changed"),
                anew,
            );
        }
        _ => found.fine("prices", format!("there are {all}, the oldest as of {oldest}")),
    }
}

fn wrong(about: &str, problems: &[FileProblem], usual: &str, found: &mut Findings) {
    for problem in problems {
        found.wrong(about, problem.to_string(), problem.hint.as_deref().unwrap_or(usual));
    }
}

fn count(number: usize, one: &str, several: &str) -> String {
    if number == 1 { format!("one {one}") } else { format!("{number} {several}") }
}
