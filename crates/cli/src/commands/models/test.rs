//! `toolway models test`: asked of the running gateway, which has the keys that count; where none runs, tried from here.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{open, wrong};
use crate::client::{Client, ConnectArgs, find, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::{escape, time};
use crate::report::{Done, Failure};

/// Flags of `models test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Name of the model provider, as `models list` shows it; all of them, where none is named
    name: Option<String>,
    /// The model to ask, where that is not the one set for it
    #[arg(long, value_name = "ID", requires = "name")]
    model: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// What a test found.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    ok: bool,
    checks: Vec<Check>,
    duration_ms: u64,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, Deserialize)]
struct Check {
    check: String,
    status: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(super) async fn run(args: &TestArgs, context: &Context) -> Done {
    let is_running = args.connect.gateway.is_some() || find::running_on(&context.folder)?.is_some();
    let reports = if is_running {
        by_gateway(args, &context.client(&args.connect)?, context).await?
    } else {
        context
            .printer
            .note("no gateway runs on this data folder, so it is tried from here, with this environment");
        from_here(args, context).await?
    };
    if context.printer.json {
        context.printer.json_value(&json!({ "tests": reports }))?;
    }
    let failed: Vec<_> =
        reports.iter().filter(|report| !report.ok).map(|report| report.name.as_str()).collect();
    match failed.as_slice() {
        [] => Ok(()),
        _ if context.printer.json => Err(Failure::told()),
        [one] => Err(Failure::new(format!("{one} does not work as it should"))
            .code("model_failed")
            .hint("the lines above say what to do")),
        several => Err(Failure::new(format!("{} do not work as they should", several.join(", ")))
            .code("model_failed")
            .hint("the lines above say what to do")),
    }
}

async fn by_gateway(args: &TestArgs, client: &Client, context: &Context) -> Done<Vec<Report>> {
    #[derive(Deserialize)]
    struct Models {
        models: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => {
            let found: Models = read(&client.get(&["api", "models"], &[]).await?)?;
            found.models.into_iter().map(|model| model.name).collect()
        }
    };
    let mut reports = Vec::new();
    for name in some(names)? {
        let body = json!({ "model": args.model });
        let path = ["api", "models", &name, "test"];
        let report = read(&client.send_and_wait(reqwest::Method::POST, &path, &body).await?)?;
        reports.push(shown(report, context)?);
    }
    Ok(reports)
}

async fn from_here(args: &TestArgs, context: &Context) -> Done<Vec<Report>> {
    let models = open(context).await?;
    let problems = models.problems();
    if !problems.is_empty() {
        return Err(wrong(&problems));
    }
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => models.list().await.into_iter().map(|model| model.name).collect(),
    };
    let mut reports = Vec::new();
    for name in some(names)? {
        let report = models.test(&name, args.model.as_deref()).await.map_err(|error| {
            Failure::new(error.to_string())
                .code("model_unknown")
                .hint("`toolway models list` shows their names")
        })?;
        reports.push(shown(read(&json!(report).to_string())?, context)?);
    }
    Ok(reports)
}

fn some(names: Vec<String>) -> Done<Vec<String>> {
    if names.is_empty() {
        return Err(Failure::new("there is no model provider to try")
            .code("no_model")
            .hint("`toolway models add` adds one, `toolway models presets` lists those that are known"));
    }
    Ok(names)
}

/// Shows a report to a person, as soon as it is there.
fn shown(report: Report, context: &Context) -> Done<Report> {
    let printer = &context.printer;
    if printer.json {
        return Ok(report);
    }
    let name = match &report.model {
        Some(model) => format!("{}/{model}", report.name),
        None => report.name.clone(),
    };
    #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
    let took = time::duration(report.duration_ms as f64);
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
