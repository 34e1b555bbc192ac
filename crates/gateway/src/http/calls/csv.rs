//! Calls as comma-separated values (RFC 4180) with a header.

use csv::{Terminator, WriterBuilder};
use toolway_api::calls::CallDetail;
use toolway_types::RawJson;

const HEAD: [&str; 27] = [
    "call_id",
    "started",
    "started_ms",
    "name",
    "tool_id",
    "source",
    "principal",
    "role",
    "via",
    "agent",
    "session_id",
    "turn_id",
    "status",
    "error_type",
    "code",
    "message",
    "approved_by",
    "hooks",
    "rule",
    "duration_ms",
    "user_wait_ms",
    "queued_ms",
    "running_ms",
    "attempts",
    "arguments",
    "effective_arguments",
    "outcome",
];

/// Returns the header line.
pub(super) fn head() -> Result<Vec<u8>, csv::Error> {
    write_records(|to| to.write_record(HEAD))
}

/// Returns one line for each call.
pub(super) fn lines(calls: &[CallDetail]) -> Result<Vec<u8>, csv::Error> {
    write_records(|to| calls.iter().try_for_each(|call| to.write_record(cells(call))))
}

fn write_records(
    write: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> Result<(), csv::Error>,
) -> Result<Vec<u8>, csv::Error> {
    let mut to = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    write(&mut to)?;
    to.into_inner().map_err(|error| csv::Error::from(error.into_error()))
}

fn cells(whole: &CallDetail) -> [String; HEAD.len()] {
    let call = &whole.call;
    let maybe = |text: &Option<String>| text.as_deref().map(cell).unwrap_or_default();
    let json = |json: &Option<RawJson>| json.as_ref().map(|json| cell(json.get())).unwrap_or_default();
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let started = jiff::Timestamp::from_millisecond(call.started_ms).map(|it| it.to_string());
    [
        cell(&call.call_id),
        started.unwrap_or_default(),
        call.started_ms.to_string(),
        cell(&call.name),
        maybe(&call.tool_id),
        maybe(&call.source),
        cell(&call.principal),
        maybe(&call.role),
        maybe(&call.via),
        maybe(&call.agent),
        maybe(&call.session_id),
        maybe(&call.turn_id),
        call.status.clone(),
        maybe(&call.error_type),
        maybe(&call.code),
        maybe(&call.message),
        maybe(&call.approved_by),
        cell(&call.hooks.join(" ")),
        maybe(&call.rule),
        number(call.duration_ms),
        number(call.user_wait_ms),
        number(call.queued_ms),
        number(call.running_ms),
        call.attempts.map(|attempts| attempts.to_string()).unwrap_or_default(),
        json(&whole.arguments),
        json(&whole.effective_arguments),
        json(&whole.outcome),
    ]
}

/// Escapes a text that a spreadsheet would read as a formula. Tools and models write such texts.
fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_starts_like_a_formula_stays_one() {
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1", "'+1"),
            ("-1+2", "'-1+2"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("a=1", "a=1"),
            ("'=1", "'=1"),
            ("", ""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn lines_end_and_are_quoted_as_the_standard_says() {
        let row = |text: &str| write_records(|to| to.write_record([text, "b"])).unwrap();
        assert_eq!(row("a"), b"a,b\r\n");
        assert_eq!(row("a,\"b\"\nc"), b"\"a,\"\"b\"\"\nc\",b\r\n");
        assert!(head().unwrap().ends_with(b",outcome\r\n"));
    }
}
