//! A request to a model: parses, validates, records and answers it as in the script.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::api::ApiKind;
use crate::error::ProviderApiError;
use crate::failure::ScriptedFailure;
use crate::quirks::ApiQuirks;
use crate::received_request::ReceivedRequest;
use crate::renderer::{RenderParams, StepWriter, renderer};
use crate::script::{FakeModel, body_json};
use crate::scripted_response::{ResponseStep, ScriptedResponse};
use crate::state::{FakeModelsState, ScriptState};
use crate::stream::{ResponseEndGuard, streamed_body, whole_body};
use crate::{models, request_parser, validation};

pub(crate) async fn chat(
    State(shared): State<Arc<FakeModelsState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    IncomingRequest { api: ApiKind::Openai, uri, headers, body, model: None }.respond(shared).await
}

pub(crate) async fn compatible(
    State(shared): State<Arc<FakeModelsState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    IncomingRequest { api: ApiKind::Compatible, uri, headers, body, model: None }.respond(shared).await
}

pub(crate) async fn responses(
    State(shared): State<Arc<FakeModelsState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    IncomingRequest { api: ApiKind::OpenaiResponses, uri, headers, body, model: None }.respond(shared).await
}

pub(crate) async fn messages(
    State(shared): State<Arc<FakeModelsState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    IncomingRequest { api: ApiKind::Anthropic, uri, headers, body, model: None }.respond(shared).await
}

pub(crate) async fn generate(
    State(shared): State<Arc<FakeModelsState>>,
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
    IncomingRequest { api: ApiKind::Gemini, uri, headers, body, model }.respond(shared).await
}

/// A request to a model.
struct IncomingRequest {
    api: ApiKind,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    /// Gemini: the model, and true for a stream, from the path.
    model: Option<(String, bool)>,
}

/// Decision about a request.
struct RequestDecision {
    number: usize,
    params: RenderParams,
    stream: bool,
    quirks: ApiQuirks,
    decision: Result<ScriptedResponse, ProviderApiError>,
}

