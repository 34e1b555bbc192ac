//! Prints errors on standard error. No other module does.

use std::fmt::Write as _;
use std::io;

use crate::environment::OutputStream;
use crate::error::CliError;
use crate::print::escape;
use crate::print::style::Style;

impl CliError {
    /// Formats the error for people: `error: …`, then each problem, then each hint.
    pub(crate) fn render_text(&self, colour: bool) -> String {
        let mut text = String::new();
        push_line(&mut text, &Style::Error.paint("error:", colour), self.message());
        for problem in self.problems() {
            push_line(&mut text, "  -", &problem.message);
            if let Some(hint) = &problem.hint {
                push_line(&mut text, &format!("    {}", Style::Hint.paint("hint:", colour)), hint);
            }
        }
        for hint in self.hint_list() {
            push_line(&mut text, &Style::Hint.paint("hint:", colour), hint);
        }
        text
    }

    /// Prints the error on standard error, unless it was already reported.
    pub(crate) fn print(&self, stderr: OutputStream, as_json: bool) {
        if self.is_reported() {
            return;
        }
        let text = if as_json { format!("{}\n", self.to_json()) } else { self.render_text(stderr.colour) };
        // Nobody can be told about a closed standard error.
        let _ = io::Write::write_all(&mut io::stderr().lock(), text.as_bytes());
    }
}

/// Adds a line. Indents further lines of the text, so that untrusted text cannot imitate another error.
fn push_line(text: &mut String, start: &str, rest: &str) {
    let _ = writeln!(text, "{start} {}", escape::indented_lines(rest));
}
