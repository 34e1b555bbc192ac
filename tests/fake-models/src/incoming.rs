//! A request to a model: read, checked, noted, and answered as the script says.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::answer::{Answer, Step};
use crate::api::Api;
use crate::error::ApiError;
use crate::failure::Failure;
use crate::quirks::Quirks;
use crate::render::{Asked, Writer, renderer};
use crate::script::{Model, body_json};
use crate::seen::SeenRequest;
use crate::shared::{Inner, Shared};
use crate::stream::{Guard, streamed, whole};
use crate::{check, models, view};

pub(crate) async fn chat(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    Incoming { api: Api::Openai, uri, headers, body, model: None }.answered(shared).await
}

pub(crate) async fn compatible(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    Incoming { api: Api::Compatible, uri, headers, body, model: None }.answered(shared).await
}

pub(crate) async fn responses(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    Incoming { api: Api::OpenaiResponses, uri, headers, body, model: None }.answered(shared).await
}

pub(crate) async fn messages(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    Incoming { api: Api::Anthropic, uri, headers, body, model: None }.answered(shared).await
}

pub(crate) async fn generate(
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
        let at_micros = u64::try_from(shared.epoch.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (api, decided) = (self.api, self.decide(&shared, at_micros));
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

    fn decide(&self, shared: &Shared, at_micros: u64) -> Decided {
        let sent = body_json(&self.body);
        let body = if self.api == Api::Gemini { view::camel(&sent) } else { sent.clone() };
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
                body: sent,
                said,
                at_micros,
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
