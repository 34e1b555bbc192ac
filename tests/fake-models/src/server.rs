//! The server: its routes, and what a test does with it.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::answer::{Answer, Failure, Quirks, Step};
use crate::api::Api;
use crate::error::ApiError;
use crate::gates::Gates;
use crate::ids::Ids;
use crate::render::{Asked, Writer, renderer};
use crate::script::{Line, Model, Rules, Script, When, body_json};
use crate::seen::SeenRequest;
use crate::stream::{Guard, streamed, whole};
use crate::{check, control, models, view};

/// The key that the servers take, whichever API it is for.
pub const KEY: &str = "fake-key";

const BODY_LIMIT: usize = 64 << 20;

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseEnd {
    /// All of it was sent.
    Complete,
    /// The script cut it.
    Cut,
    /// Whoever asked went away before.
    Dropped,
}

/// What requests and answers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) epoch: Instant,
    pub(crate) gates: Gates,
    pub(crate) ids: Ids,
    /// Responses: which reasoning item came right before an item, by their ids.
    pub(crate) issued: Arc<Mutex<HashMap<String, String>>>,
    state: Mutex<Inner>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Inner {
    models: Vec<Model>,
    rules: Rules,
    quirks: Quirks,
    checks: bool,
    requests: Vec<SeenRequest>,
    ends: BTreeMap<usize, ResponseEnd>,
    marks: Vec<(String, Instant)>,
}

impl Shared {
    fn new() -> Self {
        Self {
            epoch: Instant::now(),
            gates: Gates::default(),
            ids: Ids::default(),
            issued: Arc::default(),
            state: Mutex::new(Inner {
                models: Model::usual(),
                rules: Rules::default(),
                quirks: Quirks::default(),
                checks: true,
                requests: Vec::new(),
                ends: BTreeMap::new(),
                marks: Vec::new(),
            }),
            changed: watch::Sender::new(0),
        }
    }

    fn change<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        let done = work(&mut self.state.lock());
        self.changed.send_modify(|count| *count += 1);
        done
    }

    pub(crate) fn mark(&self, name: &str) {
        self.change(|inner| inner.marks.push((name.to_owned(), Instant::now())));
    }

    pub(crate) fn ended(&self, number: usize, end: ResponseEnd) {
        self.change(|inner| inner.ends.insert(number, end));
    }

    pub(crate) fn models(&self) -> Vec<Model> {
        self.state.lock().models.clone()
    }

    pub(crate) fn line(&self, line: Line) {
        self.change(|inner| inner.rules.add(line));
    }

    pub(crate) fn script(&self, script: Script) {
        self.gates.clear();
        self.change(|inner| {
            inner.models = if script.models.is_empty() { Model::usual() } else { script.models };
            inner.quirks = script.quirks;
            inner.checks = script.checks;
            inner.rules.clear();
            for line in script.lines {
                inner.rules.add(line);
            }
            inner.requests.clear();
            inner.ends.clear();
            inner.marks.clear();
        });
    }

    pub(crate) fn requests(&self) -> Vec<SeenRequest> {
        self.state.lock().requests.clone()
    }

    pub(crate) async fn request(&self, number: usize) -> SeenRequest {
        self.until(|inner| inner.requests.get(number).cloned()).await
    }

    pub(crate) async fn end(&self, number: usize) -> ResponseEnd {
        self.until(|inner| inner.ends.get(&number).copied()).await
    }

    pub(crate) fn unused(&self) -> usize {
        self.state.lock().rules.unused()
    }

    async fn until<T>(&self, mut ask: impl FnMut(&Inner) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = ask(&self.state.lock()) {
                return found;
            }
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Model servers on one loopback port, which answer from a script. They end when the last copy of this is dropped.
///
/// ```no_run
/// use serde_json::json;
/// use toolway_fake_models::{Answer, Api, FakeModels, KEY, When};
///
/// # async fn test() {
/// let fakes = FakeModels::start().await;
/// fakes.when(When::user(), Answer::new().call("lamp__switch", json!({"on": true})));
/// fakes.when(When::result_of("lamp__switch"), Answer::text("It is on."));
/// let base_url = fakes.base_url(Api::Anthropic); // with KEY as the key and `fake-model` as the model
/// // … a turn …
/// assert_eq!(fakes.requests()[1].said.results()[0].is_error, Some(false));
/// # let _ = (base_url, KEY);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FakeModels {
    shared: Arc<Shared>,
    address: SocketAddr,
    _server: Arc<Server>,
}

