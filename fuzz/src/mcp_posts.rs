//! Requests of MCP clients over HTTP: headers and bodies.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use toolway_core::{
    Arguments, BlockingPool, CallContext, Caller, Engine, EngineParts, EntryPoint, Lease, Registry,
    SourceRetention, Tool, ToolSpec, UnlimitedMemory,
};
use toolway_mcp::offering::NoOfferings;
use toolway_mcp::server::{
    ClientScope, EndpointScope, McpHttpServer, McpResponseBody, McpServerState, McpSessionLimits, McpSessions,
};
use toolway_models::transport::SseParser;
use toolway_types::{
    Principal, PrincipalId, RawJson, Role, SpecDocument, SystemClock, ToolError, ToolOutput, foreign_json,
};

/// Maximum number of requests in one input.
const MAX_REQUESTS: usize = 4;
/// Maximum size of a body, in bytes.
const MAX_BODY: usize = 1 << 20;
/// Maximum number of pieces to read of a stream that does not end.
const MAX_FRAMES: usize = 16;
/// Value of `Mcp-Session-Id` that stands for the last session that a request of the input opened.
const SESSION_PLACEHOLDER: &str = "session";
const SESSION: &str = "mcp-session-id";
const SCHEMA: &str = r#"{"type":"object","properties":{"place":{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"}}},"count":{"type":"integer","x-mcp-header":"Count"}}}"#;

/// Tests requests to `/mcp`, separated by NUL: lines with headers, an empty line, the body. A line without a colon is
/// the method. The server's only tool, `echo`, returns its arguments.
pub fn mcp_post(data: &[u8]) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let server = TestServer::new();
        let mut session = None;
        for request in data.split(|byte| *byte == 0).take(MAX_REQUESTS) {
            let Some(request) = read_request(request, session.as_ref()) else { continue };
            let given = request.clone();
            let response = server.http.serve(server.scope.clone(), request).await;
            session = response.headers().get(SESSION).cloned().or(session);
            check_response(&given, response).await;
        }
        server.http.sessions().len()
    });
}

/// Returns a request without a response, or `None` if it is not one.
fn read_request(text: &[u8], session: Option<&HeaderValue>) -> Option<Request<Bytes>> {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = Method::POST;
    let mut rest = text;
    while let Some((line, after)) = split_line(rest) {
        rest = after;
        if line.is_empty() {
            break;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            *request.method_mut() = Method::from_bytes(line).ok()?;
            continue;
        };
        let (name, value) = line.split_at_checked(colon)?;
        let value = value.get(1..)?.trim_ascii();
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) else {
            continue;
        };
        let is_placeholder = name.as_str() == SESSION && value == SESSION_PLACEHOLDER;
        let value = session.filter(|_| is_placeholder).cloned().unwrap_or(value);
        request.headers_mut().append(name, value);
    }
    *request.body_mut() = Bytes::copy_from_slice(rest);
    Some(request)
}

fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = text.split_at_checked(end)?;
    Some((line.strip_suffix(b"\r").unwrap_or(line), rest.get(1..)?))
}

/// A message of the server.
#[derive(Deserialize)]
struct Message<'m> {
    jsonrpc: &'m str,
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    method: Option<&'m RawValue>,
    #[serde(borrow, default)]
    result: Option<&'m RawValue>,
    #[serde(borrow, default)]
    error: Option<&'m RawValue>,
}

/// The parts of a request that its response repeats.
#[derive(Deserialize)]
struct Sent<'m> {
    #[serde(borrow, default)]
    id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    params: Option<SentParams<'m>>,
}

#[derive(Deserialize)]
struct SentParams<'m> {
    #[serde(borrow, default)]
    arguments: Option<&'m RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'m> {
    #[serde(borrow, default)]
    structured_content: Option<&'m RawValue>,
}

