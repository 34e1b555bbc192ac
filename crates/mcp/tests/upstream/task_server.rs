//! A server of 2025-11-25, of 2026-07-28 or of both, with one tool that runs only as a task.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::raw_servers::{accepted_response, event_stream_response, result_response, serve};

/// The result of the task, with bytes that no serializer writes.
pub(crate) const RESULT: &str =
    r#"{"content":[{"type":"text","text":"d\u006fne"}],"structuredContent":{"n":1.50}}"#;
const TASK: &str = "io.modelcontextprotocol/related-task";

/// What a server was sent, and how it behaves.
#[derive(Default)]
pub(crate) struct TaskServer {
    /// The requests: method and parameters.
    pub(crate) requests: Mutex<Vec<(String, Value)>>,
    /// The answers to the server's questions, by id.
    pub(crate) answers: Mutex<HashMap<String, Value>>,
    /// Counts requests and answers.
    pub(crate) progress: watch::Sender<usize>,
    /// The refusals of the next polls, with their HTTP status.
    pub(crate) refusals: Mutex<Vec<StatusCode>>,
    /// True to forget every task.
    pub(crate) forgets: bool,
    /// True to use the version 2026-07-28.
    pub(crate) is_modern: bool,
    /// True to use 2026-07-28 for requests without a session, and 2025-11-25 for the others.
    pub(crate) has_both: bool,
    /// True to ask two questions at once.
    pub(crate) asks: bool,
    /// The `pollInterval` of tasks.
    pub(crate) poll_interval: u64,
    /// Number of polls before the task is complete.
    pub(crate) polls: usize,
    /// The stream for messages without a request.
    pub(crate) stream: Mutex<Option<mpsc::UnboundedSender<Value>>>,
    /// The number of sessions.
    pub(crate) sessions: Mutex<usize>,
    /// The values of the header `Mcp-Name`.
    pub(crate) mcp_names: Mutex<Vec<String>>,
}

impl TaskServer {
    pub(crate) fn new() -> Self {
        Self { poll_interval: 100, polls: 1, ..Self::default() }
    }

    /// Starts the server.
    pub(crate) async fn start(self) -> (Arc<Self>, String) {
        let server = Arc::new(self);
        let router = Router::new().fallback(answer).with_state(Arc::clone(&server));
        (Arc::clone(&server), serve(router).await)
    }

    /// Returns the parameters of all requests with this method.
    pub(crate) fn sent(&self, method: &str) -> Vec<Value> {
        let requests = self.requests.lock();
        requests.iter().filter(|(sent, _)| sent == method).map(|(_, params)| params.clone()).collect()
    }

    /// Waits for a request with this method, and returns its parameters.
    pub(crate) async fn wait_for(&self, method: &str) -> Value {
        let mut progress = self.progress.subscribe();
        let found = async {
            loop {
                progress.borrow_and_update();
                if let Some(params) = self.sent(method).pop() {
                    return params;
                }
                progress.changed().await.unwrap();
            }
        };
        tokio::time::timeout(crate::harness::TIMEOUT, found).await.expect("the server is asked")
    }

    /// Sends a message on the stream that belongs to no request, once the client reads it.
    pub(crate) fn announce(&self, method: &str, params: &Value) -> bool {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.stream.lock().as_ref().is_some_and(|stream| stream.send(message).is_ok())
    }

    /// Returns true for a request of version 2026-07-28.
    fn is_modern(&self, headers: &HeaderMap) -> bool {
        self.is_modern || self.has_both && !headers.contains_key("mcp-session-id")
    }

