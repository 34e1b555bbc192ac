//! `toolway models list`: lists the model providers.

use clap::Args;
use toolway_api::models::ModelProviderList;
use toolway_gateway::api_views::model_provider_view;

use super::{models_file_error, open_models};
use crate::client::{ConnectArgs, parse_response, target};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Flags of `models list`.
#[derive(Debug, Args)]
pub(crate) struct ListModelsArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &ListModelsArgs, context: &CliContext) -> CliResult {
    // Only a running gateway knows which keys it finds in its environment.
    if args.connect.gateway.is_some() || target::find_running(&context.folder)?.is_some() {
        let text = context.client(&args.connect)?.get(&["api", "models"], &[]).await?;
        if context.printer.json {
            return context.printer.raw_json(&text);
        }
        return print(&parse_response(&text)?, context);
    }
    let models = open_models(context).await?;
    let problems = models.problems();
    if !problems.is_empty() {
        return Err(models_file_error(&problems));
    }
    let found = ModelProviderList {
        models: models.list().await.into_iter().map(model_provider_view).collect(),
        problems: Vec::new(),
    };
    if context.printer.json {
        return context.printer.json_value(&found);
    }
    print(&found, context)
}

fn print(found: &ModelProviderList, context: &CliContext) -> CliResult {
    let mut table = TextTable::new(vec![
        TableColumn::fixed("name"),
        TableColumn::truncatable("model", 10),
        TableColumn::fixed("kind").optional(),
        TableColumn::truncatable("address", 16).optional(),
        TableColumn::truncatable("key", 10),
    ]);
    for model in &found.models {
        let key = match &model.key {
            None => TableCell::styled("(none)", Style::Faint),
            Some(key) if key.present => TableCell::styled(&key.location, Style::Good),
            Some(key) => TableCell::styled(format!("missing: {}", key.location), Style::Error),
        };
        table.add_row(vec![
            TableCell::styled(&model.name, Style::Name),
            model.model.as_deref().unwrap_or("(none set)").into(),
            model.kind.as_str().into(),
            model.base_url.as_str().into(),
            key,
        ]);
    }
    context.printer.table(&table, "no model providers; add one with `toolway models add`")?;
    for problem in &found.problems {
        context.printer.warning(&problem.message, problem.hint.as_deref().unwrap_or_default());
    }
    Ok(())
}
