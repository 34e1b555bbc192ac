//! Checks models, agents and prices: the files, the API keys, and the age of the prices.

use std::path::Path;

use jiff::civil::Date;
use toolway_files::owner_file::FileProblem;

use super::DoctorReport;
use crate::commands::models::{FORMAT_HINT, open_models};
use crate::commands::prices;
use crate::context::CliContext;
use crate::folder::private_file;

/// Age in days at which prices may be outdated.
const STALE_PRICES_DAYS: i32 = 180;

/// Runs the checks.
pub(super) async fn check(context: &CliContext, found: &mut DoctorReport) {
    check_models(context, found).await;
    check_agents(&context.folder.agents(), found);
    check_prices(context, found);
}

async fn check_models(context: &CliContext, found: &mut DoctorReport) {
    if !context.folder.models().exists() {
        found.add_fine("models", "no model providers; add one with `toolway models add`");
        return;
    }
    let models = match open_models(context).await {
        Ok(models) => models,
        Err(failure) => return found.add_failure("models", &failure),
    };
    add_file_problems("models", &models.problems(), FORMAT_HINT, found);
    let listed = models.list().await;
    let missing: Vec<_> =
        listed.iter().filter(|model| model.key.as_ref().is_some_and(|key| !key.present)).collect();
    for model in &missing {
        let place = model.key.as_ref().map(|key| key.place.as_str()).unwrap_or_default();
        // The gateway may have been started with other environment variables than this program.
        found.add_warning(
            "models",
            format!("{}: no key in {place}", model.name),
            "store the key there; `toolway models list` shows whether a running gateway finds it",
        );
    }
    if models.problems().is_empty() {
        let names: Vec<_> = listed.iter().map(|model| model.name.as_str()).collect();
        found.add_fine(
            "models",
            format!("{}: {}", pluralize(names.len(), "provider", "providers"), names.join(", ")),
        );
    }
}

fn check_agents(folder: &Path, found: &mut DoctorReport) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_hidden = |path: &Path| path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b"."));
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "toml") && !is_hidden(path)).collect();
    files.sort();
    let mut right = 0;
    for path in &files {
        match private_file::read(path) {
            Ok(text) => match toolway_agent::agents::check(&text.unwrap_or_default(), path) {
                Ok(_) => right += 1,
                Err(problems) => {
                    add_file_problems("agents", &problems, "see docs/agents.md for the format", found)
                }
            },
            Err(failure) => found.add_failure("agents", &failure),
        }
    }
    if right > 0 {
        found.add_fine(
            "agents",
            format!("{} in {}", pluralize(right, "valid agent", "valid agents"), folder.display()),
        );
    }
}

fn check_prices(context: &CliContext, found: &mut DoctorReport) {
    if !context.folder.prices().exists() {
        return;
    }
    let table = match prices::load(context) {
        Ok(table) => table,
        Err(failure) => return found.add_failure("prices", &failure),
    };
    let all = table.prices().len();
    let dates: Vec<Date> =
        table.prices().iter().filter_map(|price| price.date.as_ref()?.parse().ok()).collect();
    let anew = "import newer prices with `toolway prices import`";
    if dates.len() < all {
        found.add_warning("prices", format!("{} of {all} prices have no date", all - dates.len()), anew);
    }
    let Some(oldest) = dates.iter().min() else { return };
    let today = context.zone().to_datetime(context.clock.now()).date();
    match today.since(*oldest).map(|age| age.get_days()) {
        Ok(days) if days > STALE_PRICES_DAYS => {
            found.add_warning(
                "prices",
                format!("{all} prices, the oldest from {oldest}; they may be outdated"),
                anew,
            );
        }
        _ => found.add_fine("prices", format!("{all} prices, the oldest from {oldest}")),
    }
}

fn add_file_problems(about: &str, problems: &[FileProblem], usual: &str, found: &mut DoctorReport) {
    for problem in problems {
        found.add_error(about, problem.to_string(), problem.hint.as_deref().unwrap_or(usual));
    }
}

fn pluralize(number: usize, one: &str, several: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {several}") }
}
