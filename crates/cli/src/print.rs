//! Output. Data goes to standard output, notes to standard error; this is the one place that writes either
//! (errors apart, which [`crate::report`] tells).

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

/// Where a command prints, and in which form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    /// Whether a program reads it: JSON on standard output, nothing else.
    pub(crate) json: bool,
    stdout: OutputStream,
    stderr: OutputStream,
}

impl Printer {
    /// On these streams.
    pub(crate) fn new(json: bool, stdout: OutputStream, stderr: OutputStream) -> Self {
        Self { json, stdout, stderr }
    }

    /// Standard output.
    pub(crate) fn stdout(&self) -> OutputStream {
        self.stdout
    }

    /// Standard error.
    pub(crate) fn stderr(&self) -> OutputStream {
        self.stderr
    }

    /// A line of data. It is written as it is: escape what came from elsewhere.
    pub(crate) fn line(&self, text: &str) -> CliResult {
        self.text(&format!("{text}\n"))
    }

    /// Data as it is.
    pub(crate) fn text(&self, text: &str) -> CliResult {
        write_stdout(text.as_bytes())
    }

    /// Data as it is, whatever it is.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> CliResult {
        write_stdout(bytes)
    }

    /// Data of a tool as it is for programs, escaped for a terminal; ends with a line feed.
    pub(crate) fn untrusted_text(&self, text: &str) -> CliResult {
        let mut shown = if self.stdout.is_terminal { escape::lines(text) } else { text.to_owned() };
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
        self.text(&shown)
    }

    /// JSON text as it came, in one piece.
    pub(crate) fn raw_json(&self, text: &str) -> CliResult {
        if self.stdout.is_terminal { self.line(&escape::json(text)) } else { self.line(text) }
    }

    /// A value as JSON, in one line.
    pub(crate) fn json_value(&self, value: &(impl Serialize + ?Sized)) -> CliResult {
        match serde_json::to_string(value) {
            Ok(text) => self.raw_json(&text),
            Err(error) => Err(CliError::new(format!("cannot write the output as JSON: {error}"))),
        }
    }

    /// A table, or in words that it is empty.
    pub(crate) fn table(&self, table: &TextTable, empty: &str) -> CliResult {
        if table.is_empty() {
            self.note(empty);
            return Ok(());
        }
        self.text(&table.render(self.stdout.width, self.stdout.colour))
    }

    /// Labels and values.
    pub(crate) fn pairs(&self, pairs: &LabeledValues) -> CliResult {
        self.text(&pairs.render(self.stdout.colour))
    }

    /// Text in a style, where standard output has colour.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        style.paint(text, self.stdout.colour)
    }

    /// A remark for the person, on standard error; nothing for programs.
    pub(crate) fn note(&self, text: &str) {
        if !self.json {
            self.status(text);
        }
    }

    /// A line on standard error, whoever reads.
    pub(crate) fn status(&self, text: &str) {
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(io::stderr().lock(), "{}", escape::lines(text));
    }

    /// A line of a conversation with the person, on standard error. It is written as it is: escape what came from
    /// elsewhere.
    pub(crate) fn interactive_line(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// A warning for the person, on standard error, with what to do about it.
    pub(crate) fn warning(&self, text: &str, hint: &str) {
        let colour = self.stderr.colour;
        let warning = Style::Warning.paint("warning:", colour);
        let mut lines = format!("{warning} {}\n", escape::lines(text));
        if !hint.is_empty() {
            lines.push_str(&format!("{} {}\n", Style::Hint.paint("hint:", colour), escape::lines(hint)));
        }
        let _ = io::stderr().lock().write_all(lines.as_bytes());
    }
}

fn write_stdout(bytes: &[u8]) -> CliResult {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| CliError::output(&error))
}
