//! Reads a model's answer out of the bytes of an HTTP body, in whichever form it came: as a stream of events, or,
//! from servers that do not stream, as one JSON text. Pure: bytes in, events out.

use std::collections::VecDeque;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::failure::{self, Failure, Said};
use crate::transport::{MAX_EVENT, SseEvent, SseParser};

/// The longest answer, in bytes as it comes.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;
/// How much of what is not understood is shown, in bytes.
const SHOWN: usize = 400;

/// Events that were read and not yet given on.
pub(crate) type Events = VecDeque<ModelEvent>;

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More of it is to come.
    Going,
    /// All was said; only numbers may follow, or nothing.
    Closing,
    /// Over: [`ModelEvent::Finished`] was given.
    Over,
}

/// Understands the events of one API. Made anew for each answer.
pub(crate) trait Decoder: Send {
    /// Takes an event. What it means goes into `out`; a failure ends the answer, and what is in `out` before it
    /// stands.
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Events) -> Result<(), Failure>;

    /// Takes a whole answer in the API's form without streaming, and ends it.
    fn whole(&mut self, body: &str, out: &mut Events) -> Result<(), Failure>;

    /// The body ended. Either the answer was whole, and [`ModelEvent::Finished`] goes into `out` unless it was
    /// given, or it was not, and that is the failure: see [`failure::cut_off`].
    fn end(&mut self, out: &mut Events) -> Result<(), Failure>;

    /// How far the answer is.
    fn progress(&self) -> Progress;
}

/// Reads one answer.
pub(crate) struct AnswerReader {
    form: Form,
    decoder: Box<dyn Decoder>,
    read: u64,
}

enum Form {
    /// Nothing but white space came yet.
    Unknown(Vec<u8>),
    Events(SseParser),
    Whole(Vec<u8>),
    /// A web page in place of an answer.
    Page(Vec<u8>),
}

impl AnswerReader {
    pub(crate) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self { form: Form::Unknown(Vec::new()), decoder, read: 0 }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.decoder.progress()
    }

    /// Takes more of the body.
    ///
    /// # Errors
    /// Where the answer can't go on.
    pub(crate) fn push(
        &mut self,
        config: &ProviderConfig,
        bytes: &[u8],
        out: &mut Events,
    ) -> Result<(), Failure> {
        self.read += bytes.len() as u64;
        if self.read > MAX_ANSWER {
            return Err(failure::protocol(
                config,
                &format!("the answer has more than {MAX_ANSWER} bytes"),
                "",
            ));
        }
        if let Form::Unknown(before) = &mut self.form {
            before.extend_from_slice(bytes);
            let Some(form) = form_of(before) else { return Ok(()) };
            let before = std::mem::take(before);
            self.form = form;
            return self.take(config, &before, out);
        }
        self.take(config, bytes, out)
    }

    /// The body ended.
    ///
    /// # Errors
    /// Where it did so in the middle of the answer.
    pub(crate) fn end(&mut self, config: &ProviderConfig, out: &mut Events) -> Result<(), Failure> {
        match &mut self.form {
            Form::Unknown(_) => Err(failure::cut_off(config)),
            Form::Page(page) => Err(is_page(config, page)),
            Form::Whole(body) => {
                let body = String::from_utf8_lossy(body);
                let body = body.trim_start_matches('\u{FEFF}');
                let decoded = self.decoder.whole(body, out);
                // A text that ends in its middle is no text of another API.
                match serde_json::from_str::<serde::de::IgnoredAny>(body) {
                    Err(error) if error.is_eof() => Err(failure::cut_off(config)),
                    _ => decoded,
                }
            }
            Form::Events(events) => {
                if self.decoder.progress() != Progress::Over
                    && let Some(last) = events.last_event()
                    && let Err(failure) = self.decoder.event(&last, out)
                    && failure.error.kind != crate::error::ModelErrorKind::Protocol
                {
                    // An error that is whole counts; half an event is nothing but the cut.
                    return Err(failure);
                }
                match self.decoder.progress() {
                    Progress::Over => Ok(()),
                    _ => self.decoder.end(out),
                }
            }
        }
    }

    fn take(&mut self, config: &ProviderConfig, bytes: &[u8], out: &mut Events) -> Result<(), Failure> {
        match &mut self.form {
            Form::Unknown(_) => {}
            Form::Page(page) => {
                page.extend_from_slice(bytes);
                if page.len() >= SHOWN {
                    return Err(is_page(config, page));
                }
            }
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                if body.len() > MAX_EVENT {
                    return Err(failure::protocol(
                        config,
                        &format!("the answer has more than {MAX_EVENT} bytes"),
                        "",
                    ));
                }
            }
            Form::Events(events) => {
                events.push(bytes);
                while self.decoder.progress() != Progress::Over {
                    let event = events.next_event();
                    let event = event.map_err(|error| failure::protocol(config, &error.to_string(), ""))?;
                    let Some(event) = event else { break };
                    self.decoder.event(&event, out)?;
                }
            }
        }
        Ok(())
    }
}

/// The form of a body that begins like this; none where nothing of it can be seen yet.
fn form_of(body: &[u8]) -> Option<Form> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    if body.len() < MARK.len() && MARK.starts_with(body) {
        return None;
    }
    let text = body.strip_prefix(MARK).unwrap_or(body);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None if body.len() > SHOWN => Some(Form::Events(SseParser::default())),
        None => None,
        // No line of a stream begins so.
        Some(b'{' | b'[') => Some(Form::Whole(Vec::new())),
        Some(b'<') => Some(Form::Page(Vec::new())),
        Some(_) => Some(Form::Events(SseParser::default())),
    }
}

fn is_page(config: &ProviderConfig, page: &[u8]) -> Failure {
    let shown = String::from_utf8_lossy(page.get(..SHOWN.min(page.len())).unwrap_or_default());
    failure::protocol(config, "answered with a web page", &shown)
}

/// An event that is not what the API promises: an error, where it is one in whatever form, or a breach of protocol.
pub(crate) fn not_understood(
    config: &ProviderConfig,
    model: &str,
    data: &str,
    problem: &serde_json::Error,
) -> Failure {
    match Said::in_text(data) {
        Some(said) => failure::in_stream(config, model, &said),
        None => {
            let shown = data.get(..data.floor_char_boundary(SHOWN)).unwrap_or_default();
            failure::protocol(config, &format!("what came is not of this API ({problem})"), shown)
        }
    }
}

/// Reads a whole body that is given in pieces: its events, and the error that ended it where one did.
pub(crate) fn read_all<'a>(
    config: &ProviderConfig,
    decoder: Box<dyn Decoder>,
    body: impl IntoIterator<Item = &'a [u8]>,
) -> (Events, Option<ModelError>) {
    let mut reader = AnswerReader::new(decoder);
    let mut out = Events::new();
    let read = || {
        for bytes in body {
            reader.push(config, bytes, &mut out)?;
            if reader.progress() == Progress::Over {
                return Ok(());
            }
        }
        reader.end(config, &mut out)
    };
    let error = read().err().map(|failure: Failure| failure.error);
    (out, error)
}

#[cfg(test)]
mod tests;
