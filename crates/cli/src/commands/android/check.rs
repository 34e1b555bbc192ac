//! `toolway android check`: reports problems of a provider to its developer. Reads an APK or a provider on a phone.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use toolway_android::host::ProviderHost;
use toolway_android::lint::{
    LintFinding, LintLevel, ProbeReport, ToolCheck, ToolCheckResult, lint_manifest, lint_provider, probe,
};
use toolway_android::manifest::Apk;
use toolway_android::provider::{ProviderState, RefusalReason, ToolProvider};

use super::phone::{PhoneArgs, PhoneConnection};
use super::provider_output;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::style::Style;
use crate::print::{escape, json as json_text};

/// Hint for apps that refuse a caller without a package.
const SHELL_HINT: &str = "adb's shell is no app: let debug builds of your app accept its uid (0 for root, otherwise 2000), or allow it in the app";
/// Timeout of one probe call.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// Flags of `android check`.
#[derive(Debug, Args)]
pub(crate) struct CheckProviderArgs {
    /// APK file, or authority of a provider on a phone as `android scan` shows it
    #[arg(value_name = "APK|AUTHORITY")]
    what: String,
    /// Also call tools that may have side effects (MCP dialects)
    #[arg(long)]
    execute: bool,
    #[command(flatten)]
    phone: PhoneArgs,
}

/// Verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckVerdict {
    /// No errors.
    Ok,
    /// There are errors.
    Failed,
    /// No errors, but no call reached a tool.
    Incomplete,
}

