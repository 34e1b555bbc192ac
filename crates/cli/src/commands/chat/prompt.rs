//! Reads input with a line editor: history, completion and multi-line input. It reads on a separate thread and always
//! restores the terminal.

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

/// Maximum number of history lines.
const MAX_HISTORY: usize = 1000;
/// Starts and ends multi-line input.
const TRIPLE_QUOTES: &str = "\"\"\"";

/// Result of reading input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptInput {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal was closed.
    End,
}

type LineEditor = Editor<PromptHelper, FileHistory>;

/// Line editor of the chat.
pub(super) struct ChatPrompt {
    /// `None` while the thread uses it.
    editor: Option<LineEditor>,
    history: PathBuf,
    colour: bool,
}

impl ChatPrompt {
    /// Creates a prompt and loads the history. `agents` are names to complete.
    pub(super) fn new(agents: Vec<String>, context: &CliContext) -> CliResult<Self> {
        let failed = |error: ReadlineError| {
            CliError::new(format!("cannot read from this terminal: {error}"))
                .with_code("terminal")
                .with_hint("use `toolway chat PROMPT`, or pipe the prompt")
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
        // A missing or unreadable history is not an error.
        let _ = editor.load_history(&history);
        Ok(Self { editor: Some(editor), history, colour: context.printer.stdout().colour })
    }

    /// Reads one input. If `typed` still reads standard input, its next line is the input.
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
            // The receiver is gone only when the program is about to exit.
            let _ = sender.send((editor, entered));
        });
        let (editor, entered) = tokio::select! {
            entered = entered => entered.map_err(|_| CliError::new("cannot read from this terminal"))?,
            () = wait_for_stop(signals) => {
                drop(before);
                return Err(CliError::new("interrupted").with_code("interrupted"));
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

    /// Adds a line to the history.
    fn add_to_history(&mut self, text: &str) {
        let Some(editor) = &mut self.editor else { return };
        if editor.add_history_entry(text).is_ok_and(|added| added) {
            // The chat works without a history, so errors are ignored.
            let _ = editor.append_history(&self.history);
        }
    }
}

/// True if the input is complete: it does not end with `\`, and triple quotes are closed.
fn is_complete_input(text: &str) -> bool {
    match text.trim_start().strip_prefix(TRIPLE_QUOTES) {
        Some(quoted) => quoted.trim_end().ends_with(TRIPLE_QUOTES),
        None => !text.ends_with('\\'),
    }
}

/// Removes the marks of multi-line input.
fn strip_continuations(text: &str) -> String {
    let quoted = text.trim().strip_prefix(TRIPLE_QUOTES).and_then(|rest| rest.strip_suffix(TRIPLE_QUOTES));
    match quoted {
        Some(quoted) => quoted.trim_matches('\n').to_owned(),
        None => text.replace("\\\n", "\n").trim().to_owned(),
    }
}

/// Completes commands and agents, and detects incomplete input.
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
    /// Returns the start of the completed text and its candidates.
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
    fn incomplete_input_continues() {
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
    fn marks_of_multi_line_input_are_removed() {
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
