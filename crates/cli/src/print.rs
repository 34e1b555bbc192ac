//! Output: data on standard output, notes on standard error. Only this module writes to them, except for errors
//! ([`crate::report`]).

pub(crate) mod amount;
pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod live;
pub(crate) mod markdown;
pub(crate) mod qr;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;

use std::io::{self, Write};

use serde::Serialize;

use crate::environment::OutputStream;
use crate::error::{CliError, CliResult};
use style::Style;
use table::{LabeledValues, TextTable};

/// Output of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    /// True for JSON output: only JSON on standard output, and no notes.
    pub(crate) json: bool,
    stdout: OutputStream,
    stderr: OutputStream,
}

impl Printer {
    /// Creates a printer for these streams.
    pub(crate) fn new(json: bool, stdout: OutputStream, stderr: OutputStream) -> Self {
        Self { json, stdout, stderr }
    }

    /// Returns the properties of standard output.
    pub(crate) fn stdout(&self) -> OutputStream {
        self.stdout
    }

    /// Returns the properties of standard error.
    pub(crate) fn stderr(&self) -> OutputStream {
        self.stderr
    }

    /// Prints a line of data. Does not escape: escape untrusted text before.
    pub(crate) fn line(&self, text: &str) -> CliResult {
        self.text(&format!("{text}\n"))
    }

    /// Prints text. Does not escape.
    pub(crate) fn text(&self, text: &str) -> CliResult {
        write_stdout(text.as_bytes())
    }

    /// Prints bytes. Does not escape.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> CliResult {
        write_stdout(bytes)
    }

    /// Prints untrusted text, escaped on a terminal, with a final line feed.
    pub(crate) fn untrusted_text(&self, text: &str) -> CliResult {
        let mut shown = if self.stdout.is_terminal { escape::lines(text) } else { text.to_owned() };
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
        self.text(&shown)
    }

    /// Prints JSON text unchanged.
    pub(crate) fn raw_json(&self, text: &str) -> CliResult {
        if self.stdout.is_terminal { self.line(&escape::json(text)) } else { self.line(text) }
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json_value(&self, value: &(impl Serialize + ?Sized)) -> CliResult {
        match serde_json::to_string(value) {
            Ok(text) => self.raw_json(&text),
            Err(error) => Err(CliError::new(format!("cannot write the output as JSON: {error}"))),
        }
    }

    /// Prints a table, or a note if it is empty.
    pub(crate) fn table(&self, table: &TextTable, empty: &str) -> CliResult {
        if table.is_empty() {
            self.note(empty);
            return Ok(());
        }
        self.text(&table.render(self.stdout.width, self.stdout.colour))
    }

    /// Prints labels and values.
    pub(crate) fn pairs(&self, pairs: &LabeledValues) -> CliResult {
        self.text(&pairs.render(self.stdout.colour))
    }

    /// Applies a style, if standard output has colours.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        style.paint(text, self.stdout.colour)
    }

    /// Prints a note on standard error; nothing for JSON output.
    pub(crate) fn note(&self, text: &str) {
        if !self.json {
            self.status(text);
        }
    }

    /// Prints a line on standard error, also for JSON output.
    pub(crate) fn status(&self, text: &str) {
        // Nobody can be told about a closed standard error.
        let _ = writeln!(io::stderr().lock(), "{}", escape::indented_lines(text));
    }

    /// Prints a line of a dialog on standard error. Does not escape: escape untrusted text before.
    pub(crate) fn interactive_line(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Prints a warning with a hint on standard error.
    pub(crate) fn warning(&self, text: &str, hint: &str) {
        let colour = self.stderr.colour;
        let warning = Style::Warning.paint("warning:", colour);
        let mut lines = format!("{warning} {}\n", escape::indented_lines(text));
        if !hint.is_empty() {
            lines.push_str(&format!(
                "{} {}\n",
                Style::Hint.paint("hint:", colour),
                escape::indented_lines(hint)
            ));
        }
        let _ = io::stderr().lock().write_all(lines.as_bytes());
    }
}

fn write_stdout(bytes: &[u8]) -> CliResult {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| CliError::output(&error))
}
