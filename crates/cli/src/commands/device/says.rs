//! What the connection is doing, in words on standard error; for programs as events on standard output.

use serde_json::{Value, json};
use toolway_device::Status;
use toolway_device::Stopped;

use crate::print::{Printer, escape, time};
use crate::report::Done;

/// Says each change once.
#[derive(Debug)]
pub(super) struct Says {
    printer: Printer,
    gateway: String,
    last: String,
    was_connected: bool,
}

impl Says {
    /// About the connection to this gateway.
    pub(super) fn new(printer: &Printer, gateway: String) -> Self {
        Self { printer: *printer, gateway, last: String::new(), was_connected: false }
    }

    /// Something has changed.
    pub(super) fn status(&mut self, status: &Status) -> Done {
        if self.printer.json {
            return match event(status) {
                Some(event) => self.printer.json_value(&event),
                None => Ok(()),
            };
        }
        self.was_connected |= matches!(status, Status::Connected(_));
        for line in self.in_words(status) {
            if line != self.last {
                self.printer.status(&line);
                self.last = line;
            }
        }
        Ok(())
    }

    fn in_words(&self, status: &Status) -> Vec<String> {
        match status {
            Status::Connecting if self.last.is_empty() => vec![format!("connecting to {}", self.gateway)],
            Status::Connected(connection) => {
                // Said once it is known which tools the gateway took.
                let Some(tools) = &connection.tools else { return Vec::new() };
                let known =
                    connection.source.as_deref().map(|source| format!(" as {}", escape::line(source)));
                let mut lines = vec![format!(
                    "connected to {}{}, offering {}",
                    self.gateway,
                    known.unwrap_or_default(),
                    counted(tools.live)
                )];
                lines.extend(tools.rejected.iter().map(|it| {
                    format!(
                        "the gateway refused the tool {}: {}",
                        escape::line(&it.name),
                        escape::line(&it.reason)
                    )
                }));
                lines
            }
            Status::Reconnecting { why, delay } => {
                #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
                let delay = time::duration(delay.as_millis() as f64);
                let what = if self.was_connected { "connection lost" } else { "no connection" };
                vec![format!("{what} ({}), trying again in {delay}", escape::line(why))]
            }
            // How it ends is said by the command itself.
            Status::Connecting | Status::Stopped(_) => Vec::new(),
        }
    }
}

fn counted(tools: usize) -> String {
    match tools {
        0 => "no tools".to_owned(),
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    }
}

fn event(status: &Status) -> Option<Value> {
    match status {
        Status::Connecting | Status::Stopped(_) => None,
        Status::Connected(connection) => {
            let tools = connection.tools.as_ref()?;
            let rejected: Vec<Value> =
                tools.rejected.iter().map(|it| json!({"name": it.name, "reason": it.reason})).collect();
            Some(json!({
                "event": "connected",
                "source": connection.source,
                "tools": tools.live,
                "rejected": rejected,
            }))
        }
        Status::Reconnecting { why, delay } => {
            Some(json!({"event": "reconnecting", "why": why, "delay_ms": delay.as_millis()}))
        }
    }
}

/// The word by which programs tell one end from another.
pub(super) fn code(stopped: &Stopped) -> &'static str {
    match stopped {
        Stopped::TokenRevoked => "token_revoked",
        Stopped::TokenExpired => "token_expired",
        Stopped::TokenUnknown(_) => "token_unknown",
        Stopped::NotAllowed { .. } => "not_allowed",
        Stopped::KeyChanged { .. } => "key_changed",
        Stopped::TakenOver => "taken_over",
        Stopped::Version(_) => "version",
        _ => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolway_device::status::{Connection, Registered};

    use super::*;
    use crate::environment::Stream;

    fn says() -> Says {
        Says::new(&Printer::new(false, Stream::default(), Stream::default()), "https://gw:7717".to_owned())
    }

    #[test]
    fn each_state_has_its_words() {
        let mut says = says();
        assert_eq!(says.in_words(&Status::Connecting), ["connecting to https://gw:7717"]);
        "something".clone_into(&mut says.last);
        assert_eq!(says.in_words(&Status::Connecting), [""; 0], "not before each try");
        let mut connection = Connection { source: Some("laptop".to_owned()), version: 2, tools: None };
        assert_eq!(says.in_words(&Status::Connected(connection.clone())), [""; 0]);
        connection.tools = Some(Registered { live: 5, rejected: [].into() });
        assert_eq!(
            says.in_words(&Status::Connected(connection)),
            ["connected to https://gw:7717 as laptop, offering 5 tools"]
        );
        let lost = Status::Reconnecting { why: "gone\u{1b}[2J".to_owned(), delay: Duration::from_secs(3) };
        assert!(says.in_words(&lost)[0].starts_with("no connection (gone"), "there was none yet");
        says.was_connected = true;
        assert_eq!(says.in_words(&lost), ["connection lost (gone\\u{1b}[2J), trying again in 3.0 s"]);
    }

    #[test]
    fn programs_get_events() {
        let lost = Status::Reconnecting { why: "gone".to_owned(), delay: Duration::from_secs(3) };
        assert_eq!(event(&lost), Some(json!({"event": "reconnecting", "why": "gone", "delay_ms": 3000})));
    }
}
