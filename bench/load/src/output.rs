//! Prints results on standard output and progress on standard error.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use serde::Serialize;

use crate::error::{ErrorContext, Result};

/// A result: what a person reads, and whether it can be believed.
pub(crate) trait BenchReport: Serialize {
    /// For people.
    fn text(&self) -> String;
    /// Whether calls were made and none failed.
    fn is_valid(&self) -> bool;
}

/// Prints a result in the form that was asked for.
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

/// Says on standard error what is going on.
pub(crate) fn log_progress(line: &str) {
    // Where nobody can be told, the measuring goes on.
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

/// Bytes as people read them.
pub(crate) fn format_bytes(bytes: f64) -> String {
    match bytes {
        big if big >= 10e6 => format!("{:.1} MB", big / 1e6),
        big if big >= 1e6 => format!("{:.2} MB", big / 1e6),
        small => format!("{:.1} KB", small / 1e3),
    }
}

/// Adds a line for each kind of error.
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