impl IncomingRequest {
    async fn respond(self, shared: Arc<FakeModelsState>) -> Response {
        let at_micros = u64::try_from(shared.epoch.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (api, decided) = (self.api, self.decide(&shared, at_micros));
        let guard = ResponseEndGuard::new(shared.clone(), decided.number);
        let answer = match decided.decision {
            Ok(answer) => answer,
            Err(error) => return failure_response(&shared, api, &error, &ScriptedResponse::new(), guard),
        };
        if let Some(gate) = &answer.held_by {
            shared.gates.wait_to_pass(gate).await;
        }
        let in_stream = answer.steps.iter().find_map(|step| match step {
            ResponseStep::Error(failure) if !decided.stream => Some(failure),
            _ => None,
        });
        if let Some(failure) = answer.failure.as_ref().or(in_stream) {
            return scripted_failure(&shared, api, failure, &answer, guard);
        }
        let asked = RenderParams { usage: answer.usage, issued: shared.issued.clone(), ..decided.params };
        let writer = StepWriter::new(api, renderer(api, asked, shared.ids.clone(), &decided.quirks));
        shared.update(|inner| inner.set_status(decided.number, 200));
        let response = Response::builder().header("x-request-id", format!("req_{}", decided.number));
        let response = response.header("request-id", format!("req_{}", decided.number));
        let (kind, body) = if decided.stream {
            (
                "text/event-stream; charset=utf-8",
                Body::from_stream(streamed_body(shared, answer, writer, guard)),
            )
        } else {
            for step in &answer.steps {
                match step {
                    ResponseStep::Gate(name) => shared.gates.wait_to_pass(name).await,
                    ResponseStep::Silence => std::future::pending().await,
                    ResponseStep::Mark(name) => shared.mark(name),
                    _ => {}
                }
            }
            let raw: String = answer.steps.iter().filter_map(ResponseStep::as_raw).collect();
            let text = if raw.is_empty() { writer.write_whole(&answer).to_string() } else { raw };
            ("application/json", Body::from_stream(whole_body(text, &answer, guard)))
        };
        response
            .header(header::CONTENT_TYPE, kind)
            .body(body)
            .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }

    fn decide(&self, shared: &FakeModelsState, at_micros: u64) -> RequestDecision {
        let sent = body_json(&self.body);
        let body =
            if self.api == ApiKind::Gemini { request_parser::to_camel_case(&sent) } else { sent.clone() };
        let mut said = request_parser::parse_request(self.api, &body);
        if let Some((model, stream)) = &self.model {
            said.model.clone_from(model);
            said.stream = *stream;
        }
        shared.update(|inner| {
            let model = inner.models.iter().find(|model| model.id == said.model).cloned();
            let issued = shared.issued.lock();
            let complaint = self.refused(&body, inner, model.as_ref(), &said.model, &issued);
            drop(issued);
            let number = inner.requests.len();
            let path = self.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
            let asked = validation::render_params(self.api, &body, &said, model.as_ref());
            let stream = said.stream;
            let request = ReceivedRequest {
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
                    ProviderApiError::invalid("fake-models: nothing in the script answers this request")
                }),
            };
            inner.requests.push(request);
            if let Err(error) = &decision {
                inner.set_status(number, error.status);
            }
            RequestDecision { number, params: asked, stream, quirks: inner.quirks.clone(), decision }
        })
    }

    fn refused(
        &self,
        body: &Value,
        inner: &ScriptState,
        model: Option<&FakeModel>,
        name: &str,
        issued: &HashMap<String, String>,
    ) -> Option<ProviderApiError> {
        if let Some(error) = models::unauthorized(self.api, &self.headers) {
            return Some(error);
        }
        if !body.is_object() {
            return Some(validation::not_json(self.api));
        }
        let Some(model) = model else { return Some(models::model_not_found(self.api, name)) };
        let checks = inner.checks && self.api != ApiKind::Compatible;
        checks.then(|| validation::check(self.api, &self.headers, body, model, issued).err()).flatten()
    }
}

fn headers_map(headers: &HeaderMap) -> BTreeMap<String, String> {
    let text = |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn scripted_failure(
    shared: &Arc<FakeModelsState>,
    api: ApiKind,
    failure: &ScriptedFailure,
    answer: &ScriptedResponse,
    guard: ResponseEndGuard,
) -> Response {
    let error = ProviderApiError::scripted(api, failure);
    shared.update(|inner| inner.set_status(guard.number(), error.status));
    match &failure.body {
        Some(body) => {
            let body = Body::from_stream(whole_body(body.clone(), answer, guard));
            let mut response = (error.http_status(), body).into_response();
            add_retry_after(api, &error, response.headers_mut());
            response
        }
        None => failure_response(shared, api, &error, answer, guard),
    }
}

fn failure_response(
    shared: &Arc<FakeModelsState>,
    api: ApiKind,
    error: &ProviderApiError,
    answer: &ScriptedResponse,
    guard: ResponseEndGuard,
) -> Response {
    shared.update(|inner| inner.set_status(guard.number(), error.status));
    let body = Body::from_stream(whole_body(error.body(api).to_string(), answer, guard));
    let mut response =
        (error.http_status(), [(header::CONTENT_TYPE, "application/json")], body).into_response();
    add_retry_after(api, error, response.headers_mut());
    response
}

fn add_retry_after(api: ApiKind, error: &ProviderApiError, headers: &mut HeaderMap) {
    let Some(seconds) = error.retry_after else { return };
    // Google reports it in the body.
    if api == ApiKind::Gemini {
        return;
    }
    headers.insert(header::RETRY_AFTER, (seconds.ceil() as u64).into());
    if matches!(api, ApiKind::Openai | ApiKind::OpenaiResponses) {
        headers.insert("retry-after-ms", ((seconds * 1e3) as u64).into());
    }
}
