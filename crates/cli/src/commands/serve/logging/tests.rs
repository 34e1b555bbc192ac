use std::io;
use std::sync::mpsc;

use toolway_types::name::is_invisible;

use super::*;

/// Text from outside with everything that could forge a line or command a terminal.
const HOSTILE: &str = "sorry\r\n2026-01-01T00:00:00Z  INFO owner signed in\u{1b}[2J\u{7}\u{9b}1A\u{2028}a\u{2029}b\u{85}\u{202e}c\u{200b}";

/// A writer that passes each piece on.
#[derive(Debug, Clone)]
struct PieceSender(mpsc::Sender<Vec<u8>>);

impl io::Write for PieceSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error with a source, both from outside.
#[derive(Debug, thiserror::Error)]
#[error("outer {HOSTILE}")]
struct OuterError(#[source] InnerError);

#[derive(Debug, thiserror::Error)]
#[error("inner {HOSTILE}")]
struct InnerError;

/// Logs one line with these settings.
fn logged(format: LogFormat, colour: bool, log: impl FnOnce()) -> String {
    let (sender, pieces) = mpsc::channel();
    let writer = PieceSender(sender);
    let dispatch = log_dispatch(EnvFilter::new("debug"), format, colour, move || writer.clone());
    tracing::dispatcher::with_default(&dispatch, log);
    String::from_utf8(pieces.try_iter().flatten().collect()).unwrap()
}

fn log_hostile_fields() {
    let span = tracing::info_span!("call", tool = HOSTILE, server = %HOSTILE);
    let _entered = span.enter();
    let error = OuterError(InnerError);
    let as_error: &(dyn std::error::Error + 'static) = &error;
    tracing::warn!(text = HOSTILE, shown = %HOSTILE, debug = ?HOSTILE, error = as_error, "message {HOSTILE}");
}

#[test]
fn no_field_of_a_text_line_can_forge_a_line_or_command_a_terminal() {
    let line = logged(LogFormat::Text, false, log_hostile_fields);
    let line = line.strip_suffix('\n').unwrap();
    assert!(!line.chars().any(is_invisible), "{line:?}");
    // Five fields (the error with its source), the message, and two fields of the span.
    assert_eq!(line.matches("\\r\\n2026-01-01").count(), 8, "{line}");
    for escaped in
        ["\\u{1b}[2J", "\\u{7}", "\\u{9b}1A", "\\u{2028}a", "\\u{2029}b", "\\u{202e}c", "\\u{200b}"]
    {
        assert_eq!(line.matches(escaped).count(), 8, "{escaped}: {line}");
    }
    assert!(line.contains("error=outer sorry") && line.contains(": inner sorry"), "{line}");
}

#[test]
fn a_coloured_text_line_has_only_the_colours_of_the_log_itself() {
    let line = logged(LogFormat::Text, true, log_hostile_fields);
    assert_eq!(line.matches('\n').count(), 1, "{line:?}");
    let foreign: Vec<_> =
        line.split('\u{1b}').skip(1).filter(|it| !it.starts_with('[') || it.starts_with("[2J")).collect();
    assert_eq!(foreign, Vec::<&str>::new());
    assert!(line.contains("\u{1b}[3mtext\u{1b}[0m\u{1b}[2m=\u{1b}[0m\"sorry"), "{line:?}");
}

#[test]
fn a_json_line_is_escaped_and_keeps_its_values() {
    let line = logged(LogFormat::Json, false, log_hostile_fields);
    let text = line.strip_suffix('\n').unwrap();
    assert!(!text.chars().any(is_invisible), "{text:?}");
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(value["message"], format!("message {HOSTILE}"));
    assert_eq!(value["text"], HOSTILE);
    assert_eq!(value["shown"], HOSTILE);
    assert_eq!(value["span"]["tool"], HOSTILE);
}

#[test]
fn an_ordinary_text_line_keeps_its_form() {
    let line = logged(LogFormat::Text, false, || {
        tracing::info!(device = "pixel-8", calls = 3, took = ?std::time::Duration::from_millis(5), "attached über \"x\"");
    });
    assert!(line.ends_with("  INFO attached über \"x\" device=\"pixel-8\" calls=3 took=5ms\n"), "{line:?}");
}