/// Checks that a response consists of messages, and that it repeats the request's id and arguments byte for byte.
async fn check_response(request: &Request<Bytes>, response: Response<McpResponseBody>) {
    let status = response.status();
    assert!(!status.is_server_error() || status == StatusCode::SERVICE_UNAVAILABLE, "{status}");
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    let body = read_body(response.into_body()).await;
    // The stream of a GET has messages of earlier requests.
    let sent = Some(request.body()).filter(|_| request.method() == Method::POST);
    match kind.as_deref() {
        Some("application/json") => {
            let body = std::str::from_utf8(&body).expect("JSON is UTF-8");
            if body.starts_with('[') {
                let messages: Vec<&RawValue> = serde_json::from_str(body).expect("a batch");
                messages.iter().for_each(|message| check_message(None, message.get()));
            } else {
                check_message(sent, body);
            }
        }
        Some("text/event-stream") => {
            let mut events = SseParser::with_limit(4 * MAX_BODY);
            events.push(&body);
            while let Some(event) = events.next_event().expect("an event within the limit") {
                if !event.data.is_empty() {
                    check_message(sent, &event.data);
                }
            }
        }
        None => assert!(body.is_empty(), "{status} {body:?}"),
        Some(other) => panic!("an answer of the type {other}"),
    }
}

async fn read_body(mut body: McpResponseBody) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..MAX_FRAMES {
        match timeout(Duration::from_secs(5), body.frame()).await {
            Ok(Some(Ok(frame))) => bytes.extend(frame.into_data().unwrap_or_default()),
            _ => break,
        }
    }
    bytes
}

fn check_message(request: Option<&Bytes>, text: &str) {
    let message: Message<'_> = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(message.jsonrpc, "2.0");
    let parts = [message.method, message.result, message.error];
    assert_eq!(parts.iter().flatten().count(), 1, "{text}");
    // Half surrogate pairs are replaced before a message is parsed.
    let sent = request.map(|sent| foreign_json::repair(sent)).unwrap_or_default();
    let Ok(sent) = serde_json::from_str::<Sent<'_>>(&sent) else { return };
    if message.method.is_some() {
        return;
    }
    if let (Some(given), Some(id)) = (sent.id, message.id.filter(|id| id.get() != "null")) {
        assert_eq!(id.get(), given.get(), "another id");
    }
    let result = message.result.map(|result| serde_json::from_str::<CallResult<'_>>(result.get()));
    let echoed = result.and_then(Result::ok).and_then(|result| result.structured_content);
    if let (Some(echoed), Some(given)) = (echoed, sent.params.and_then(|params| params.arguments)) {
        // An optional null may be removed.
        assert!(
            echoed.get() == given.get() || given.get().contains("null"),
            "{} {}",
            echoed.get(),
            given.get()
        );
    }
}

struct EchoTool(Arc<ToolSpec>);

#[async_trait]
impl Tool for EchoTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    async fn execute(&self, arguments: Arguments, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::new(Vec::new(), Some(arguments.raw().clone())))
    }

    fn can_run_inline(&self) -> bool {
        true
    }
}

struct TestServer {
    http: McpHttpServer,
    scope: ClientScope,
    _lease: Lease,
}

impl TestServer {
    fn new() -> Self {
        thread_local!(static SPEC: Arc<ToolSpec> = {
            let parameters = Some(RawJson::parse(SCHEMA).expect("our own schema"));
            let document = SpecDocument { parameters, ..SpecDocument::named("echo") };
            Arc::new(ToolSpec::compile(document).expect("our own schema"))
        });
        let registry = Registry::new();
        let source: toolway_types::Slug = "desk".parse().expect("a slug");
        let lease = registry.lease(source.clone(), SourceRetention::Nothing);
        lease.replace(vec![Arc::new(EchoTool(SPEC.with(Arc::clone)))]);
        let clock = Arc::new(SystemClock);
        let engine = Engine::new(EngineParts::new(registry, Arc::clone(&clock) as _));
        let jobs = Arc::new(BlockingPool::new(1, 1));
        let answer_timeout = Duration::from_secs(1);
        let shared = McpServerState::new(engine, Arc::new(NoOfferings), "1", answer_timeout, clock, jobs);
        let principal = Principal { id: PrincipalId::from("t"), role: Role::Owner, agent: None };
        let scope = ClientScope {
            caller: Caller::new(Arc::new(principal), EntryPoint::Mcp),
            scope: EndpointScope::Source(source),
            restrictions: Arc::default(),
            revoked: Default::default(),
        };
        let limits =
            McpSessionLimits { max_sessions: 2, max_per_principal: 2, idle_timeout: Duration::from_secs(60) };
        let sessions = McpSessions::new(limits, Arc::new(UnlimitedMemory));
        Self {
            http: McpHttpServer::new(shared, sessions, MAX_BODY, Default::default()),
            scope,
            _lease: lease,
        }
    }
}
