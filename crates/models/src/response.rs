//! Reads a response from the bytes of an HTTP body: a stream of events or, from servers that do not stream, one JSON
//! text. Does no I/O.

use std::collections::VecDeque;

use toolway_types::foreign_json;

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::failure::{self, AttemptFailure, ProviderErrorBody};
use crate::transport::{MAX_EVENT_BYTES, SseEvent, SseParser};
use split_characters::SplitCharacterJoiner;

mod decoder;
mod split_characters;

pub(crate) use decoder::{DONE_MARKER, DecoderState, ResponseDecoder, ResponseProgress};

/// Maximum number of tool calls, blocks or open items of one response. It only bounds memory: the caller decides how
/// many of the calls it runs.
pub(crate) const MAX_RESPONSE_ITEMS: usize = 4_096;
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum length of a quote from a response that can't be parsed, in bytes.
const MAX_SHOWN_BYTES: usize = 400;

/// Decoded events that were not emitted yet.
pub(crate) type ModelEventQueue = VecDeque<ModelEvent>;

/// Reader of one response.
pub(crate) struct ResponseReader {
    form: BodyFormat,
    decoder: Box<dyn ResponseDecoder>,
    read: u64,
}

enum BodyFormat {
    /// Only white space so far.
    Unknown(Vec<u8>),
    EventStream(Box<EventStream>),
    Json(Vec<u8>),
    /// A web page instead of a response.
    HtmlPage(Vec<u8>),
}

#[derive(Default)]
struct EventStream {
    events: SseParser,
    joiner: SplitCharacterJoiner,
}

impl ResponseReader {
    pub(crate) fn new(decoder: Box<dyn ResponseDecoder>) -> Self {
        Self { form: BodyFormat::Unknown(Vec::new()), decoder, read: 0 }
    }

    pub(crate) fn progress(&self) -> ResponseProgress {
        self.decoder.state().progress
    }

    /// Reads more of the body.
    ///
    /// # Errors
    /// [`AttemptFailure`] if the response can't continue.
    pub(crate) fn push(
        &mut self,
        config: &ProviderConfig,
        bytes: &[u8],
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        self.read += bytes.len() as u64;
        if self.read > MAX_RESPONSE_BYTES {
            return Err(failure::protocol_failure(
                config,
                &format!("the response has more than {MAX_RESPONSE_BYTES} bytes"),
                "",
            ));
        }
        if let BodyFormat::Unknown(before) = &mut self.form {
            before.extend_from_slice(bytes);
            let Some(form) = detect_format(before) else { return Ok(()) };
            let before = std::mem::take(before);
            self.form = form;
            return self.feed_decoder(config, &before, out);
        }
        self.feed_decoder(config, bytes, out)
    }

