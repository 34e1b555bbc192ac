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
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::report::{Done, Failure};
use crate::settings::{self, Loaded};

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// As it should be.
    Fine,
    /// To be known, but nothing is broken.
    Warning,
    /// Wrong.
    Wrong,
}

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    about: String,
    /// How it is.
    state: State,
    /// In words.
    message: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// All findings so far.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// It is as it should be.
    fn fine(&mut self, about: &str, message: impl Into<String>) {
        self.add(about, State::Fine, message.into(), None);
    }

    /// It should be known.
    fn warning(&mut self, about: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(about, State::Warning, message.into(), Some(hint.into()));
    }

    /// It is wrong.
    fn wrong(&mut self, about: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.add(about, State::Wrong, message.into(), Some(hint.into()));
    }

    /// Something failed, which says itself how to mend it.
    fn failure(&mut self, about: &str, failure: &Failure) {
        self.add(about, State::Wrong, failure.message().to_owned(), failure.hints());
    }

    fn add(&mut self, about: &str, state: State, message: String, hint: Option<String>) {
        let hint = hint.filter(|hint| !hint.is_empty());
        self.0.push(Finding { about: about.to_owned(), state, message, hint });
    }
}

/// Looks at everything.
pub(crate) async fn run(args: DoctorArgs, context: &Context) -> Done {
    let mut found = Findings::default();
    if args.connect.gateway.is_some() {
        // Elsewhere: only what it says of itself can be looked at.
        gateway::ask(&args.connect, context, &mut found).await;
        return report(&found, context);
    }
    let loaded = settings(context, &mut found);
    if context.folder.path().is_dir() {
        files::look(context, &mut found);
        storage::look(context, &mut found).await;
        if let Some(loaded) = &loaded {
            tools::look(loaded, context, &mut found);
            mcp::look(loaded, &args.connect, context, &mut found).await;
        }
        models::look(context, &mut found).await;
    } else {
        let hint = "nothing to mend where no gateway has run yet; else name the right one with --data-dir";
        found.warning("data folder", format!("there is no folder {}", context.folder.path().display()), hint);
    }
    if let Some(loaded) = &loaded {
        files::certificates(loaded, context, &mut found);
    }
    gateway::look(loaded.as_ref(), &args.connect, context, &mut found).await;
    report(&found, context)
}

fn settings(context: &Context, found: &mut Findings) -> Option<Loaded> {
    match settings::load(&context.setting_sources(Vec::new())) {
        Ok(loaded) => {
            for it in loaded.warnings.iter().chain(&loaded.ignored) {
                found.warning("settings", it.message(), &it.hint);
            }
            let file = match &loaded.file {
                Some(file) => format!("{} is right", file.display()),
                None => "the defaults count; there is no file".to_owned(),
            };
            found.fine("settings", file);
            Some(loaded)
        }
        Err(wrong) => {
            for it in wrong {
                found.wrong("settings", it.message(), it.hint);
            }
            None
        }
    }
}

fn report(found: &Findings, context: &Context) -> Done {
    let wrong = found.0.iter().filter(|it| it.state == State::Wrong).count();
    let printer = &context.printer;
    if printer.json {
        printer.json_value(&json!({"ok": wrong == 0, "findings": found.0}))?;
        return if wrong == 0 { Ok(()) } else { Err(Failure::told()) };
    }
    for it in &found.0 {
        let (mark, style) = match it.state {
            State::Fine => ("fine ", Style::Good),
            State::Warning => ("look ", Style::Warning),
            State::Wrong => ("wrong", Style::Error),
        };
        let message = escape::lines(&it.message).replace('\n', "\n       ");
        printer.line(&format!("{}  {}: {message}", printer.paint(style, mark), it.about))?;
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
        1 => Err(Failure::new("one thing is wrong").code("unhealthy")),
        wrong => Err(Failure::new(format!("{wrong} things are wrong")).code("unhealthy")),
    }
}
