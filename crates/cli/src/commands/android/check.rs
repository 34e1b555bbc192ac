//! `toolway android check`: what is wrong with a provider, for whoever builds it. From an APK, or from a phone.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use toolway_android::host::ProviderHost;
use toolway_android::lint::{LintFinding, LintLevel, ProbeReport, lint_manifest, lint_provider, probe};
use toolway_android::manifest::Apk;
use toolway_android::provider::{ProviderState, RefusalReason, ToolProvider};

use super::phone::{PhoneArgs, PhoneConnection};
use super::provider_output;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::style::Style;
use crate::print::{escape, json as json_text};

/// How long one of the calls that are made to see may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Flags of `android check`.
#[derive(Debug, Args)]
pub(crate) struct CheckProviderArgs {
    /// An APK file, or the authority of a provider on a phone, as `android scan` shows it
    #[arg(value_name = "APK|AUTHORITY")]
    what: String,
    /// Also call tools that may act (those of the MCP dialects)
    #[arg(long)]
    execute: bool,
    #[command(flatten)]
    phone: PhoneArgs,
}

/// All that was found out.
#[derive(Debug, Default)]
struct ProviderCheckReport {
    package: String,
    findings: Vec<LintFinding>,
    skipped: Vec<String>,
    calls: usize,
    provider: Option<ToolProvider>,
}

pub(super) async fn run(args: &CheckProviderArgs, context: &CliContext) -> CliResult {
    let path = Path::new(&args.what);
    // No authority has a path's separators or this ending.
    let is_file = path.exists() || args.what.ends_with(".apk") || args.what.contains(['/', '\\']);
    let checked = if is_file { check_apk(path)? } else { check_on_phone(args, context).await? };
    print_report(&checked, context)?;
    if checked.findings.iter().any(|finding| finding.level == LintLevel::Error) {
        return Err(CliError::already_reported());
    }
    Ok(())
}

fn check_apk(path: &Path) -> CliResult<ProviderCheckReport> {
    if path.is_dir() {
        return Err(CliError::new(format!("{} is a folder", path.display()))
            .with_code("apk")
            .with_hint("name the APK in it, as app/build/outputs/apk/debug/app-debug.apk"));
    }
    let file = File::open(path).map_err(|error| CliError::io("read", path, &error))?;
    let apk = Apk::read(BufReader::new(file), None).map_err(|error| {
        CliError::new(format!("{}: {error}", path.display())).with_code("apk").with_hint(
            "name a whole .apk file, as it is installed on a phone; was it cut short when it was copied?",
        )
    })?;
    Ok(ProviderCheckReport {
        package: apk.manifest.package.clone(),
        findings: lint_manifest(&apk.manifest),
        skipped: vec![
            "its tools were not asked for: with the app on a phone, `toolway android check AUTHORITY` asks for them"
                .to_owned(),
        ],
        ..ProviderCheckReport::default()
    })
}

async fn check_on_phone(args: &CheckProviderArgs, context: &CliContext) -> CliResult<ProviderCheckReport> {
    let phone = PhoneConnection::new(&args.phone, context)?;
    let authority = args.what.clone();
    let owner = phone.run_blocking(move |host| host.resolve(&authority)).await?.ok_or_else(|| {
        CliError::new(format!("nobody on this phone serves {}", args.what))
            .with_code("no_provider")
            .with_hint("`toolway android scan` lists who is there; for an APK give the path of its file")
    })?;
    let mut checked =
        ProviderCheckReport { package: owner.package.clone(), ..ProviderCheckReport::default() };
    let package = owner.package.clone();
    match phone.run_blocking(move |host| host.apk(&package)).await {
        Ok(apk) => checked.findings.extend(apk.map(|apk| lint_manifest(&apk.manifest)).unwrap_or_default()),
        Err(error) => checked.skipped.push(format!("its manifest was not read: {}", error.message())),
    }
    let found = phone.providers(Some(vec![owner.package]), PhoneConnection::list_timeout()).await?;
    let Some(provider) = found.into_iter().find(|it| it.authority == args.what) else {
        checked
            .skipped
            .push("its tools were not asked for: it is not declared as a provider of tools".to_owned());
        return Ok(checked);
    };
    if is_shell_provider(&provider) {
        // That adb may not call it is no fault of the provider's.
        let why = provider_output::state_reason(&provider).map(|(reason, _)| reason).unwrap_or_default();
        checked.skipped.push(format!("its tools were not asked for: {why}"));
        checked.skipped.push("on an emulator whose shell is root's (adb root) they are".to_owned());
    } else {
        checked.findings.extend(lint_provider(&provider));
        if provider.state == ProviderState::Ready {
            let ProbeReport { findings, skipped, calls } =
                probe(&phone.connection, &provider, LIST_TIMEOUT, args.execute).await;
            checked.findings.extend(findings);
            checked.skipped.extend(skipped);
            checked.calls = calls;
        } else {
            checked.skipped.push("no tool was called: it does not list any".to_owned());
        }
    }
    checked.findings.sort_by_key(|finding| finding.level);
    checked.provider = Some(provider);
    Ok(checked)
}

/// Whether it is only the shell that may not call it.
fn is_shell_provider(provider: &ToolProvider) -> bool {
    matches!(
        provider.state,
        ProviderState::Refused { refusal: RefusalReason::MissingPermission | RefusalReason::Unsupported, .. }
    )
}

fn print_report(checked: &ProviderCheckReport, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let count = |level| checked.findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings, notes) =
        (count(LintLevel::Error), count(LintLevel::Warning), count(LintLevel::Note));
    if printer.json {
        return printer.json_value(&json!({
            "package": checked.package,
            "errors": errors,
            "warnings": warnings,
            "notes": notes,
            "findings": checked.findings,
            "calls": checked.calls,
            "skipped": checked.skipped,
            "provider": checked.provider.as_ref().map(provider_output::provider_json),
        }));
    }
    provider_output::print_findings(&checked.findings, context)?;
    for skipped in &checked.skipped {
        let word = printer.paint(Style::Faint, "skipped:");
        printer.line(&format!("{word} {}", escape::line(skipped)))?;
    }
    if let Some(provider) = &checked.provider {
        print_model_definitions(provider, context)?;
    }
    let calls = match checked.calls {
        0 => String::new(),
        calls => format!("; {} made", pluralize(calls, "call was", "calls were")),
    };
    printer.line(&format!(
        "\n{}: {}, {}, {}{calls}",
        escape::line(&checked.package),
        pluralize(errors, "error", "errors"),
        pluralize(warnings, "warning", "warnings"),
        pluralize(notes, "note", "notes"),
    ))
}

fn pluralize(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Names, descriptions and schemas, as a model is told of them.
fn print_model_definitions(provider: &ToolProvider, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    for tool in &provider.tools {
        let name = provider.exposed_name(&tool.name).unwrap_or_else(|| tool.name.clone());
        printer
            .line(&format!("\n{}", printer.paint(Style::Name, &escape::line(&format!("phone__{name}")))))?;
        if let Some(description) = &tool.description {
            printer.line(&escape::lines(description))?;
        }
        if let Some(parameters) = &tool.parameters {
            printer.line(&escape::json(&json_text::pretty(parameters.get())))?;
        }
    }
    Ok(())
}