    /// Ends the response at the end of the body.
    ///
    /// # Errors
    /// [`AttemptFailure`] if the response is truncated.
    pub(crate) fn finish(
        &mut self,
        config: &ProviderConfig,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        match &mut self.form {
            BodyFormat::Unknown(_) => Err(failure::truncated_response(config)),
            BodyFormat::HtmlPage(page) => Err(html_page_failure(config, page)),
            BodyFormat::Json(body) => {
                let body = foreign_json::repair(body);
                let body = body.trim_start_matches('\u{FEFF}');
                let decoded = self.decoder.decode_whole(body, out);
                // A text that ends in its middle is no text of another API.
                match serde_json::from_str::<serde::de::IgnoredAny>(body) {
                    Err(error) if error.is_eof() => Err(failure::truncated_response(config)),
                    _ => decoded,
                }
            }
            BodyFormat::EventStream(stream) => {
                let mut decode = |event: &SseEvent<'_>| match self.decoder.state().progress {
                    ResponseProgress::Done => Ok(()),
                    _ => self.decoder.decode_event(event, out),
                };
                let last = match stream.events.last_event() {
                    Some(last) => stream.joiner.push(&last, &mut decode),
                    None => Ok(()),
                };
                if let Err(failure) = last.and_then(|()| stream.joiner.finish(&mut decode))
                    && failure.error.kind != ModelErrorKind::Protocol
                {
                    // An error that is whole counts; half an event is nothing but the cut.
                    return Err(failure);
                }
                self.decoder.finish(out)
            }
        }
    }

    fn feed_decoder(
        &mut self,
        config: &ProviderConfig,
        bytes: &[u8],
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        match &mut self.form {
            BodyFormat::Unknown(_) => {}
            BodyFormat::HtmlPage(page) => {
                page.extend_from_slice(bytes);
                if page.len() >= MAX_SHOWN_BYTES {
                    return Err(html_page_failure(config, page));
                }
            }
            BodyFormat::Json(body) => {
                body.extend_from_slice(bytes);
                if body.len() > MAX_EVENT_BYTES {
                    return Err(failure::protocol_failure(
                        config,
                        &format!("the response has more than {MAX_EVENT_BYTES} bytes"),
                        "",
                    ));
                }
            }
            BodyFormat::EventStream(stream) => {
                let EventStream { events, joiner } = stream.as_mut();
                events.push(bytes);
                while self.decoder.state().progress != ResponseProgress::Done {
                    let event = events.next_event();
                    let event =
                        event.map_err(|error| failure::protocol_failure(config, &error.to_string(), ""))?;
                    let Some(event) = event else { break };
                    joiner.push(&event, |event| match self.decoder.state().progress {
                        ResponseProgress::Done => Ok(()),
                        _ => self.decoder.decode_event(event, out),
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Detects the format of a body from its beginning; `None` if more bytes are needed.
fn detect_format(body: &[u8]) -> Option<BodyFormat> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    if body.len() < MARK.len() && MARK.starts_with(body) {
        return None;
    }
    let text = body.strip_prefix(MARK).unwrap_or(body);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if body.len() > MAX_SHOWN_BYTES => Some(BodyFormat::EventStream(Box::default())),
        None => None,
        // No line of a stream begins so.
        Some(b'{' | b'[') => Some(BodyFormat::Json(Vec::new())),
        Some(b'<') => Some(BodyFormat::HtmlPage(Vec::new())),
        Some(_) => Some(BodyFormat::EventStream(Box::default())),
    }
}

fn html_page_failure(config: &ProviderConfig, page: &[u8]) -> AttemptFailure {
    let shown = String::from_utf8_lossy(page.get(..MAX_SHOWN_BYTES.min(page.len())).unwrap_or_default());
    failure::protocol_failure(config, "the response is a web page", &shown)
}

/// Returns the failure for an event that can't be parsed: the provider's error if the event contains one, else a
/// protocol failure.
pub(crate) fn unexpected_event(
    config: &ProviderConfig,
    model: &str,
    data: &str,
    problem: &serde_json::Error,
) -> AttemptFailure {
    match ProviderErrorBody::from_text(data) {
        Some(said) => failure::from_stream_error(config, model, &said),
        None => {
            let shown = data.get(..data.floor_char_boundary(MAX_SHOWN_BYTES)).unwrap_or_default();
            failure::protocol_failure(
                config,
                &format!("the response does not match the API ({problem})"),
                shown,
            )
        }
    }
}

/// Reads a complete body in pieces. Returns its events, and the error that ended it.
pub(crate) fn read_all<'a>(
    config: &ProviderConfig,
    decoder: Box<dyn ResponseDecoder>,
    body: impl IntoIterator<Item = &'a [u8]>,
) -> (ModelEventQueue, Option<ModelError>) {
    let mut reader = ResponseReader::new(decoder);
    let mut out = ModelEventQueue::new();
    let read = || {
        for bytes in body {
            reader.push(config, bytes, &mut out)?;
            if reader.progress() == ResponseProgress::Done {
                return Ok(());
            }
        }
        reader.finish(config, &mut out)
    };
    let error = read().err().map(|failure: AttemptFailure| failure.error);
    (out, error)
}

#[cfg(test)]
mod tests;