impl CheckVerdict {
    fn code(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Result of all checks.
#[derive(Debug, Default)]
struct ProviderCheckReport {
    package: String,
    /// Each tool with what ran of it; `None` for an APK, whose tools can't run.
    tools: Option<Vec<ToolCheck>>,
    findings: Vec<LintFinding>,
    skipped: Vec<String>,
    calls: usize,
    provider: Option<ToolProvider>,
}

pub(super) async fn run(args: &CheckProviderArgs, context: &CliContext) -> CliResult {
    let path = Path::new(&args.what);
    // An authority never contains a path separator or ends with `.apk`.
    let is_file = path.exists() || args.what.ends_with(".apk") || args.what.contains(['/', '\\']);
    let checked = if is_file { check_apk(path)? } else { check_on_phone(args, context).await? };
    print_report(&checked, context)?;
    match checked.verdict() {
        CheckVerdict::Ok => Ok(()),
        CheckVerdict::Failed | CheckVerdict::Incomplete => Err(CliError::already_reported()),
    }
}

impl ProviderCheckReport {
    fn verdict(&self) -> CheckVerdict {
        let is_checked = |tools: &Vec<ToolCheck>| tools.iter().any(|tool| tool.result.is_checked());
        if self.findings.iter().any(|finding| finding.level == LintLevel::Error) {
            CheckVerdict::Failed
        } else if self.tools.as_ref().is_none_or(is_checked) {
            CheckVerdict::Ok
        } else {
            CheckVerdict::Incomplete
        }
    }

    fn count_tools(&self, result: ToolCheckResult) -> usize {
        self.tools.iter().flatten().filter(|tool| tool.result == result).count()
    }
}

fn check_apk(path: &Path) -> CliResult<ProviderCheckReport> {
    if path.is_dir() {
        return Err(CliError::new(format!("{} is a directory, not an APK file", path.display()))
            .with_code("apk")
            .with_hint("use the path of the APK, for example app/build/outputs/apk/debug/app-debug.apk"));
    }
    let file = File::open(path).map_err(|error| CliError::io("read", path, &error))?;
    let apk = Apk::read(BufReader::new(file), None).map_err(|error| {
        CliError::new(format!("{}: {error}", path.display()))
            .with_code("apk")
            .with_hint("use a complete .apk file; it may have been truncated by a copy")
    })?;
    Ok(ProviderCheckReport {
        package: apk.manifest.package.clone(),
        findings: lint_manifest(&apk.manifest),
        skipped: vec![
            "tools not checked: install the app on a phone and run `toolway android check AUTHORITY`"
                .to_owned(),
        ],
        ..ProviderCheckReport::default()
    })
}

async fn check_on_phone(args: &CheckProviderArgs, context: &CliContext) -> CliResult<ProviderCheckReport> {
    let phone = PhoneConnection::new(&args.phone, context)?;
    let authority = args.what.clone();
    let owner = phone.run_blocking(move |host| host.resolve(&authority)).await?.ok_or_else(|| {
        CliError::new(format!("no app on this phone provides {}", args.what))
            .with_code("no_provider")
            .with_hint("`toolway android scan` lists the providers; for an APK, use the path of the file")
    })?;
    let mut checked = ProviderCheckReport {
        package: owner.package.clone(),
        tools: Some(Vec::new()),
        ..ProviderCheckReport::default()
    };
    let package = owner.package.clone();
    match phone.run_blocking(move |host| host.apk(&package)).await {
        Ok(apk) => checked.findings.extend(apk.map(|apk| lint_manifest(&apk.manifest)).unwrap_or_default()),
        Err(error) => checked.skipped.push(format!("manifest not checked: {}", error.message())),
    }
    let found = phone.providers(Some(vec![owner.package]), PhoneConnection::list_timeout()).await?;
    let Some(provider) = found.into_iter().find(|it| it.authority == args.what) else {
        checked.skipped.push("tools not checked: the manifest does not declare a tool provider".to_owned());
        return Ok(checked);
    };
    if is_shell_provider(&provider) {
        // A missing permission of adb is not a fault of the provider.
        let (why, hint) = provider_output::state_reason(&provider).unwrap_or_default();
        checked.skipped.push(format!("tools not checked: {why}"));
        checked.skipped.extend(hint);
    } else {
        checked.findings.extend(lint_provider(&provider));
        if matches!(provider.state, ProviderState::Ready | ProviderState::AuthorizationRequired { .. }) {
            let ProbeReport { findings, skipped, calls, tools } =
                probe(&phone.connection, &provider, LIST_TIMEOUT, args.execute).await;
            checked.findings.extend(findings);
            checked.skipped.extend(skipped);
            checked.calls = calls;
            checked.tools = Some(tools);
        } else {
            checked.skipped.push("no tool called: the provider lists none".to_owned());
        }
    }
    checked.findings.sort_by_key(|finding| finding.level);
    checked.provider = Some(provider);
    Ok(checked)
}

/// True if only the shell's missing permission prevents calls.
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
            "result": checked.verdict().code(),
            "errors": errors,
            "warnings": warnings,
            "notes": notes,
            "findings": checked.findings,
            "calls": checked.calls,
            "tools": checked.tools,
            "skipped": checked.skipped,
            "provider": checked.provider.as_ref().map(provider_output::provider_json),
        }));
    }
    provider_output::print_findings(&checked.findings, context)?;
    for skipped in &checked.skipped {
        let word = printer.paint(Style::Faint, "skipped:");
        printer.line(&format!("{word} {}", escape::line(skipped)))?;
    }
    for tool in checked.tools.iter().flatten() {
        let word = printer.paint(Style::Faint, "tool:");
        printer.line(&format!("{word} {}", escape::line(&describe_tool(tool))))?;
    }
    if let Some(provider) = &checked.provider {
        print_model_definitions(provider, context)?;
    }
    let calls = match checked.calls {
        0 => String::new(),
        calls => format!("; {}", pluralize(calls, "call", "calls")),
    };
    let ran = match &checked.tools {
        Some(tools) => format!(
            "; {} of {} ran",
            checked.count_tools(ToolCheckResult::Ran),
            pluralize(tools.len(), "tool", "tools")
        ),
        None => String::new(),
    };
    printer.line(&format!(
        "\n{}: {}, {}, {}{calls}{ran}",
        escape::line(&checked.package),
        pluralize(errors, "error", "errors"),
        pluralize(warnings, "warning", "warnings"),
        pluralize(notes, "note", "notes"),
    ))?;
    if checked.verdict() == CheckVerdict::Incomplete {
        printer.line(&format!(
            "{} no call reached a tool, so its answers are not checked",
            printer.paint(Style::Warning, "incomplete:")
        ))?;
        let refused = |result| checked.count_tools(result) > 0;
        if refused(ToolCheckResult::Denied) || refused(ToolCheckResult::AuthorizationRequired) {
            printer.line(&format!("    {} {SHELL_HINT}", printer.paint(Style::Hint, "hint:")))?;
        }
    }
    Ok(())
}

/// Describes in one line how far the check of a tool came.
fn describe_tool(tool: &ToolCheck) -> String {
    let said = match tool.result {
        ToolCheckResult::Ran => return format!("{} ran", tool.tool),
        ToolCheckResult::ArgumentsRejected => "did not run, only its check of arguments",
        ToolCheckResult::Failed => "failed",
        ToolCheckResult::AuthorizationRequired => "did not run: it requires authorization",
        ToolCheckResult::Denied => "did not run: the app refused this caller",
        ToolCheckResult::RateLimited => "did not run: the app limits the number of calls",
        ToolCheckResult::NotCalled => "was not called",
    };
    let reason = tool.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{} {said}{reason}", tool.tool)
}

fn pluralize(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Prints names, descriptions and schemas as a model gets them.
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
