//! `POST`: one message of a client, or a batch.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use rmcp::ErrorData;
use rmcp::model::ProtocolVersion;
use serde_json::value::RawValue;
use toolway_core::{BlockingPool, MemoryPermit};

use super::accept::{AcceptedForms, is_json};
use super::request_headers::{
    Lifecycle, SESSION, check_method_header, check_request_headers, check_version_header, is_modern_header,
    lifecycle, single_header,
};
use super::response::{McpResponseBody, Refusal, empty_response, json_response, single_event};
use super::running_request::{run_in_session, run_stateless};
use super::stream_body::StreamEnd;
use super::{McpHttpServer, SERVER_ERROR};
use crate::server::client_handle::ClientHandle;
use crate::server::client_scope::ClientScope;
use crate::server::dispatch::RequestContext;
use crate::server::json_rpc::{
    self, BLOCKING_PARSE_BYTES, IncomingMessage, IncomingNotification, IncomingRequest, IncomingResponse,
    MessageError, ParsedText,
};
use crate::server::outgoing::{error_message, result_message};
use crate::server::session::DeclaredClient;
use crate::server::sessions::SessionUseGuard;

type PostAnswer = Result<Response<McpResponseBody>, Refusal>;

impl McpHttpServer {
    /// Handles the messages of a body.
    pub(super) async fn post(&self, scope: ClientScope, parts: &Parts, body: Bytes) -> PostAnswer {
        let refuse = |status, words: &'static str| {
            let error = ErrorData::invalid_request(words, None);
            Err(Refusal::new(status, json_rpc::request_id_of(&body), error))
        };
        if !single_header(&parts.headers, &CONTENT_TYPE).is_some_and(is_json) {
            let words = "the body must be JSON, with the header Content-Type: application/json";
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, words);
        }
        let accepted = AcceptedForms::parse(&parts.headers);
        if accepted.takes_nothing() {
            let words = "the answer is application/json or text/event-stream; accept one of them";
            return refuse(StatusCode::NOT_ACCEPTABLE, words);
        }
        let owner = Arc::clone(&scope.caller.principal.id.0);
        match parse(&self.shared.parse_jobs, &owner, body, self.body_bytes).await {
            ParsedText::Empty => {
                let error = ErrorData::parse_error("Parse error: the body is empty", None);
                Err(Refusal::new(StatusCode::BAD_REQUEST, None, error))
            }
            ParsedText::Ignored => Ok(empty_response(StatusCode::ACCEPTED)),
            ParsedText::Invalid(MessageError { id, error }) => {
                Err(Refusal::new(StatusCode::BAD_REQUEST, id, error))
            }
            ParsedText::Message(IncomingMessage::Request(request)) => {
                self.post_request(scope, parts, *request, accepted).await
            }
            ParsedText::Message(IncomingMessage::Notification(notification)) => {
                self.post_notification(&scope, parts, &notification)
            }
            ParsedText::Message(IncomingMessage::Response(response)) => {
                self.post_response(&scope, parts, response)
            }
            ParsedText::Batch(messages) => self.post_batch(&scope, parts, messages, accepted).await,
        }
    }

    async fn post_request(
        &self,
        scope: ClientScope,
        parts: &Parts,
        mut request: IncomingRequest,
        accepted: AcceptedForms,
    ) -> PostAnswer {
        request.memory = parts.extensions.get::<MemoryPermit>().cloned();
        let malformed = |error| Refusal::malformed(&request.raw_id, error);
        let end = self.stream_end(&scope);
        match lifecycle(&parts.headers, &request).map_err(malformed)? {
            Lifecycle::Stateless(version, capabilities) => {
                let server = self.server(scope);
                let tool = match version.has_initialize() {
                    true => None,
                    false => check_request_headers(&parts.headers, &request, &server).map_err(malformed)?,
                };
                let client = ClientHandle::default();
                let context = RequestContext { server, session: None, version, capabilities, client, tool };
                run_stateless(context, request, accepted, end).await
            }
            Lifecycle::Session if request.method == "initialize" => {
                self.initialize(scope, parts, &request, accepted)
            }
            Lifecycle::Session => {
                let session_use = self
                    .named_session(&scope, parts)
                    .map_err(|(status, error)| Refusal::new(status, Some(request.raw_id.clone()), error))?;
                Ok(run_in_session(session_use, vec![request], Vec::new(), false, accepted, end).await)
            }
        }
    }

    /// Starts a session, or repeats the handshake of the one that the request names.
    fn initialize(
        &self,
        scope: ClientScope,
        parts: &Parts,
        request: &IncomingRequest,
        accepted: AcceptedForms,
    ) -> PostAnswer {
        let declared = DeclaredClient::parse(&request.params)
            .map_err(|error| Refusal::malformed(&request.raw_id, error))?;
        let named = single_header(&parts.headers, &SESSION);
        let present = named.and_then(|id| self.sessions.begin_use(id, &scope));
        let (id, result) = match present {
            Some(present) => (present.id.clone(), present.session.client.initialize(declared)),
            None => self.sessions.create(self.server(scope), declared).map_err(|full| {
                let error = ErrorData::new(SERVER_ERROR, full.to_string(), None);
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Some(request.raw_id.clone()), error)
            })?,
        };
        let message = result_message(&request.raw_id, &result);
        let mut response = if accepted.prefers_json() {
            json_response(StatusCode::OK, message)
        } else {
            single_event(&message)
        };
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    fn post_notification(
        &self,
        scope: &ClientScope,
        parts: &Parts,
        notification: &IncomingNotification,
    ) -> PostAnswer {
        if is_modern_header(&parts.headers) {
            check_method_header(&parts.headers, &notification.method)
                .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, None, error))?;
            return Ok(empty_response(StatusCode::ACCEPTED));
        }
        self.session_of_message(scope, parts)?.session.client.notify(notification);
        Ok(empty_response(StatusCode::ACCEPTED))
    }

    fn post_response(&self, scope: &ClientScope, parts: &Parts, response: IncomingResponse) -> PostAnswer {
        // Since 2026-07-28, a client gets no requests.
        if !is_modern_header(&parts.headers) {
            self.session_of_message(scope, parts)?.session.client.respond(response);
        }
        Ok(empty_response(StatusCode::ACCEPTED))
    }

    async fn post_batch(
        &self,
        scope: &ClientScope,
        parts: &Parts,
        messages: Vec<Result<IncomingMessage, MessageError>>,
        accepted: AcceptedForms,
    ) -> PostAnswer {
        let session_use = self.session_of_message(scope, parts)?;
        let version = session_use.session.client.client().map(|client| client.version);
        if version != Some(ProtocolVersion::V_2025_03_26) {
            let error = MessageError::invalid_request(None, "only MCP 2025-03-26 supports batches").error;
            return Err(Refusal::new(StatusCode::BAD_REQUEST, None, error));
        }
        let (mut requests, mut errors) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                Ok(IncomingMessage::Request(request)) if request.method == "initialize" => {
                    let error =
                        MessageError::invalid_request(None, "initialize is not allowed in a batch").error;
                    errors.push(error_message(Some(&request.raw_id), &error));
                }
                Ok(IncomingMessage::Request(mut request)) => {
                    request.memory = parts.extensions.get::<MemoryPermit>().cloned();
                    requests.push(*request);
                }
                Ok(IncomingMessage::Notification(notification)) => {
                    session_use.session.client.notify(&notification);
                }
                Ok(IncomingMessage::Response(response)) => session_use.session.client.respond(response),
                Err(MessageError { id, error }) => errors.push(error_message(id.as_deref(), &error)),
            }
        }
        if requests.is_empty() && errors.is_empty() {
            return Ok(empty_response(StatusCode::ACCEPTED));
        }
        let end = self.stream_end(scope);
        Ok(run_in_session(session_use, requests, errors, true, accepted, end).await)
    }

    /// The session of a message without an id.
    fn session_of_message(&self, scope: &ClientScope, parts: &Parts) -> Result<SessionUseGuard, Refusal> {
        check_version_header(&parts.headers)
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, None, error))?;
        self.named_session(scope, parts).map_err(|(status, error)| Refusal::new(status, None, error))
    }

    fn stream_end(&self, scope: &ClientScope) -> StreamEnd {
        StreamEnd { closing: self.closing.clone(), revoked: scope.revoked.clone() }
    }
}

/// Parses a body of a principal, a long one on another thread.
async fn parse(jobs: &BlockingPool, owner: &str, body: Bytes, limit: usize) -> ParsedText {
    if body.len() <= BLOCKING_PARSE_BYTES {
        return json_rpc::parse(&body, limit);
    }
    let parsing = jobs.run(owner, move || json_rpc::parse(&body, limit));
    parsing.await.unwrap_or_else(|_| {
        ParsedText::Invalid(MessageError::invalid_request(None::<&RawValue>, "the message could not be read"))
    })
}
