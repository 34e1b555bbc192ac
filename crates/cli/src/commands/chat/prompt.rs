//! What a person types: lines that can be edited, of several lines where they want, with those of before. Reading is on
//! a thread of its own; the terminal is as it was once it ends, however that is.

use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};
use tokio::sync::oneshot;

use super::command::COMMANDS;
use super::turn::wait_for_stop;
use crate::approval_prompt::StdinLines;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::style::Style;
use crate::signals::SignalListener;
use crate::terminal::{TerminalMode, TerminalModeGuard};

/// How many lines of before are kept.
const MAX_HISTORY: usize = 1000;
/// Begins and ends what has several lines.
const TRIPLE_QUOTES: &str = "\"\"\"";

/// What came of asking.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptInput {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

type LineEditor = Editor<PromptHelper, FileHistory>;

/// Asks for what is said next.
pub(super) struct ChatPrompt {
    /// Not there while it is in use.
    editor: Option<LineEditor>,
    history: PathBuf,
    colour: bool,
}

impl ChatPrompt {
    /// With the lines of before. `agents` are names to complete.
    pub(super) fn new(agents: Vec<String>, context: &CliContext) -> CliResult<Self> {
        let failed = |error: ReadlineError| {
            CliError::new(format!("cannot read from this terminal: {error}"))
                .with_code("terminal")
                .with_hint("`toolway chat PROMPT` needs no typing, and so does a prompt from a pipe")
        };
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(failed)?
            .history_ignore_space(true)
            .build();
        let mut editor = LineEditor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(PromptHelper { agents }));
        context.folder.create()?;
        let history = context.folder.chat_history();
        // Where there is none, or it can't be read, it begins anew.
        let _ = editor.load_history(&history);
        Ok(Self { editor: Some(editor), history, colour: context.printer.stdout().colour })
    }

    /// Asks. `typed` is somebody who still reads the keyboard, and then gives the line.
    pub(super) async fn read_input(
        &mut self,
        agent: &str,
        typed: Option<StdinLines>,
        signals: &mut SignalListener,
    ) -> CliResult<PromptInput> {
        if let Some(mut typed) = typed {
            return tokio::select! {
                line = typed.next_line() => Ok(line.map_or(PromptInput::End, PromptInput::Text)),
                () = wait_for_stop(signals) => Ok(PromptInput::Interrupted),
            };
        }
        let Some(mut editor) = self.editor.take() else { return Ok(PromptInput::End) };
        let raw = format!("{}> ", escape::line(agent));
        let prompt = (raw.clone(), Style::Hint.paint(&raw, self.colour));
        let before = TerminalModeGuard::new(TerminalMode::Unchanged);
        let (sender, entered) = oneshot::channel();
        std::thread::spawn(move || {
            let entered = editor.readline(&prompt);
            // Where nobody waits any more the program is about to end.
            let _ = sender.send((editor, entered));
        });
        let (editor, entered) = tokio::select! {
            entered = entered => entered.map_err(|_| CliError::new("reading from this terminal broke off"))?,
            () = wait_for_stop(signals) => {
                drop(before);
                return Err(CliError::new("told to stop").with_code("interrupted"));
            }
        };
        self.editor = Some(editor);
        match entered {
            Ok(text) => {
                self.add_to_history(&text);
                Ok(PromptInput::Text(strip_continuations(&text)))
            }
            Err(ReadlineError::Interrupted) => Ok(PromptInput::Interrupted),
            Err(ReadlineError::Eof) => Ok(PromptInput::End),
            Err(error) => {
                Err(CliError::new(format!("cannot read from this terminal: {error}")).with_code("terminal"))
            }
        }
    }

    /// Keeps what was typed for the next time.
    fn add_to_history(&mut self, text: &str) {
        let Some(editor) = &mut self.editor else { return };
        if editor.add_history_entry(text).is_ok_and(|added| added) {
            // It is a help; where it can't be kept, the conversation goes on without.
            let _ = editor.append_history(&self.history);
        }
    }
}

/// Whether what was typed is whole. A line that ends in `\` goes on, and so does what begins with three quotes until
/// it ends with them.
fn is_complete_input(text: &str) -> bool {
    match text.trim_start().strip_prefix(TRIPLE_QUOTES) {
        Some(quoted) => quoted.trim_end().ends_with(TRIPLE_QUOTES),
        None => !text.ends_with('\\'),
    }
}

/// What was meant by what was typed.
fn strip_continuations(text: &str) -> String {
    let quoted = text.trim().strip_prefix(TRIPLE_QUOTES).and_then(|rest| rest.strip_suffix(TRIPLE_QUOTES));
    match quoted {
        Some(quoted) => quoted.trim_matches('\n').to_owned(),
        None => text.replace("\\\n", "\n").trim().to_owned(),
    }
}

/// Completes commands and agents; says whether what was typed is whole.
struct PromptHelper {
    agents: Vec<String>,
}

impl Helper for PromptHelper {}

impl Highlighter for PromptHelper {}

impl Hinter for PromptHelper {
    type Hint = String;
}

impl Validator for PromptHelper {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if is_complete_input(typed.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Completer for PromptHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..pos).unwrap_or_default()))
    }
}

impl PromptHelper {
    /// Where what is completed begins, and with what it can go on.
    fn candidates(&self, typed: &str) -> (usize, Vec<String>) {
        let agent = typed.strip_prefix("/agent ");
        let of = |all: &mut dyn Iterator<Item = String>, start: &str| {
            all.filter(|one| one.starts_with(start)).collect::<Vec<_>>()
        };
        match agent {
            Some(start) => (typed.len() - start.len(), of(&mut self.agents.iter().cloned(), start)),
            None if typed.starts_with('/') && !typed.contains(char::is_whitespace) => {
                (0, of(&mut COMMANDS.iter().map(|command| format!("/{}", command.name)), typed))
            }
            None => (typed.len(), Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_goes_on() {
        for (text, whole) in [
            ("hello", true),
            ("", true),
            ("first \\", false),
            ("first \\\nsecond", true),
            ("\"\"\"", false),
            ("\"\"\"a\n\nb", false),
            ("\"\"\"a\n\nb\n\"\"\"", true),
            ("\"\"\"a\"\"\" ", true),
        ] {
            assert_eq!(is_complete_input(text), whole, "{text:?}");
        }
    }

    #[test]
    fn what_was_meant_has_no_marks() {
        for (text, meant) in [
            (" hello ", "hello"),
            ("first \\\nsecond", "first \nsecond"),
            ("\"\"\"\na\n\nb\n\"\"\"", "a\n\nb"),
            ("say \"\"\"x\"\"\"", "say \"\"\"x\"\"\""),
            ("\"\"\"", "\"\"\""),
        ] {
            assert_eq!(strip_continuations(text), meant, "{text:?}");
        }
    }

    #[test]
    fn commands_and_agents_are_completed() {
        let help = PromptHelper { agents: vec!["default".to_owned(), "cook".to_owned()] };
        assert_eq!(help.candidates("/se"), (0, vec!["/sessions".to_owned()]));
        assert_eq!(help.candidates("/agent c"), (7, vec!["cook".to_owned()]));
        assert_eq!(help.candidates("/agent ").1.len(), 2);
        assert_eq!(help.candidates("hello /se"), (9, Vec::new()));
    }
}
