//! Log formats that escape text from outside: errors of MCP servers, output of programs, names of devices.
//!
//! The formats of `tracing-subscriber` escape some terminal sequences in the message, but no line ends, no
//! characters that change the order of text, and nothing in other fields.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

use crate::print::escape;

/// Fields of a text line, each escaped: `message name=value`.
#[derive(Debug)]
pub(super) struct EscapedFields;

impl<'w> FormatFields<'w> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = EscapingVisitor { writer, is_first: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

/// Writes fields of one event or span.
struct EscapingVisitor<'w> {
    writer: Writer<'w>,
    is_first: bool,
    /// First error of the writer.
    result: fmt::Result,
}

impl EscapingVisitor<'_> {
    fn write(&mut self, name: &str, value: &str) -> fmt::Result {
        if !std::mem::take(&mut self.is_first) {
            self.writer.write_char(' ')?;
        }
        let name = name.strip_prefix("r#").unwrap_or(name);
        match name {
            "message" => {}
            // Italic and faint, as in the library's own format.
            name if self.writer.has_ansi_escapes() => {
                write!(self.writer, "\u{1b}[3m{name}\u{1b}[0m\u{1b}[2m=\u{1b}[0m")?;
            }
            name => write!(self.writer, "{name}=")?,
        }
        self.writer.write_str(&escape::line(value))
    }
}

impl Visit for EscapingVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.result.is_ok() {
            self.result = self.write(field.name(), &format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            text.push_str(&format!(": {error}"));
            source = error.source();
        }
        self.record_debug(field, &format_args!("{text}"));
    }
}

/// Escapes the lines of a JSON format. Invisible characters become JSON escapes, so the values stay the same.
#[derive(Debug)]
pub(super) struct EscapedJson<F>(pub(super) F);

impl<S, N, F> FormatEvent<S, N> for EscapedJson<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&escape::json(&line))
    }
}
