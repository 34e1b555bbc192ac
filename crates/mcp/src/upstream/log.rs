//! The log of a server: the last lines of its standard error, and notes about invalid output.

use std::collections::VecDeque;

use parking_lot::Mutex;
use toolway_types::name::is_invisible;

/// Maximum number of lines.
const MAX_LINES: usize = 200;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 10;
/// Number of lines at the end in which the reason of a failure is searched.
const REASON_LINES: usize = 60;
/// Maximum length of a reason, in characters.
const MAX_REASON_CHARS: usize = 200;
/// Words of a line that tells why a program failed, in lower case.
const FAILURE_WORDS: &[&str] = &[
    "error",
    "exception",
    "fatal",
    "panic",
    "cannot",
    "can't",
    "could not",
    "not found",
    "no such",
    "failed",
    "refused",
    "denied",
    "missing",
    "required",
    "unknown option",
    "usage:",
];
/// Starts of lines that belong to a stack trace or follow one, without white space before them.
const TRACE_STARTS: &[&str] = &[
    "at ",
    "file \"",
    "traceback",
    "during handling of",
    "the above exception",
    "stack backtrace",
    "note: run with",
    "node.js v",
    "goroutine ",
    "npm error a complete log",
    "npm err! a complete log",
    "... ",
];

/// The last lines. The oldest are dropped first.
#[derive(Debug, Default)]
pub struct ServerLog {
    lines: Mutex<VecDeque<String>>,
}

impl ServerLog {
    /// Adds a line. Control characters are escaped, so that the line is safe to print.
    pub fn add(&self, line: &[u8]) {
        let is_cut = line.len() > MAX_LINE_BYTES;
        let text = String::from_utf8_lossy(line.get(..MAX_LINE_BYTES).unwrap_or(line));
        let mut shown = String::with_capacity(text.len());
        for c in text.trim_end_matches(['\r', '\n']).chars() {
            match c {
                '\t' => shown.push('\t'),
                c if is_invisible(c) => shown.extend(c.escape_default()),
                c => shown.push(c),
            }
        }
        if is_cut {
            shown.push('…');
        }
        let mut lines = self.lines.lock();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(shown);
    }

    /// All lines, oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }

    /// The line that most likely tells why the program ended: the last one that names a failure, else the last one
    /// that is no part of a stack trace. Shortened to one short line.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let lines = self.lines.lock();
        let told = || lines.iter().rev().take(REASON_LINES).filter(|line| !is_trace_line(line));
        let line = told().find(|line| names_failure(line)).or_else(|| told().next())?.trim();
        match line.char_indices().nth(MAX_REASON_CHARS) {
            Some((end, _)) => Some(format!("{}…", line.get(..end).unwrap_or_default())),
            None => Some(line.to_owned()),
        }
    }
}

/// True for an empty line and for a line of a stack trace: a frame, the code at it, or punctuation.
fn is_trace_line(line: &str) -> bool {
    let text = line.trim();
    let lower = text.to_lowercase();
    let is_code = line.starts_with([' ', '\t']) && !names_failure(line);
    let is_numbered_frame = text
        .split_once(": ")
        .is_some_and(|(number, _)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    !text.contains(char::is_alphanumeric)
        || is_code
        || is_numbered_frame
        || TRACE_STARTS.iter().any(|start| lower.starts_with(start))
}

fn names_failure(line: &str) -> bool {
    let lower = line.to_lowercase();
    FAILURE_WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests;
