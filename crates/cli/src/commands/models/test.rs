//! `toolway models test`: tests providers through the running gateway, which has the keys; if none runs, from here.

use clap::Args;
use serde_json::json;
use toolway_api::models::{ModelProviderList, ModelTestReport, TestModelRequest};
use toolway_gateway::api_views::model_test_report;

use super::{models_file_error, open_models};
use crate::client::{ConnectArgs, GatewayClient, parse_response, target};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::style::Style;
use crate::print::{escape, time};

/// Flags of `models test`.
#[derive(Debug, Args)]
pub(crate) struct TestModelsArgs {
    /// Name of the model provider, as `models list` shows it (default: all)
    name: Option<String>,
    /// Model to test (default: the provider's default model)
    #[arg(long, value_name = "ID", requires = "name")]
    model: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &TestModelsArgs, context: &CliContext) -> CliResult {
    let is_running = args.connect.gateway.is_some() || target::find_running(&context.folder)?.is_some();
    let reports = if is_running {
        test_through_gateway(args, &context.client(&args.connect)?, context).await?
    } else {
        context.printer.note(
            "no gateway is running with this data folder; testing with the environment of this command",
        );
        test_locally(args, context).await?
    };
    if context.printer.json {
        context.printer.json_value(&json!({ "tests": reports }))?;
    }
    let failed: Vec<_> =
        reports.iter().filter(|report| !report.ok).map(|report| report.name.as_str()).collect();
    match failed.as_slice() {
        [] => Ok(()),
        _ if context.printer.json => Err(CliError::already_reported()),
        names => {
            let error =
                CliError::new(format!("{} failed the test", names.join(", "))).with_code("model_failed");
            let has_hints = reports.iter().filter(|report| !report.ok).all(|report| {
                report.checks.iter().any(|check| check.status == "failed" && check.hint.is_some())
            });
            Err(error.with_hint(if has_hints {
                "follow the hints above"
            } else {
                "check the provider's entry with `toolway models list`, then run the test again"
            }))
        }
    }
}

async fn test_through_gateway(
    args: &TestModelsArgs,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult<Vec<ModelTestReport>> {
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => {
            let found: ModelProviderList = parse_response(&client.get(&["api", "models"], &[]).await?)?;
            found.models.into_iter().map(|model| model.name).collect()
        }
    };
    let mut reports = Vec::new();
    for name in require_providers(names)? {
        let body = TestModelRequest { model: args.model.clone() };
        let path = ["api", "models", &name, "test"];
        let report = parse_response(&client.send_and_wait(reqwest::Method::POST, &path, &body).await?)?;
        reports.push(print_report(report, context)?);
    }
    Ok(reports)
}

async fn test_locally(args: &TestModelsArgs, context: &CliContext) -> CliResult<Vec<ModelTestReport>> {
    let models = open_models(context).await?;
    let problems = models.problems();
    if !problems.is_empty() {
        return Err(models_file_error(&problems));
    }
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => models.list().await.into_iter().map(|model| model.name).collect(),
    };
    let mut reports = Vec::new();
    for name in require_providers(names)? {
        let report = models.test(&name, args.model.as_deref()).await.map_err(|error| {
            CliError::new(error.to_string())
                .with_code("model_provider_not_found")
                .with_hint("list the providers with `toolway models list`")
        })?;
        reports.push(print_report(model_test_report(report), context)?);
    }
    Ok(reports)
}

fn require_providers(names: Vec<String>) -> CliResult<Vec<String>> {
    if names.is_empty() {
        return Err(CliError::new("no model providers to test").with_code("no_model").with_hint(
            "add one with `toolway models add`; `toolway models presets` lists the known providers",
        ));
    }
    Ok(names)
}

/// Prints a report as soon as it is complete.
fn print_report(report: ModelTestReport, context: &CliContext) -> CliResult<ModelTestReport> {
    let printer = &context.printer;
    if printer.json {
        return Ok(report);
    }
    let name = match &report.model {
        Some(model) => format!("{}/{model}", report.name),
        None => report.name.clone(),
    };
    #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
    let took = time::format_duration(report.duration_ms as f64);
    printer.line(&format!(
        "{}  {}",
        printer.paint(Style::Name, &escape::line(&name)),
        printer.paint(Style::Faint, &took)
    ))?;
    for check in &report.checks {
        let (mark, style) = match check.status.as_str() {
            "ok" => ("✓", Style::Good),
            "failed" => ("✗", Style::Error),
            _ => ("-", Style::Faint),
        };
        let about = check.check.replace('_', " ");
        let padding = " ".repeat(10_usize.saturating_sub(about.len()));
        printer.line(&format!(
            "  {} {}{padding} {}",
            printer.paint(style, mark),
            escape::line(&about),
            escape::line(&check.message)
        ))?;
        if let Some(hint) = &check.hint {
            printer.line(&format!("    {} {}", printer.paint(Style::Hint, "hint:"), escape::line(hint)))?;
        }
    }
    Ok(report)
}
