//! Prints results on standard output and progress on standard error.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use serde::Serialize;

use crate::error::{ErrorContext, Result};

/// A result: text for people, and its reliability.
pub(crate) trait BenchReport: Serialize {
    /// Formats the result for people.
    fn text(&self) -> String;
    /// Returns true if calls were made and none failed.
    fn is_valid(&self) -> bool;
}

/// Prints a result in the requested format.
pub(crate) fn print(report: &impl BenchReport, json: bool) -> Result<()> {
    let text = if json {
        serde_json::to_string_pretty(report).context("writing the result")?
    } else {
        report.text()
    };
    print_line(text.trim_end())
}

/// Prints a line on standard output.
pub(crate) fn print_line(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("writing to standard output")
}

/// Prints progress on standard error.
pub(crate) fn log_progress(line: &str) {
    // If standard error is closed, the measurement continues.
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

/// Formats a number of bytes for people.
pub(crate) fn format_bytes(bytes: f64) -> String {
    match bytes {
        big if big >= 10e6 => format!("{:.1} MB", big / 1e6),
        big if big >= 1e6 => format!("{:.2} MB", big / 1e6),
        small => format!("{:.1} KB", small / 1e3),
    }
}

/// Appends a line for each kind of error.
pub(crate) fn append_errors(text: &mut String, whose: &str, kinds: &BTreeMap<String, u64>) {
    for (kind, count) in kinds {
        let _ = writeln!(text, "{whose} error, {count} ×: {kind}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_few_digits() {
        assert_eq!(format_bytes(18_432.0), "18.4 KB");
        assert_eq!(format_bytes(2_345_678.0), "2.35 MB");
        assert_eq!(format_bytes(123_456_789.0), "123.5 MB");
    }
}
