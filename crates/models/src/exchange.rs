//! One request and its answer: sends, reads, waits no longer than allowed, and asks again where nothing came. The
//! same for all APIs; what is sent and how the answer is read is each [`Api`]'s own affair.
//!
//! The request begins when its stream is first polled, and ends at once when the stream is dropped: there is no
//! task behind it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use http::HeaderMap;
use reqwest::Url;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::answer::{AnswerReader, Decoder, Events, Progress};
use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::event::ModelEvent;
use crate::failure::{self, Failure};
use crate::provider::{ModelStream, OfferedModel};
use crate::request::{ModelRequest, ReasoningEffort};
use crate::retry::{Verdict, decide};
use crate::transport::{AnswerBody, Http, Prepared, Waited};

/// How much of the body of a refusal is read, in bytes.
const REFUSAL_BYTES: usize = 64 * 1024;
/// How long it is read.
const REFUSAL_TIME: Duration = Duration::from_secs(10);
/// How long numbers are waited for that may follow when all was said.
const AFTERWORD: Duration = Duration::from_secs(5);
/// How long the list of models is waited for that says which names are close.
const CLOSE_NAMES_TIME: Duration = Duration::from_secs(3);

/// A model provider's API.
#[async_trait]
pub(crate) trait Api: fmt::Debug + Send + Sync + 'static {
    /// What the owner set up.
    fn config(&self) -> &Arc<ProviderConfig>;

    /// The way there.
    fn http(&self) -> &Http;

    /// What is sent.
    ///
    /// # Errors
    /// Where the request can't be said in this API.
    fn prepare(&self, request: &ModelRequest) -> Result<Prepared, ModelError>;

    /// What understands the answer.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;

    /// The models that it offers.
    ///
    /// # Errors
    /// [`ModelError`].
    async fn offered(&self) -> Result<Vec<OfferedModel>, ModelError>;
}

/// Asks a model.
pub(crate) fn ask(api: Arc<dyn Api>, request: Arc<ModelRequest>) -> ModelStream {
    let exchange = Exchange {
        api,
        request,
        attempt: 0,
        state: State::Asking,
        ready: Events::new(),
        said: false,
        failed: None,
    };
    Box::pin(stream::unfold(exchange, |mut exchange| async move {
        let next = exchange.next().await?;
        Some((next, exchange))
    }))
}

/// Reads something that is asked for once: at most `limit` bytes, for at most `time`.
///
/// # Errors
/// Where the answer is none of success, or not whole.
pub(crate) async fn fetch(
    config: &ProviderConfig,
    http: &Http,
    url: Url,
    headers: HeaderMap,
    limit: usize,
    time: Duration,
) -> Result<Vec<u8>, ModelError> {
    let answer = timeout(time, http.get(config, url.clone(), headers)).await;
    let answer =
        answer.unwrap_or_else(|_| Err(failure::too_slow(config, "no answer began", time, "first_byte_s")));
    let answer = answer.map_err(|failure| failure.error)?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let body = AnswerBody::new(answer);
    if !status.is_success() {
        let (body, _) = body.start(REFUSAL_BYTES, REFUSAL_TIME).await;
        return Err(failure::of_answer(config, &url, "", status, &headers, &body).error);
    }
    match body.start(limit, time).await {
        (body, true) => Ok(body),
        (_, false) => Err(failure::cut_off(config).error),
    }
}

struct Exchange {
    api: Arc<dyn Api>,
    request: Arc<ModelRequest>,
    /// How often it was asked.
    attempt: u32,
    state: State,
    /// Events to be given. Until something was said they are held back, so that what comes before it can still be
    /// taken back with the attempt that it belongs to.
    ready: Events,
    /// Whether the model said anything.
    said: bool,
    /// What ends the stream once `ready` is empty.
    failed: Option<ModelError>,
}

enum State {
    /// About to be asked.
    Asking,
    /// Not to be asked again before.
    Waiting(Instant),
    /// The answer comes.
    Reading(Box<Reading>),
    /// Over.
    Over,
}

