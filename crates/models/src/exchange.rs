//! One request and its response, the same for all APIs: sending, decoding, timeouts, and retries without output. The
//! [`ProviderApi`](crate::provider_api::ProviderApi) supplies the differences.
//!
//! The request starts when its stream is first polled, and is cancelled when the stream is dropped. There is no
//! background task.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::failure::{self, AttemptFailure};
use crate::model_list::list_models;
use crate::provider::ModelStream;
use crate::provider_api::ApiEndpoint;
use crate::request::{ModelRequest, ReasoningEffort};
use crate::response::{ModelEventQueue, ResponseProgress, ResponseReader};
use crate::retry::{RetryVerdict, decide};
use crate::transport::{BodyChunk, ModelResponseBody, PreparedRequest};

/// Timeout for token counts that may follow a complete response.
const TRAILING_USAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for the list of models that suggests similar names.
const SIMILAR_MODELS_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends a request to a model and streams the response.
pub(crate) fn stream_response(endpoint: ApiEndpoint, request: Arc<ModelRequest>) -> ModelStream {
    let exchange = ModelExchange {
        endpoint,
        request,
        attempt: 0,
        state: ExchangeState::Sending,
        queued_events: ModelEventQueue::new(),
        has_output: false,
        failed: None,
    };
    Box::pin(stream::unfold(exchange, |mut exchange| async move {
        let next = exchange.next().await?;
        Some((next, exchange))
    }))
}

struct ModelExchange {
    endpoint: ApiEndpoint,
    request: Arc<ModelRequest>,
    /// Number of attempts so far.
    attempt: u32,
    state: ExchangeState,
    /// Events to emit. They are held back until the model produces output, so that a failed attempt can take them back.
    queued_events: ModelEventQueue,
    /// The model has produced output.
    has_output: bool,
    /// Error that ends the stream once `queued_events` is empty.
    failed: Option<ModelError>,
}

enum ExchangeState {
    /// The request is about to be sent.
    Sending,
    /// Waiting until the next attempt.
    BackingOff(Instant),
    /// The response is arriving.
    Receiving(Box<ResponseInProgress>),
    /// The stream has ended.
    Done,
}

struct ResponseInProgress {
    body: ModelResponseBody,
    reader: ResponseReader,
    /// Part of the body has arrived.
    has_started: bool,
    /// Deadline for the next bytes.
    deadline: Instant,
}

