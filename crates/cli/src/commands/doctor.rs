//! `toolway doctor`: looks at everything that can be wrong and says how to mend it.

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

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingSeverity {
    /// As it should be.
    Fine,
    /// To be known, but nothing is broken.
    Warning,
    /// Wrong.
    Wrong,
}

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorFinding {
    /// What was looked at.
    subject: String,
    /// How it is.
    state: FindingSeverity,
    /// In words.
    message: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// All findings so far.
#[derive(Debug, Default)]
pub(crate) struct DoctorReport(Vec<DoctorFinding>);

impl DoctorReport {
    /// It is as it should be.
    fn add_fine(&mut self, subject: &str, message: impl Into<String>) {
        self.add(subject, FindingSeverity::Fine, message.into(), None);
    }

    /// It should be known.
    fn add_warning(&mut self, subject: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(subject, FindingSeverity::Warning, message.into(), Some(hint.into()));
    }

    /// It is wrong.
    fn add_error(&mut self, subject: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(subject, FindingSeverity::Wrong, message.into(), Some(hint.into()));
    }

    /// Something failed, which says itself how to mend it.
    fn add_failure(&mut self, subject: &str, failure: &CliError) {
        self.add(subject, FindingSeverity::Wrong, failure.message().to_owned(), failure.hints());
    }

    fn add(&mut self, subject: &str, state: FindingSeverity, message: String, hint: Option<String>) {
        let hint = hint.filter(|hint| !hint.is_empty());
        self.0.push(DoctorFinding { subject: subject.to_owned(), state, message, hint });
    }
}

/// Looks at everything.
pub(crate) async fn run(args: DoctorArgs, context: &CliContext) -> CliResult {
    let mut found = DoctorReport::default();
    if args.connect.gateway.is_some() {
        // Elsewhere: only what it says of itself can be looked at.
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
        let hint = "nothing to mend where no gateway has run yet; else name the right one with --data-dir";
        found.add_warning(
            "data folder",
            format!("there is no folder {}", context.folder.path().display()),
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
            for it in loaded.warnings.iter().chain(&loaded.ignored) {
                found.add_warning("settings", it.message(), &it.hint);
            }
            let file = match &loaded.file {
                Some(file) => format!("{} is right", file.display()),
                None => "the defaults count; there is no file".to_owned(),
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
    let wrong = found.0.iter().filter(|it| it.state == FindingSeverity::Wrong).count();
    let printer = &context.printer;
    if printer.json {
        printer.json_value(&json!({"ok": wrong == 0, "findings": found.0}))?;
        return if wrong == 0 { Ok(()) } else { Err(CliError::already_reported()) };
    }
    for it in &found.0 {
        let (mark, style) = match it.state {
            FindingSeverity::Fine => ("fine ", Style::Good),
            FindingSeverity::Warning => ("look ", Style::Warning),
            FindingSeverity::Wrong => ("wrong", Style::Error),
        };
        let message = escape::lines(&it.message).replace('\n', "\n       ");
        printer.line(&format!("{}  {}: {message}", printer.paint(style, mark), it.subject))?;
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
        1 => Err(CliError::new("one thing is wrong").with_code("unhealthy")),
        wrong => Err(CliError::new(format!("{wrong} things are wrong")).with_code("unhealthy")),
    }
}
