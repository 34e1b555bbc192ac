//! The server: its routes, and its functions for tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::api::ApiKind;
use crate::quirks::ApiQuirks;
use crate::received_request::ReceivedRequest;
use crate::script::{FakeModel, RequestMatcher, ResponseScript, ScriptLine};
use crate::scripted_response::ScriptedResponse;
use crate::state::{FakeModelsState, ResponseEnd};
use crate::{control, incoming_request, models};

const BODY_LIMIT: usize = 64 << 20;

/// Model servers on one loopback port, which answer from a script. They end when the last clone is dropped.
///
/// ```no_run
/// use serde_json::json;
/// use toolway_fake_models::{ScriptedResponse, ApiKind, FakeModels, KEY, RequestMatcher};
///
/// # async fn test() {
/// let fakes = FakeModels::start().await;
/// fakes.when(RequestMatcher::user(), ScriptedResponse::new().tool_call("lamp__switch", json!({"on": true})));
/// fakes.when(RequestMatcher::result_of("lamp__switch"), ScriptedResponse::text("It is on."));
/// let base_url = fakes.base_url(ApiKind::Anthropic); // with KEY as the key and `fake-model` as the model
/// // … a turn …
/// assert_eq!(fakes.requests()[1].said.results()[0].is_error, Some(false));
/// # let _ = (base_url, KEY);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FakeModels {
    shared: Arc<FakeModelsState>,
    address: SocketAddr,
    _server: Arc<FakeServerTask>,
}

#[derive(Debug)]
struct FakeServerTask(AbortHandle);

impl Drop for FakeServerTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FakeModels {
    /// Starts the servers on a free port, without any answers yet. Must be called within a tokio runtime.
    ///
    /// # Panics
    /// If there is no free loopback port.
    #[allow(clippy::expect_used, reason = "a test without it can do nothing")]
    pub async fn start() -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a loopback port")
    }

    /// Starts the servers at this address.
    ///
    /// # Errors
    /// If the address can't be bound.
    pub async fn start_at(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(FakeModelsState::new());
        let routes = routes(shared.clone());
        let listener = listener.tap_io(|socket| {
            // A socket without this option still works.
            let _ = socket.set_nodelay(true);
        });
        let serving = tokio::spawn(async move {
            // Ends only with the process or the last handle.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { shared, address, _server: Arc::new(FakeServerTask(serving.abort_handle())) })
    }

    /// Returns the base URL of an API without a final slash; see [`ApiKind::base_path`].
    #[must_use]
    pub fn base_url(&self, api: ApiKind) -> String {
        format!("http://{}{}", self.address, api.base_path())
    }

    /// Returns the URL for the control routes: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    // Answers.

    /// Adds an answer for the next request that matches no earlier line.
    pub fn answer(&self, answer: ScriptedResponse) {
        self.line(ScriptLine { answer, times: 1, ..ScriptLine::default() });
    }

    /// Adds answers for the next requests, in order.
    pub fn answers(&self, answers: impl IntoIterator<Item = ScriptedResponse>) {
        for answer in answers {
            self.answer(answer);
        }
    }

    /// Adds an answer for one matching request.
    pub fn when(&self, when: RequestMatcher, answer: ScriptedResponse) {
        self.line(ScriptLine { when, answer, times: 1 });
    }

    /// Adds an answer for all matching requests.
    pub fn whenever(&self, when: RequestMatcher, answer: ScriptedResponse) {
        self.line(ScriptLine { when, answer, times: 0 });
    }

    /// Adds a line.
    pub fn line(&self, line: ScriptLine) {
        self.shared.line(line);
    }

    /// Adds a function that answers requests, or leaves them to later lines. It is called with a lock held,
    /// so it must not call this server.
    pub fn respond(
        &self,
        respond: impl Fn(&ReceivedRequest) -> Option<ScriptedResponse> + Send + Sync + 'static,
    ) {
        self.shared.update(|inner| inner.rules.compute(Arc::new(respond)));
    }

    /// Replaces the whole script, and clears requests, marks and gates.
    pub fn script(&self, script: ResponseScript) {
        self.shared.script(script);
    }

    /// Sets the models of all APIs.
    pub fn offer(&self, models: impl IntoIterator<Item = FakeModel>) {
        self.shared.update(|inner| inner.models = models.into_iter().collect());
    }

    /// Sets the differences of `compatible` from OpenAI's server.
    pub fn quirks(&self, quirks: ApiQuirks) {
        self.shared.update(|inner| inner.quirks = quirks);
    }

    /// Returns the number of unused lines for single requests. A test may require that there are none.
    #[must_use]
    pub fn unused_lines(&self) -> usize {
        self.shared.unused()
    }

    // Gates.

    /// Opens a gate permanently.
    pub fn open(&self, gate: &str) {
        self.shared.gates.open(gate);
    }

    /// Lets `count` more answers pass a gate.
    pub fn admit(&self, gate: &str, count: u64) {
        self.shared.gates.admit(gate, count);
    }

    /// Waits until an answer has reached a gate. Everything before it has been sent.
    pub async fn wait_for_gate(&self, gate: &str) {
        self.shared.gates.wait_for_arrivals(gate, 1).await;
    }

    /// Waits until this number of answers in total have reached a gate.
    pub async fn wait_for_gate_count(&self, gate: &str, count: u64) {
        self.shared.gates.wait_for_arrivals(gate, count).await;
    }

    // Observations.

    /// Returns all requests to models so far in order, including refused ones.
    #[must_use]
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.requests()
    }

    /// Returns the number of requests.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.shared.state.lock().requests.len()
    }

    /// Clears the requests so far, for long tests.
    pub fn forget_requests(&self) {
        self.shared.update(|inner| {
            inner.requests.clear();
            inner.ends.clear();
        });
    }

    /// Waits for the request with this number, from 0.
    pub async fn wait_for_request(&self, number: usize) -> ReceivedRequest {
        self.shared.request(number).await
    }

    /// Waits until the answer to the request with this number has ended. Returns how it ended.
    pub async fn wait_for_end(&self, number: usize) -> ResponseEnd {
        self.shared.end(number).await
    }

    /// Returns the times at which answers reached their marks, in order.
    #[must_use]
    pub fn marks(&self) -> Vec<(String, Instant)> {
        self.shared.state.lock().marks.clone()
    }

    /// Removes and returns the marks so far.
    #[must_use]
    pub fn take_marks(&self) -> Vec<(String, Instant)> {
        self.shared.update(|inner| std::mem::take(&mut inner.marks))
    }

    /// Returns the zero of microsecond times: `{micros}` of tokens, and arrivals of requests.
    #[must_use]
    pub fn epoch(&self) -> Instant {
        self.shared.epoch
    }
}

fn routes(shared: Arc<FakeModelsState>) -> Router {
    Router::new()
        .route("/openai/v1/chat/completions", post(incoming_request::chat))
        .route("/openai/v1/responses", post(incoming_request::responses))
        .route("/compatible/v1/chat/completions", post(incoming_request::compatible))
        .route("/anthropic/v1/messages", post(incoming_request::messages))
        .route("/gemini/{version}/models/{call}", post(incoming_request::generate).get(models::gemini_one))
        .route("/openai/v1/models", get(models::openai))
        .route("/openai/v1/models/{id}", get(models::openai_one))
        .route("/compatible/v1/models", get(models::compatible))
        .route("/anthropic/v1/models", get(models::anthropic))
        .route("/anthropic/v1/models/{id}", get(models::anthropic_one))
        .route("/gemini/{version}/models", get(models::gemini))
        .merge(control::routes())
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(shared)
}