    fn task(&self, status: &str, is_modern: bool) -> Value {
        let mut task = json!({
            "taskId": "task-1", "status": status, "statusMessage": format!("It is {status}"),
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        });
        let (ttl, interval) = if is_modern { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        task[ttl] = json!(60_000);
        task[interval] = json!(self.poll_interval);
        task
    }

    fn is_complete(&self) -> bool {
        let is_answered = !self.asks || self.answers.lock().len() == 2;
        is_answered && self.sent("tasks/get").len() >= self.polls
    }

    /// The answer to a poll.
    fn poll(&self, id: &Value, is_modern: bool) -> Response {
        if self.forgets {
            return error_response(id, -32602, "Failed to retrieve task: Task not found");
        }
        if !self.is_complete() {
            let status = if self.asks { "input_required" } else { "working" };
            return result_response(id, &self.task(status, is_modern).to_string());
        }
        let mut task = self.task("completed", is_modern).to_string();
        if is_modern {
            task.pop();
            task.push_str(&format!(r#","resultType":"complete","result":{RESULT}}}"#));
        }
        result_response(id, &task)
    }

    fn call(&self, id: &Value, params: &Value, is_modern: bool) -> Response {
        let declares = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
        if is_modern && declares["io.modelcontextprotocol/tasks"].is_null() {
            let required = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
            let error = json!({
                "code": -32021, "message": "Missing required client capability",
                "data": {"requiredCapabilities": required},
            });
            let body = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
            return (StatusCode::BAD_REQUEST, [("content-type", "application/json")], body).into_response();
        }
        if is_modern {
            let mut task = self.task("working", true);
            task["resultType"] = json!("task");
            return result_response(id, &task.to_string());
        }
        if params["task"]["ttl"].is_null() {
            return error_response(id, -32601, "Task augmentation required");
        }
        result_response(id, &json!({"task": self.task("working", false)}).to_string())
    }

    /// Waits on a stream until the task is complete, with the questions before the result.
    fn wait_for_result(self: &Arc<Self>, id: &Value) -> Response {
        let result = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{RESULT}}}"#);
        let mut messages = Vec::new();
        if self.asks {
            for question in ["one", "two"] {
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                let params = json!({
                    "mode": "form", "message": question, "requestedSchema": schema,
                    "_meta": {TASK: {"taskId": "task-1"}},
                });
                let request = json!({
                    "jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": params,
                });
                messages.push(request.to_string());
            }
        }
        let (sender, mut receiver) = mpsc::unbounded_channel();
        messages.into_iter().for_each(|message| sender.send(message).unwrap());
        let server = Arc::clone(self);
        tokio::spawn(async move {
            let mut progress = server.progress.subscribe();
            while !server.is_complete() {
                progress.changed().await.unwrap();
            }
            let _ = sender.send(result);
        });
        event_stream_response(Body::from_stream(futures_util::stream::poll_fn(move |cx| {
            let next = receiver.poll_recv(cx);
            next.map(|text| text.map(|text| Ok::<_, Infallible>(format!("data: {text}\n\n"))))
        })))
    }

    fn open_stream(&self) -> Response {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Value>();
        *self.stream.lock() = Some(sender);
        event_stream_response(Body::from_stream(futures_util::stream::poll_fn(move |cx| {
            let next = receiver.poll_recv(cx);
            next.map(|text| text.map(|text| Ok::<_, Infallible>(format!("data: {text}\n\n"))))
        })))
    }
}

fn error_response(id: &Value, code: i64, message: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    ([("content-type", "application/json")], body.to_string()).into_response()
}

fn initialized(server: &TaskServer, id: &Value, params: &Value) -> Response {
    let session = {
        let mut sessions = server.sessions.lock();
        *sessions += 1;
        format!("session-{sessions}")
    };
    let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    let result = json!({
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}, "tasks": tasks},
        "serverInfo": {"name": "tasks", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    ([("content-type", "application/json"), ("mcp-session-id", session.as_str())], body).into_response()
}

async fn answer(State(server): State<Arc<TaskServer>>, request: Request) -> Response {
    if request.method() == Method::GET && !server.is_modern {
        return server.open_stream();
    }
    if request.method() != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let headers: HeaderMap = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let (id, params) = (&message["id"], &message["params"]);
    let is_modern = server.is_modern(&headers);
    let Some(method) = message["method"].as_str() else {
        let key = id.as_str().unwrap_or_default().to_owned();
        server.answers.lock().insert(key, message["result"].clone());
        server.progress.send_modify(|count| *count += 1);
        return accepted_response();
    };
    server.requests.lock().push((method.to_owned(), params.clone()));
    server.progress.send_modify(|count| *count += 1);
    if method.starts_with("tasks/") {
        let name = headers.get("mcp-name").map(|name| name.to_str().unwrap().to_owned());
        server.mcp_names.lock().extend(name);
    }
    match method {
        "server/discover" if is_modern => {
            let capabilities = json!({"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
            });
            result_response(id, &result.to_string())
        }
        "initialize" if !server.is_modern => initialized(&server, id, params),
        "tools/list" => {
            let execution = if is_modern { json!({}) } else { json!({"taskSupport": "required"}) };
            let tool = json!({"name": "job", "inputSchema": {"type": "object"}, "execution": execution});
            result_response(id, &json!({"tools": [tool]}).to_string())
        }
        "tools/call" => server.call(id, params, is_modern),
        "tasks/get" => match server.refusals.lock().pop() {
            Some(status) => status.into_response(),
            None => server.poll(id, is_modern),
        },
        "tasks/result" => server.wait_for_result(id),
        "tasks/cancel" => result_response(id, &server.task("cancelled", is_modern).to_string()),
        method if method.starts_with("notifications/") => accepted_response(),
        _ => error_response(id, -32601, "unknown method"),
    }
}