#[derive(Debug)]
struct Server(AbortHandle);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FakeModels {
    /// Starts them on a port that is free, with nothing to answer yet. Must be called within a tokio runtime.
    ///
    /// # Panics
    /// Where no loopback port can be had.
    #[allow(clippy::expect_used, reason = "a test without it can do nothing")]
    pub async fn start() -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a loopback port")
    }

    /// Starts them at this address.
    ///
    /// # Errors
    /// Where it can't be had.
    pub async fn start_at(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new());
        let routes = routes(shared.clone());
        let listener = listener.tap_io(|socket| {
            // A socket that refuses is slower, no worse.
            let _ = socket.set_nodelay(true);
        });
        let serving = tokio::spawn(async move {
            // Ends with the process or with the last handle only.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { shared, address, _server: Arc::new(Server(serving.abort_handle())) })
    }

    /// The base URL of an API, without a slash at its end; see [`Api::base_path`].
    #[must_use]
    pub fn base_url(&self, api: Api) -> String {
        format!("http://{}{}", self.address, api.base_path())
    }

    /// Where they are, for the control routes: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    // What is answered.

    /// Adds an answer for the next request that no earlier line is for.
    pub fn answer(&self, answer: Answer) {
        self.line(Line { answer, times: 1, ..Line::default() });
    }

    /// Adds answers for the next requests, in order.
    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        for answer in answers {
            self.answer(answer);
        }
    }

    /// Adds an answer for one request like this.
    pub fn when(&self, when: When, answer: Answer) {
        self.line(Line { when, answer, times: 1 });
    }

    /// Adds an answer for all requests like this.
    pub fn whenever(&self, when: When, answer: Answer) {
        self.line(Line { when, answer, times: 0 });
    }

    /// Adds a line.
    pub fn line(&self, line: Line) {
        self.shared.line(line);
    }

    /// Adds a function that answers requests, or leaves them to later lines. It is called with a lock held: it must
    /// not call this server.
    pub fn respond(&self, respond: impl Fn(&SeenRequest) -> Option<Answer> + Send + Sync + 'static) {
        self.shared.change(|inner| inner.rules.compute(Arc::new(respond)));
    }

    /// Puts a script in place of all that was said before, and forgets requests, marks and gates.
    pub fn script(&self, script: Script) {
        self.shared.script(script);
    }

    /// The models that are offered from now on, through all APIs.
    pub fn offer(&self, models: impl IntoIterator<Item = Model>) {
        self.shared.change(|inner| inner.models = models.into_iter().collect());
    }

    /// How `compatible` differs from OpenAI's from now on.
    pub fn quirks(&self, quirks: Quirks) {
        self.shared.change(|inner| inner.quirks = quirks);
    }

    /// How many lines for single requests were not used. A test may want none to be left.
    #[must_use]
    pub fn unused(&self) -> usize {
        self.shared.unused()
    }

    // Gates.

    /// Opens a gate for good.
    pub fn open(&self, gate: &str) {
        self.shared.gates.open(gate);
    }

    /// Lets so many more answers through a gate.
    pub fn admit(&self, gate: &str, count: u64) {
        self.shared.gates.admit(gate, count);
    }

    /// Waits until an answer has come to a gate. What comes before it has been sent.
    pub async fn reached(&self, gate: &str) {
        self.shared.gates.arrived(gate, 1).await;
    }

    /// Waits until so many answers in all have come to a gate.
    pub async fn reached_by(&self, gate: &str, count: u64) {
        self.shared.gates.arrived(gate, count).await;
    }

    // What was seen.

    /// All requests to models so far, in the order in which they came; those that were refused are among them.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.shared.requests()
    }

    /// How many there were.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.shared.state.lock().requests.len()
    }

    /// Forgets the requests so far: a test that runs for long need not keep them.
    pub fn forget_requests(&self) {
        self.shared.change(|inner| {
            inner.requests.clear();
            inner.ends.clear();
        });
    }

    /// Waits for the request with this number, from 0.
    pub async fn request(&self, number: usize) -> SeenRequest {
        self.shared.request(number).await
    }

    /// Waits until the answer to the request with this number is over; says how it ended.
    pub async fn ended(&self, number: usize) -> ResponseEnd {
        self.shared.end(number).await
    }

    /// When answers came to their marks, in order.
    #[must_use]
    pub fn marks(&self) -> Vec<(String, Instant)> {
        self.shared.state.lock().marks.clone()
    }

    /// The marks so far, which are then forgotten.
    #[must_use]
    pub fn take_marks(&self) -> Vec<(String, Instant)> {
        self.shared.change(|inner| std::mem::take(&mut inner.marks))
    }

    /// From when microseconds are counted: `{micros}` of tokens, and when requests came.
    #[must_use]
    pub fn epoch(&self) -> Instant {
        self.shared.epoch
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/openai/v1/chat/completions", post(chat))
        .route("/openai/v1/responses", post(responses))
        .route("/compatible/v1/chat/completions", post(compatible))
        .route("/anthropic/v1/messages", post(messages))
        .route("/gemini/{version}/models/{call}", post(generate).get(models::gemini_one))
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

async fn chat(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    Incoming { api: Api::Openai, uri, headers, body, model: None }.answered(shared).await
}

async fn compatible(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    Incoming { api: Api::Compatible, uri, headers, body, model: None }.answered(shared).await
}

async fn responses(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    Incoming { api: Api::OpenaiResponses, uri, headers, body, model: None }.answered(shared).await
}

async fn messages(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    Incoming { api: Api::Anthropic, uri, headers, body, model: None }.answered(shared).await
}

async fn generate(
    State(shared): State<Arc<Shared>>,
    Path((_, call)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (model, method) = call.split_once(':').unwrap_or((&call, ""));
    let stream = match method {
        "generateContent" => false,
        "streamGenerateContent" => true,
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    let model = Some((model.to_owned(), stream));
    Incoming { api: Api::Gemini, uri, headers, body, model }.answered(shared).await
}

/// A request to a model.
struct Incoming {
    api: Api,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    /// Gemini: the model and whether a stream is wanted, which its path says.
    model: Option<(String, bool)>,
}

/// What is to be done about one.
struct Decided {
    number: usize,
    asked: Asked,
    stream: bool,
    quirks: Quirks,
    decision: Result<Answer, ApiError>,
}

impl Incoming {
    async fn answered(self, shared: Arc<Shared>) -> Response {
        let (api, decided) = (self.api, self.decide(&shared));
        let guard = Guard::new(shared.clone(), decided.number);
        let answer = match decided.decision {
            Ok(answer) => answer,
            Err(error) => return failed(&shared, api, &error, &Answer::new(), guard),
        };
        if let Some(gate) = &answer.held_by {
            shared.gates.pass(gate).await;
        }
        let in_stream = answer.steps.iter().find_map(|step| match step {
            Step::Error(failure) if !decided.stream => Some(failure),
            _ => None,
        });
        if let Some(failure) = answer.failure.as_ref().or(in_stream) {
            return scripted_failure(&shared, api, failure, &answer, guard);
        }
        let asked = Asked { usage: answer.usage, issued: shared.issued.clone(), ..decided.asked };
        let writer = Writer::new(api, renderer(api, asked, shared.ids.clone(), &decided.quirks));
        shared.change(|inner| inner.set_status(decided.number, 200));
        let response = Response::builder().header("x-request-id", format!("req_{}", decided.number));
        let response = response.header("request-id", format!("req_{}", decided.number));
        let (kind, body) = if decided.stream {
            ("text/event-stream; charset=utf-8", Body::from_stream(streamed(shared, answer, writer, guard)))
        } else {
            for step in &answer.steps {
                match step {
                    Step::Gate(name) => shared.gates.pass(name).await,
                    Step::Silence => std::future::pending().await,
                    Step::Mark(name) => shared.mark(name),
                    _ => {}
                }
            }
            let raw: String = answer.steps.iter().filter_map(Step::as_raw).collect();
            let text = if raw.is_empty() { writer.whole(&answer).to_string() } else { raw };
            ("application/json", Body::from_stream(whole(text, &answer, guard)))
        };
        response
            .header(header::CONTENT_TYPE, kind)
            .body(body)
            .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }

    fn decide(&self, shared: &Shared) -> Decided {
        let body = body_json(&self.body);
        let mut said = view::said(self.api, &body);
        if let Some((model, stream)) = &self.model {
            said.model.clone_from(model);
            said.stream = *stream;
        }
        shared.change(|inner| {
            let model = inner.models.iter().find(|model| model.id == said.model).cloned();
            let issued = shared.issued.lock();
            let complaint = self.refused(&body, inner, model.as_ref(), &said.model, &issued);
            drop(issued);
            let number = inner.requests.len();
            let path = self.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
            let asked = check::asked(self.api, &body, &said, model.as_ref());
            let stream = said.stream;
            let request = SeenRequest {
                number,
                api: self.api,
                path,
                headers: headers_map(&self.headers),
                body,
                said,
                at_micros: u64::try_from(shared.epoch.elapsed().as_micros()).unwrap_or(u64::MAX),
                status: None,
                refused: complaint.as_ref().map(|error| error.message.clone()),
            };
            let decision = match complaint {
                Some(error) => Err(error),
                None => inner.rules.answer(&request).ok_or_else(|| {
                    ApiError::invalid("fake-models: nothing in the script answers this request")
                }),
            };
            inner.requests.push(request);
            if let Err(error) = &decision {
                inner.set_status(number, error.status);
            }
            Decided { number, asked, stream, quirks: inner.quirks.clone(), decision }
        })
    }

    fn refused(
        &self,
        body: &Value,
        inner: &Inner,
        model: Option<&Model>,
        name: &str,
        issued: &HashMap<String, String>,
    ) -> Option<ApiError> {
        if let Some(error) = models::unauthorized(self.api, &self.headers) {
            return Some(error);
        }
        if !body.is_object() {
            return Some(check::not_json(self.api));
        }
        let Some(model) = model else { return Some(models::unknown(self.api, name)) };
        let checks = inner.checks && self.api != Api::Compatible;
        checks.then(|| check::check(self.api, &self.headers, body, model, issued).err()).flatten()
    }
}

fn headers_map(headers: &HeaderMap) -> BTreeMap<String, String> {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn scripted_failure(
    shared: &Arc<Shared>,
    api: Api,
    failure: &Failure,
    answer: &Answer,
    guard: Guard,
) -> Response {
    let error = ApiError::scripted(api, failure);
    shared.change(|inner| inner.set_status(guard.number(), error.status));
    match &failure.body {
        Some(body) => {
            let body = Body::from_stream(whole(body.clone(), answer, guard));
            let mut response = (error.http_status(), body).into_response();
            add_retry_after(api, &error, response.headers_mut());
            response
        }
        None => failed(shared, api, &error, answer, guard),
    }
}

fn failed(shared: &Arc<Shared>, api: Api, error: &ApiError, answer: &Answer, guard: Guard) -> Response {
    shared.change(|inner| inner.set_status(guard.number(), error.status));
    let body = Body::from_stream(whole(error.body(api).to_string(), answer, guard));
    let mut response =
        (error.http_status(), [(header::CONTENT_TYPE, "application/json")], body).into_response();
    add_retry_after(api, error, response.headers_mut());
    response
}

fn add_retry_after(api: Api, error: &ApiError, headers: &mut HeaderMap) {
    let Some(seconds) = error.retry_after else { return };
    // Google says it in the body.
    if api == Api::Gemini {
        return;
    }
    headers.insert(header::RETRY_AFTER, (seconds.ceil() as u64).into());
    if matches!(api, Api::Openai | Api::OpenaiResponses) {
        headers.insert("retry-after-ms", ((seconds * 1e3) as u64).into());
    }
}

impl Inner {
    fn set_status(&mut self, number: usize, status: u16) {
        if let Some(request) = self.requests.get_mut(number) {
            request.status = Some(status);
        }
    }
}
