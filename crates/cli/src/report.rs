//! Prints errors on standard error. Nothing else prints an error.

use std::fmt::Write as _;
use std::io;

use crate::environment::OutputStream;
use crate::error::CliError;
use crate::print::escape;
use crate::print::style::Style;

impl CliError {
    /// For a person: `error: …`, then each problem, then each hint.
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

    /// Says it on standard error, unless it has been said.
    pub(crate) fn print(&self, stderr: OutputStream, as_json: bool) {
        if self.is_reported() {
            return;
        }
        let text = if as_json { format!("{}\n", self.to_json()) } else { self.render_text(stderr.colour) };
        // Where standard error is closed there is nobody left to tell.
        let _ = io::Write::write_all(&mut io::stderr().lock(), text.as_bytes());
    }
}

/// Adds a line; what came from elsewhere can't pretend to be more than it is.
fn push_line(text: &mut String, start: &str, rest: &str) {
    let _ = writeln!(text, "{start} {}", escape::lines(rest).replace('\n', "\n  "));
}