impl ModelExchange {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if self.can_emit()
                && let Some(event) = self.queued_events.pop_front()
            {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            match &mut self.state {
                ExchangeState::Done => return None,
                ExchangeState::BackingOff(until) => {
                    sleep_until(*until).await;
                    self.state = ExchangeState::Sending;
                }
                ExchangeState::Sending => {
                    self.attempt += 1;
                    match self.send_request().await {
                        Ok(reading) => self.state = ExchangeState::Receiving(Box::new(reading)),
                        Err(failure) => self.handle_failure(failure).await,
                    }
                }
                ExchangeState::Receiving(_) => {
                    if let Err(failure) = self.read_next().await {
                        self.handle_failure(failure).await;
                    }
                }
            }
        }
    }

    /// Returns whether queued events may be emitted: the model has produced output, or nothing more will come.
    fn can_emit(&self) -> bool {
        self.has_output || matches!(self.state, ExchangeState::Done | ExchangeState::BackingOff(_))
    }

    fn prepare(&self) -> Result<PreparedRequest, ModelError> {
        let (ApiEndpoint { api, config, .. }, request) = (&self.endpoint, &*self.request);
        let mut headers = api.headers(config)?;
        api.add_request_headers(config, request, &mut headers);
        let url = api.request_url(config, request);
        Ok(PreparedRequest { url, headers, body: api.body(config, request)? })
    }

    /// Sends the request and returns the response if its status is a success.
    async fn send_request(&mut self) -> Result<ResponseInProgress, AttemptFailure> {
        let config = Arc::clone(&self.endpoint.config);
        let prepared = self.prepare()?;
        let url = prepared.url.clone();
        let timeout = first_byte_timeout(&config, &self.request);
        let deadline = Instant::now() + timeout;
        let answer = timeout_at(deadline, self.endpoint.http.post(&config, prepared)).await;
        let answer =
            answer.unwrap_or_else(|_| Err(first_byte_timeout_failure(&config, &self.request, timeout)))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = ModelResponseBody::new(answer);
        if !status.is_success() {
            let body = body.read_error().await;
            return Err(failure::from_response(&config, &url, &self.request.model, status, &headers, &body));
        }
        let reader = ResponseReader::new(self.endpoint.api.decoder(&config, &self.request));
        Ok(ResponseInProgress { body, reader, has_started: false, deadline })
    }

    /// Reads the next part of the body.
    async fn read_next(&mut self) -> Result<(), AttemptFailure> {
        let ExchangeState::Receiving(reading) = &mut self.state else { return Ok(()) };
        let config = Arc::clone(&self.endpoint.config);
        let waited = match reading.body.next_chunk(&config, reading.deadline).await {
            // All was said; nobody misses a proper end.
            Err(_) if reading.reader.progress() == ResponseProgress::TrailingUsage => BodyChunk::End,
            waited => waited?,
        };
        let done = match waited {
            BodyChunk::Bytes(bytes) => {
                let before = self.queued_events.len();
                let read = reading.reader.push(&config, &bytes, &mut self.queued_events);
                self.has_output |= self.queued_events.range(before..).any(is_output);
                read?;
                reading.reader.progress() == ResponseProgress::Done
            }
            BodyChunk::End => {
                reading.reader.finish(&config, &mut self.queued_events)?;
                true
            }
            BodyChunk::TimedOut if reading.reader.progress() == ResponseProgress::TrailingUsage => {
                reading.reader.finish(&config, &mut self.queued_events)?;
                true
            }
            BodyChunk::TimedOut if self.has_output => {
                let idle = config.timeouts.idle;
                return Err(failure::timed_out(&config, "the response stopped", idle, "idle_s"));
            }
            BodyChunk::TimedOut if reading.has_started => {
                let first_token = config.timeouts.first_token;
                return Err(failure::timed_out(&config, "no output", first_token, "first_token_s"));
            }
            BodyChunk::TimedOut => {
                return Err(first_byte_timeout_failure(
                    &config,
                    &self.request,
                    first_byte_timeout(&config, &self.request),
                ));
            }
        };
        let wait = match (reading.reader.progress(), self.has_output) {
            (ResponseProgress::TrailingUsage, _) => TRAILING_USAGE_TIMEOUT,
            (_, true) => config.timeouts.idle,
            // It answers, so it thinks, whether or not it was told to.
            (_, false) => config.timeouts.first_token,
        };
        reading.has_started = true;
        reading.deadline = Instant::now() + wait;
        if done
            && let ExchangeState::Receiving(reading) = std::mem::replace(&mut self.state, ExchangeState::Done)
        {
            reading.body.drain();
        }
        Ok(())
    }

    /// Retries if there was no output and a retry may help. Otherwise the failure ends the stream.
    async fn handle_failure(&mut self, failure: AttemptFailure) {
        self.state = ExchangeState::Done;
        if self.has_output {
            self.failed = Some(failure.error);
            return;
        }
        // What was held back belongs to the attempt that failed.
        self.queued_events.clear();
        let retries = self.endpoint.config.retries;
        match decide(&retries, self.attempt, failure, self.endpoint.http.jitter_fraction()) {
            RetryVerdict::Retry(wait, error) => {
                let attempt = self.attempt;
                tracing::debug!(provider = %error.provider, attempt, ?wait, %error, "retrying a model request");
                self.queued_events.push_back(ModelEvent::Retrying { attempt, wait, error });
                self.state = ExchangeState::BackingOff(Instant::now() + wait);
            }
            RetryVerdict::GiveUp(error) => {
                self.failed = Some(with_similar_models(&self.endpoint, &self.request.model, error).await);
            }
        }
    }
}

/// Adds to an error about an unknown model which models there are with a similar id.
async fn with_similar_models(endpoint: &ApiEndpoint, model: &str, error: ModelError) -> ModelError {
    if error.kind != ModelErrorKind::ModelNotFound {
        return error;
    }
    match timeout(SIMILAR_MODELS_TIMEOUT, list_models(endpoint)).await {
        Ok(Ok(offered)) => failure::with_similar_models(error, model, &offered),
        _ => error.with_hint("Check the model's id. The list of models is not available now."),
    }
}

/// Returns whether an event is output of the model, which can't be taken back.
fn is_output(event: &ModelEvent) -> bool {
    !matches!(event, ModelEvent::Retrying { .. } | ModelEvent::Started { .. } | ModelEvent::Usage(_))
}

/// Returns the timeout for the first byte.
fn first_byte_timeout(config: &ProviderConfig, request: &ModelRequest) -> Duration {
    match request.options.reasoning {
        Some(effort) if effort != ReasoningEffort::None => config.timeouts.first_token,
        _ => config.timeouts.first_byte,
    }
}

fn first_byte_timeout_failure(
    config: &ProviderConfig,
    request: &ModelRequest,
    waited: Duration,
) -> AttemptFailure {
    let setting = match request.options.reasoning {
        Some(effort) if effort != ReasoningEffort::None => "first_token_s",
        _ => "first_byte_s",
    };
    failure::timed_out(config, "no response", waited, setting)
}
