//! Parses server-sent events as they arrive.

use toolway_sse::{SseEvent, SseParser};

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
    parser: SseParser,
}

impl GatewayEventStream {
    /// Creates a stream of a response whose body is unread.
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, parser: SseParser::with_limit(MAX_EVENT) }
    }

    /// Returns the next event, or `None` at the end of the stream.
    pub(crate) async fn next_event(&mut self) -> CliResult<Option<GatewayEvent>> {
        loop {
            let event = self.parser.next_event();
            let event = event.map_err(|_| CliError::new("the gateway sent an event that is too large"))?;
            if let Some(event) = event {
                return Ok(Some(event.into()));
            }
            let url = self.response.url().to_string();
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| super::errors::transport_error(&url, &error))? {
                Some(bytes) => self.parser.push(&bytes),
                None => return Ok(None),
            }
        }
    }
}

impl From<SseEvent<'_>> for GatewayEvent {
    fn from(event: SseEvent<'_>) -> Self {
        let kind = if event.name.is_empty() { "message".to_owned() } else { event.name.into_owned() };
        Self { kind, data: event.data.into_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> Vec<(String, String)> {
        let (mut parser, mut events) = (SseParser::with_limit(MAX_EVENT), Vec::new());
        for chunk in chunks {
            parser.push(chunk.as_bytes());
            while let Some(event) = parser.next_event().unwrap() {
                let GatewayEvent { kind, data } = event.into();
                events.push((kind, data));
            }
        }
        events
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
