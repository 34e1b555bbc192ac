//! The last lines that a server's program wrote to its standard error, and what was odd about its output.

use std::collections::VecDeque;

use parking_lot::Mutex;
use toolway_types::name::is_invisible;

/// How many lines are kept.
const MAX_LINES: usize = 200;
/// How many bytes of each.
const MAX_LINE_BYTES: usize = 1 << 10;

/// A few lines; the oldest go first.
#[derive(Debug, Default)]
pub struct ServerLog {
    lines: Mutex<VecDeque<String>>,
}

impl ServerLog {
    /// Adds a line. What can't be seen is escaped, so that it can be shown anywhere.
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

    /// All of them, the oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().iter().cloned().collect()
    }

    /// The last one that says something.
    #[must_use]
    pub fn last(&self) -> Option<String> {
        self.lines.lock().iter().rev().find(|line| !line.trim().is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests;