struct Reading {
    body: AnswerBody,
    reader: AnswerReader,
    /// Whether any of the body came.
    began: bool,
    /// Until when the next bytes must come.
    deadline: Instant,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if self.may_give()
                && let Some(event) = self.ready.pop_front()
            {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            match &mut self.state {
                State::Over => return None,
                State::Waiting(until) => {
                    sleep_until(*until).await;
                    self.state = State::Asking;
                }
                State::Asking => {
                    self.attempt += 1;
                    match self.open().await {
                        Ok(reading) => self.state = State::Reading(Box::new(reading)),
                        Err(failure) => self.fail(failure).await,
                    }
                }
                State::Reading(_) => {
                    if let Err(failure) = self.read().await {
                        self.fail(failure).await;
                    }
                }
            }
        }
    }

    /// Whether what is ready may be given: the model spoke, or nothing more comes.
    fn may_give(&self) -> bool {
        self.said || matches!(self.state, State::Over | State::Waiting(_))
    }

    /// Sends the request; gives its answer once that has a status of success.
    async fn open(&mut self) -> Result<Reading, Failure> {
        let config = Arc::clone(self.api.config());
        let prepared = self.api.prepare(&self.request)?;
        let url = prepared.url.clone();
        let patience = patience(&config, &self.request);
        let deadline = Instant::now() + patience;
        let answer = timeout_at(deadline, self.api.http().post(&config, prepared)).await;
        let answer = answer.unwrap_or_else(|_| Err(first_byte_late(&config, &self.request, patience)))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = AnswerBody::new(answer);
        if !status.is_success() {
            let (body, _) = body.start(REFUSAL_BYTES, REFUSAL_TIME).await;
            return Err(failure::of_answer(&config, &url, &self.request.model, status, &headers, &body));
        }
        let reader = AnswerReader::new(self.api.decoder(&self.request));
        Ok(Reading { body, reader, began: false, deadline })
    }

    /// Reads what comes next.
    async fn read(&mut self) -> Result<(), Failure> {
        let State::Reading(reading) = &mut self.state else { return Ok(()) };
        let config = Arc::clone(self.api.config());
        let waited = match reading.body.next(&config, reading.deadline).await {
            // All was said; nobody misses a proper end.
            Err(_) if reading.reader.progress() == Progress::Closing => Waited::End,
            waited => waited?,
        };
        let done = match waited {
            Waited::Bytes(bytes) => {
                let before = self.ready.len();
                let read = reading.reader.push(&config, &bytes, &mut self.ready);
                self.said |= self.ready.range(before..).any(is_said);
                read?;
                reading.reader.progress() == Progress::Over
            }
            Waited::End => {
                reading.reader.end(&config, &mut self.ready)?;
                true
            }
            Waited::Nothing if reading.reader.progress() == Progress::Closing => {
                reading.reader.end(&config, &mut self.ready)?;
                true
            }
            Waited::Nothing if self.said => {
                let between = config.timeouts.between;
                return Err(failure::too_slow(&config, "nothing more came", between, "between_s"));
            }
            Waited::Nothing if reading.began => {
                let thinking = config.timeouts.thinking;
                return Err(failure::too_slow(&config, "not a word came", thinking, "thinking_s"));
            }
            Waited::Nothing => {
                return Err(first_byte_late(&config, &self.request, patience(&config, &self.request)));
            }
        };
        let wait = match (reading.reader.progress(), self.said) {
            (Progress::Closing, _) => AFTERWORD,
            (_, true) => config.timeouts.between,
            // It answers, so it thinks, whether or not it was told to.
            (_, false) => config.timeouts.thinking,
        };
        reading.began = true;
        reading.deadline = Instant::now() + wait;
        if done && let State::Reading(reading) = std::mem::replace(&mut self.state, State::Over) {
            reading.body.finish();
        }
        Ok(())
    }

    /// Asks again where nothing was said and it may help; otherwise the failure ends the stream.
    async fn fail(&mut self, failure: Failure) {
        self.state = State::Over;
        if self.said {
            self.failed = Some(failure.error);
            return;
        }
        // What was held back belongs to the attempt that failed.
        self.ready.clear();
        let retries = self.api.config().retries;
        match decide(&retries, self.attempt, failure, self.api.http().fraction()) {
            Verdict::Again(wait, error) => {
                let attempt = self.attempt;
                tracing::debug!(provider = %error.provider, attempt, ?wait, %error, "a model is asked again");
                self.ready.push_back(ModelEvent::Retrying { attempt, wait, error });
                self.state = State::Waiting(Instant::now() + wait);
            }
            Verdict::Over(error) => {
                self.failed = Some(with_close_names(&*self.api, &self.request.model, error).await);
            }
        }
    }
}

async fn with_close_names(api: &dyn Api, model: &str, error: ModelError) -> ModelError {
    if error.kind != ModelErrorKind::ModelNotFound {
        return error;
    }
    match timeout(CLOSE_NAMES_TIME, api.offered()).await {
        Ok(Ok(offered)) => failure::with_close_names(error, model, &offered),
        _ => error.with_hint("Check the model's id; which ones there are could not be found out just now."),
    }
}

/// Whether the model said something with it that can't be taken back.
fn is_said(event: &ModelEvent) -> bool {
    !matches!(event, ModelEvent::Retrying { .. } | ModelEvent::Started { .. } | ModelEvent::Usage(_))
}

/// How long the first byte is waited for.
fn patience(config: &ProviderConfig, request: &ModelRequest) -> Duration {
    match request.options.reasoning {
        Some(effort) if effort != ReasoningEffort::None => config.timeouts.thinking,
        _ => config.timeouts.first_byte,
    }
}

fn first_byte_late(config: &ProviderConfig, request: &ModelRequest, waited: Duration) -> Failure {
    let setting = match request.options.reasoning {
        Some(effort) if effort != ReasoningEffort::None => "thinking_s",
        _ => "first_byte_s",
    };
    failure::too_slow(config, "no answer began", waited, setting)
}
