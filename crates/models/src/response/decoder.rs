//! Parts that the decoders of all APIs share.

use std::sync::Arc;

use serde::Deserialize;
use toolway_types::RawJson;
use toolway_types::json::{MAX_VALUES, has_more_values_than};

use super::{ModelEventQueue, unexpected_event};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, AttemptFailure, ProviderErrorBody};
use crate::message::OpaqueState;
use crate::request::ModelRequest;
use crate::transport::SseEvent;

/// Data of the event that ends a stream of Chat Completions. Proxies add it to streams of other APIs.
pub(crate) const DONE_MARKER: &str = "[DONE]";

/// Progress of a decoder in its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseProgress {
    /// More is expected.
    Reading,
    /// The model has finished. Only token counts may follow, or nothing.
    TrailingUsage,
    /// The decoder has emitted [`ModelEvent::Finished`].
    Done,
}

/// Decodes one response of one API.
pub(crate) trait ResponseDecoder: Send {
    /// The state that all decoders have.
    fn state(&self) -> &DecoderState;

    /// Decodes one event of a stream and adds its meaning to `out`.
    ///
    /// # Errors
    /// [`AttemptFailure`] ends the response. The events already in `out` stay valid.
    fn decode_event(&mut self, event: &SseEvent<'_>, out: &mut ModelEventQueue)
    -> Result<(), AttemptFailure>;

    /// Decodes a response that came without streaming, and ends it.
    ///
    /// # Errors
    /// As [`ResponseDecoder::decode_event`].
    fn decode_whole(&mut self, body: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure>;

    /// Emits the pending parts and [`ModelEvent::Finished`]. An API that never reports
    /// [`ResponseProgress::TrailingUsage`] does not need it.
    fn finish_response(&mut self, _out: &mut ModelEventQueue) {}

    /// Ends the response at the end of the body.
    ///
    /// # Errors
    /// [`failure::truncated_response`] if the model had not finished.
    fn finish(&mut self, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        match self.state().progress {
            ResponseProgress::Reading => Err(failure::truncated_response(&self.state().config)),
            ResponseProgress::TrailingUsage => {
                self.finish_response(out);
                Ok(())
            }
            ResponseProgress::Done => Ok(()),
        }
    }
}

/// State of a decoder that does not depend on the API.
#[derive(Debug)]
pub(crate) struct DecoderState {
    pub(crate) config: Arc<ProviderConfig>,
    /// The requested model.
    pub(crate) model: Arc<str>,
    pub(crate) progress: ResponseProgress,
    has_started: bool,
}

impl DecoderState {
    pub(crate) fn new(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Self {
        Self {
            config: Arc::clone(config),
            model: Arc::clone(&request.model),
            progress: ResponseProgress::Reading,
            has_started: false,
        }
    }

    /// Emits [`ModelEvent::Started`] the first time. `model` is the name that the provider gives the model.
    pub(crate) fn start(&mut self, model: Option<&str>, out: &mut ModelEventQueue) {
        if !self.has_started {
            self.has_started = true;
            let model = model.filter(|model| !model.is_empty()).map(str::to_owned);
            out.push_back(ModelEvent::Started { model });
        }
    }

    /// Emits [`ModelEvent::Finished`].
    pub(crate) fn end(&mut self, reason: FinishReason, out: &mut ModelEventQueue) {
        out.push_back(ModelEvent::Finished(reason));
        self.progress = ResponseProgress::Done;
    }

    /// Data of an event without surrounding white space; `None` if it has none.
    ///
    /// # Errors
    /// The provider's error, if the event has the name `error`.
    pub(crate) fn event_data<'e>(&self, event: &'e SseEvent<'_>) -> Result<Option<&'e str>, AttemptFailure> {
        let data = event.data.trim();
        match &*event.name {
            _ if data.is_empty() => Ok(None),
            "error" if data != DONE_MARKER => Err(self.provider_failure_in(data)),
            _ => Ok(Some(data)),
        }
    }

    /// Parses JSON of the API.
    ///
    /// # Errors
    /// The provider's error, if the text contains one; otherwise a protocol failure.
    pub(crate) fn parse<'a, T: Deserialize<'a>>(&self, json: &'a str) -> Result<T, AttemptFailure> {
        let parsed = match has_more_values_than(json.as_bytes(), MAX_VALUES) {
            true => Err(serde::de::Error::custom(format!("it has more than {MAX_VALUES} values"))),
            false => serde_json::from_str(json),
        };
        parsed.map_err(|problem| unexpected_event(&self.config, &self.model, json, &problem))
    }

    /// The failure for an error that the provider reports.
    pub(crate) fn provider_failure(&self, error: &ProviderErrorBody) -> AttemptFailure {
        failure::from_stream_error(&self.config, &self.model, error)
    }

    /// The failure for an error in the form of JSON or plain text.
    pub(crate) fn provider_failure_in(&self, text: &str) -> AttemptFailure {
        let error = ProviderErrorBody::from_text(text).unwrap_or_else(|| ProviderErrorBody::new("", text));
        self.provider_failure(&error)
    }

    /// The failure for a response without the field that makes it one: the provider's error, if the body contains
    /// one.
    pub(crate) fn incomplete_body(&self, problem: &str, body: &str) -> AttemptFailure {
        match ProviderErrorBody::from_text(body) {
            Some(error) => self.provider_failure(&error),
            None => self.protocol_failure(problem, body),
        }
    }

    /// The failure for data that breaks the API's rules.
    pub(crate) fn protocol_failure(&self, problem: &str, shown: &str) -> AttemptFailure {
        failure::protocol_failure(&self.config, problem, shown)
    }

    /// Data that goes back to this provider with a part of the response.
    pub(crate) fn opaque(&self, data: RawJson) -> OpaqueState {
        OpaqueState { provider: Arc::clone(&self.config.name), data }
    }
}
