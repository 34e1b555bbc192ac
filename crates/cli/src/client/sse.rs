//! Parses server-sent events as they arrive.

use std::collections::VecDeque;

use crate::error::{CliError, CliResult};

/// Maximum size of an event in bytes.
const MAX_EVENT: usize = 256 << 20;

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GatewayEvent {
    /// Event type; `message` if the stream has none.
    pub(crate) kind: String,
    /// Event data.
    pub(crate) data: String,
}

impl GatewayEvent {
    /// Returns the data with the event type added as the field `event`. The rest of the JSON text is unchanged.
    pub(crate) fn to_json_with_kind(&self) -> String {
        match self.data.strip_prefix('{') {
            Some("}") => format!("{{\"event\":\"{}\"}}", self.kind),
            Some(rest) => format!("{{\"event\":\"{}\",{rest}", self.kind),
            None => self.data.clone(),
        }
    }
}

/// Events of one response.
#[derive(Debug)]
pub(crate) struct GatewayEventStream {
    response: reqwest::Response,
    parser: GatewayEventParser,
}

impl GatewayEventStream {
    /// Creates a stream of a response whose body is unread.
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, parser: GatewayEventParser::default() }
    }

    /// Returns the next event, or `None` at the end of the stream.
    pub(crate) async fn next_event(&mut self) -> CliResult<Option<GatewayEvent>> {
        loop {
            if let Some(event) = self.parser.ready.pop_front() {
                return Ok(Some(event));
            }
            let url = self.response.url().to_string();
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| super::errors::transport_error(&url, &error))? {
                Some(bytes) => self.parser.feed(&bytes)?,
                None => return Ok(None),
            }
        }
    }
}

/// Parses bytes into events.
#[derive(Debug, Default)]
struct GatewayEventParser {
    buffer: Vec<u8>,
    kind: String,
    data: Option<String>,
    ready: VecDeque<GatewayEvent>,
}

impl GatewayEventParser {
    fn feed(&mut self, bytes: &[u8]) -> CliResult {
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(length) =
            self.buffer.get(start..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
        {
            let line = self.buffer.get(start..start + length).unwrap_or_default();
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
            start += length + 1;
            self.line(&line);
        }
        self.buffer.drain(..start);
        if self.buffer.len() + self.data.as_ref().map_or(0, String::len) > MAX_EVENT {
            return Err(CliError::new("the gateway sent an event that is too large"));
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let kind = std::mem::take(&mut self.kind);
            if let Some(data) = self.data.take() {
                let kind = if kind.is_empty() { "message".to_owned() } else { kind };
                self.ready.push_back(GatewayEvent { kind, data });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.kind),
            "data" => match &mut self.data {
                Some(data) => data.extend(["\n", value]),
                None => self.data = Some(value.to_owned()),
            },
            // Comments keep the connection alive; ids and retries are not used.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> Vec<(String, String)> {
        let mut parser = GatewayEventParser::default();
        for chunk in chunks {
            parser.feed(chunk.as_bytes()).unwrap();
        }
        parser.ready.into_iter().map(|event| (event.kind, event.data)).collect()
    }

    #[test]
    fn events_are_parsed_from_chunks_of_any_size() {
        let text = ": alive\r\n\r\nevent: progress\ndata: {\"progress\":0.5}\n\nevent:outcome\ndata: {\ndata: }\n\ndata\n\n";
        let expected = vec![
            ("progress".to_owned(), "{\"progress\":0.5}".to_owned()),
            ("outcome".to_owned(), "{\n}".to_owned()),
            ("message".to_owned(), String::new()),
        ];
        assert_eq!(events(&[text]), expected);
        for cut in 0..text.len() {
            let (before, after) = text.split_at(cut);
            assert_eq!(events(&[before, after]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn the_json_form_contains_the_event_type() {
        let event =
            |data: &str| GatewayEvent { kind: "approval_requested".to_owned(), data: data.to_owned() };
        assert_eq!(
            event(r#"{"id":"q","n":1.0}"#).to_json_with_kind(),
            r#"{"event":"approval_requested","id":"q","n":1.0}"#
        );
        assert_eq!(event("{}").to_json_with_kind(), r#"{"event":"approval_requested"}"#);
        assert_eq!(event("odd").to_json_with_kind(), "odd");
    }

    #[test]
    fn an_incomplete_event_is_not_returned() {
        assert_eq!(events(&["event: outcome\ndata: {}\n"]), []);
        assert_eq!(events(&["event: nothing\n\n"]), []);
    }
}
