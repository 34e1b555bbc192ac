//! Prints the connection status on standard error, or as JSON events on standard output.

use serde_json::{Value, json};
use toolway_device::ConnectionStatus;
use toolway_device::DeviceError;

use crate::error::CliResult;
use crate::print::{Printer, escape, time};

/// Prints each change once.
#[derive(Debug)]
pub(super) struct StatusReporter {
    printer: Printer,
    gateway: String,
    last: String,
    was_connected: bool,
}

impl StatusReporter {
    /// Creates a reporter for the connection to this gateway.
    pub(super) fn new(printer: &Printer, gateway: String) -> Self {
        Self { printer: *printer, gateway, last: String::new(), was_connected: false }
    }

    /// Prints a status change.
    pub(super) fn report(&mut self, status: &ConnectionStatus) -> CliResult {
        if self.printer.json {
            return match status_event(status) {
                Some(event) => self.printer.json_value(&event),
                None => Ok(()),
            };
        }
        self.was_connected |= matches!(status, ConnectionStatus::Connected(_));
        for line in self.describe(status) {
            if line != self.last {
                self.printer.status(&line);
                self.last = line;
            }
        }
        Ok(())
    }

    fn describe(&self, status: &ConnectionStatus) -> Vec<String> {
        match status {
            ConnectionStatus::Connecting if self.last.is_empty() => {
                vec![format!("connecting to {}", self.gateway)]
            }
            ConnectionStatus::Connected(connection) => {
                // Wait until the gateway has answered which tools it accepts.
                let Some(tools) = &connection.tools else { return Vec::new() };
                let known =
                    connection.source.as_deref().map(|source| format!(" as {}", escape::line(source)));
                let mut lines = vec![format!(
                    "connected to {}{}, sharing {}",
                    self.gateway,
                    known.unwrap_or_default(),
                    tool_count_text(tools.live)
                )];
                lines.extend(tools.rejected.iter().map(|it| {
                    format!(
                        "the gateway rejected the tool {}: {}",
                        escape::line(&it.name),
                        escape::line(&it.reason)
                    )
                }));
                lines
            }
            ConnectionStatus::Reconnecting { why, delay } => {
                #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
                let delay = time::format_duration(delay.as_millis() as f64);
                let what = if self.was_connected { "connection lost" } else { "no connection" };
                vec![format!("{what} ({}), retrying in {delay}", escape::line(why))]
            }
            // The command itself prints the reason for the end.
            ConnectionStatus::Connecting | ConnectionStatus::Stopped(_) => Vec::new(),
        }
    }
}

fn tool_count_text(tools: usize) -> String {
    match tools {
        0 => "no tools".to_owned(),
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    }
}

fn status_event(status: &ConnectionStatus) -> Option<Value> {
    match status {
        ConnectionStatus::Connecting | ConnectionStatus::Stopped(_) => None,
        ConnectionStatus::Connected(connection) => {
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
        ConnectionStatus::Reconnecting { why, delay } => {
            Some(json!({"event": "reconnecting", "why": why, "delay_ms": delay.as_millis()}))
        }
    }
}

/// Returns the error code for the end of a connection.
pub(super) fn stop_code(stopped: &DeviceError) -> &'static str {
    match stopped {
        DeviceError::TokenRevoked => "token_revoked",
        DeviceError::TokenExpired => "token_expired",
        DeviceError::TokenUnknown(_) => "token_unknown",
        DeviceError::NotAllowed { .. } => "not_allowed",
        DeviceError::KeyChanged { .. } => "key_changed",
        DeviceError::TakenOver => "taken_over",
        DeviceError::Version(_) => "version",
        _ => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolway_device::status::{GatewayConnection, RegisteredTools};

    use super::*;
    use crate::environment::OutputStream;

    fn reporter() -> StatusReporter {
        StatusReporter::new(
            &Printer::new(false, OutputStream::default(), OutputStream::default()),
            "https://gw:7717".to_owned(),
        )
    }

    #[test]
    fn each_status_is_described() {
        let mut says = reporter();
        assert_eq!(says.describe(&ConnectionStatus::Connecting), ["connecting to https://gw:7717"]);
        "something".clone_into(&mut says.last);
        assert_eq!(says.describe(&ConnectionStatus::Connecting), [""; 0], "not before each try");
        let mut connection = GatewayConnection { source: Some("laptop".to_owned()), version: 2, tools: None };
        assert_eq!(says.describe(&ConnectionStatus::Connected(connection.clone())), [""; 0]);
        connection.tools = Some(RegisteredTools { live: 5, rejected: [].into() });
        assert_eq!(
            says.describe(&ConnectionStatus::Connected(connection)),
            ["connected to https://gw:7717 as laptop, sharing 5 tools"]
        );
        let lost =
            ConnectionStatus::Reconnecting { why: "gone\u{1b}[2J".to_owned(), delay: Duration::from_secs(3) };
        assert!(says.describe(&lost)[0].starts_with("no connection (gone"), "there was none yet");
        says.was_connected = true;
        assert_eq!(says.describe(&lost), ["connection lost (gone\\u{1b}[2J), retrying in 3.0 s"]);
    }

    #[test]
    fn json_output_has_events() {
        let lost = ConnectionStatus::Reconnecting { why: "gone".to_owned(), delay: Duration::from_secs(3) };
        assert_eq!(
            status_event(&lost),
            Some(json!({"event": "reconnecting", "why": "gone", "delay_ms": 3000}))
        );
    }
}
