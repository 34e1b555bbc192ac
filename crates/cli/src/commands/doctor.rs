//! `toolway doctor`: finds problems and prints how to fix them.

mod files;
mod gateway;
mod mcp;
mod models;
mod storage;
mod tools;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::style::Style;
use crate::settings::{self, LoadedSettings};

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingSeverity {
    /// No problem.
    Ok,
    /// Needs attention, but nothing is broken.
    Warning,
    /// A problem to fix.
    Error,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorFinding {
    /// Subject of the check.
    subject: String,
    /// Severity.
    status: FindingSeverity,
    /// Description for people.
    message: String,
    /// Fix for the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// All findings so far.
#[derive(Debug, Default)]
pub(crate) struct DoctorReport(Vec<DoctorFinding>);

impl DoctorReport {
    /// Adds a finding without a problem.
    fn add_fine(&mut self, subject: &str, message: impl Into<String>) {
        self.add(subject, FindingSeverity::Ok, message.into(), None);
    }

    /// Adds a warning.
    fn add_warning(&mut self, subject: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(subject, FindingSeverity::Warning, message.into(), Some(hint.into()));
    }

    /// Adds an error.
    fn add_error(&mut self, subject: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(subject, FindingSeverity::Error, message.into(), Some(hint.into()));
    }

    /// Adds an error with the hints of a failure.
    fn add_failure(&mut self, subject: &str, failure: &CliError) {
        // The problems say where, and the failure only that there are some.
        for problem in failure.problems() {
            let hint = problem.hint.clone().or_else(|| failure.hints());
            self.add(subject, FindingSeverity::Error, problem.message.clone(), hint);
        }
        if !failure.problems().is_empty() {
            return;
        }
        self.add(subject, FindingSeverity::Error, failure.message().to_owned(), failure.hints());
    }

    fn add(&mut self, subject: &str, status: FindingSeverity, message: String, hint: Option<String>) {
        let hint = hint.filter(|hint| !hint.is_empty());
        self.0.push(DoctorFinding { subject: subject.to_owned(), status, message, hint });
    }
}

/// Runs all checks.
pub(crate) async fn run(args: DoctorArgs, context: &CliContext) -> CliResult {
    let mut found = DoctorReport::default();
    if args.connect.gateway.is_some() {
        // A remote gateway: only its own status can be checked.
        gateway::check_running(&args.connect, context, &mut found).await;
        return print_report(&found, context);
    }
    let loaded = check_settings(context, &mut found);
    if context.folder.path().is_dir() {
        files::check(context, &mut found);
        storage::check(context, &mut found).await;
        if let Some(loaded) = &loaded {
            tools::check(loaded, context, &mut found);
            mcp::check(loaded, &args.connect, context, &mut found).await;
        }
        models::check(context, &mut found).await;
    } else {
        let hint = "this is normal before the first start; otherwise select the data folder with --data-dir";
        found.add_warning(
            "data folder",
            format!("folder not found: {}", context.folder.path().display()),
            hint,
        );
    }
    if let Some(loaded) = &loaded {
        files::check_certificates(loaded, context, &mut found);
    }
    gateway::check(loaded.as_ref(), &args.connect, context, &mut found).await;
    print_report(&found, context)
}

fn check_settings(context: &CliContext, found: &mut DoctorReport) -> Option<LoadedSettings> {
    match settings::load(&context.setting_sources(Vec::new())) {
        Ok(loaded) => {
            for it in loaded.all_warnings() {
                found.add_warning("settings", it.message(), &it.hint);
            }
            let file = match &loaded.file {
                Some(file) => format!("{} is valid", file.display()),
                None => "no settings file; using defaults".to_owned(),
            };
            found.add_fine("settings", file);
            Some(loaded)
        }
        Err(wrong) => {
            for it in wrong {
                found.add_error("settings", it.message(), it.hint);
            }
            None
        }
    }
}

fn print_report(found: &DoctorReport, context: &CliContext) -> CliResult {
    let wrong = found.0.iter().filter(|it| it.status == FindingSeverity::Error).count();
    let printer = &context.printer;
    if printer.json {
        printer.json_value(&json!({"ok": wrong == 0, "findings": found.0}))?;
        return if wrong == 0 { Ok(()) } else { Err(CliError::already_reported()) };
    }
    for it in &found.0 {
        let (mark, style) = match it.status {
            FindingSeverity::Ok => ("ok   ", Style::Good),
            FindingSeverity::Warning => ("warn ", Style::Warning),
            FindingSeverity::Error => ("error", Style::Error),
        };
        let message = escape::lines(&it.message).replace('\n', "\n       ");
        printer.line(&format!("{}  {}: {message}", printer.paint(style, mark), escape::line(&it.subject)))?;
        if let Some(hint) = &it.hint {
            printer.line(&format!(
                "       {} {}",
                printer.paint(Style::Hint, "hint:"),
                escape::line(hint)
            ))?;
        }
    }
    match wrong {
        0 => Ok(()),
        1 => Err(CliError::new("found 1 problem").with_code("unhealthy")),
        wrong => Err(CliError::new(format!("found {wrong} problems")).with_code("unhealthy")),
    }
}
