//! One request and its answer: sends, reads, waits no longer than allowed, and asks again where nothing came. The
//! same for all APIs; what is sent and how the answer is read is each [`Api`]'s own affair.
//!
//! The request begins when its stream is first polled, and ends at once when the stream is dropped: there is no
//! task behind it.

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

/// How long numbers are waited for that may follow when all was said.
const TRAILING_USAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the list of models is waited for that says which names are close.
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
    /// How often it was asked.
    attempt: u32,
    state: ExchangeState,
    /// Events to be given. Until something was said they are held back, so that what comes before it can still be
    /// taken back with the attempt that it belongs to.
    queued_events: ModelEventQueue,
    /// Whether the model said anything.
    has_output: bool,
    /// What ends the stream once `ready` is empty.
    failed: Option<ModelError>,
}

enum ExchangeState {
    /// About to be asked.
    Sending,
    /// Not to be asked again before.
    BackingOff(Instant),
    /// The answer comes.
    Receiving(Box<ResponseInProgress>),
    /// Over.
    Done,
}

struct ResponseInProgress {
    body: ModelResponseBody,
    reader: ResponseReader,
    /// Whether any of the body came.
    has_started: bool,
    /// Until when the next bytes must come.
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

    /// Whether what is ready may be given: the model spoke, or nothing more comes.
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

    /// Sends the request; gives its answer once that has a status of success.
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

    /// Reads what comes next.
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
                return Err(failure::timed_out(&config, "nothing more came", idle, "idle_s"));
            }
            BodyChunk::TimedOut if reading.has_started => {
                let first_token = config.timeouts.first_token;
                return Err(failure::timed_out(&config, "not a word came", first_token, "first_token_s"));
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

    /// Asks again where nothing was said and it may help; otherwise the failure ends the stream.
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
                tracing::debug!(provider = %error.provider, attempt, ?wait, %error, "a model is asked again");
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
        _ => error.with_hint("Check the model's id; which ones there are could not be found out just now."),
    }
}

/// Whether the model said something with it that can't be taken back.
fn is_output(event: &ModelEvent) -> bool {
    !matches!(event, ModelEvent::Retrying { .. } | ModelEvent::Started { .. } | ModelEvent::Usage(_))
}

/// How long the first byte is waited for.
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
    failure::timed_out(config, "no answer began", waited, setting)
}
