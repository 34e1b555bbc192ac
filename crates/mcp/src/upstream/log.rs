//! The log of a server: the last lines of its standard error, and notes about invalid output.

use std::collections::VecDeque;

use parking_lot::Mutex;
use toolway_types::name::is_invisible;

/// Maximum number of lines.
const MAX_LINES: usize = 200;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 10;

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

    /// The last line that is not empty.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.lines.lock().iter().rev().find(|line| !line.trim().is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests;
