//! Requests of a server while it works on a request (`elicitation/create`, `sampling/createMessage` and `roots/list`
//! of the older era). They go to the client of that request and to no other.

use std::sync::Arc;

use futures_util::FutureExt as _;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, InputRequest, InputRequests};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use toolway_types::foreign_json;

use super::UpstreamConnection;
use crate::client_link::InputRequestError;
use crate::upstream::capabilities::can_ask;
use crate::upstream::exchange::{MessageOrigin, UpstreamExchange};
use crate::upstream::frame;
use crate::upstream::meta::PROGRESS_TOKEN;

/// The key of the only question.
const KEY: &str = "question";
/// The key of a message's task in `_meta` (2025-11-25, "Tasks").
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// Handles a request of the server.
pub(super) fn handle_request(
    connection: &Arc<UpstreamConnection>,
    id: &RawValue,
    method: &str,
    params: Option<&RawValue>,
    origin: MessageOrigin<'_>,
) {
    let Ok(room) = Arc::clone(&connection.server_request_permits).try_acquire_owned() else {
        connection.log_anomaly("it sends too many requests at a time");
        return;
    };
    if !matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list") {
        let answer = match method {
            "ping" => Ok(json!({})),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"), None)),
        };
        connection.send_detached(frame::reply(id, &answer));
        return;
    }
    let task = params.and_then(related_task);
    let mut request = json!({"method": method});
    if let (Value::Object(request), Some(params)) = (&mut request, params) {
        let params = foreign_json::from_str(params.get()).unwrap_or_default();
        request.extend(without_hop_meta(params).map(|params| ("params".to_owned(), params)));
    }
    let request = match serde_json::from_value::<InputRequest>(request) {
        Ok(request) => request,
        Err(error) => {
            let answer = Err::<Value, _>(ErrorData::invalid_params(error.to_string(), None));
            return connection.send_detached(frame::reply(id, &answer));
        }
    };
    let question =
        ServerQuestion { request, method: method.to_owned(), id: id.to_owned(), task, _room: room };
    match &question.task {
        None => question.start(connection, connection.exchange_of(origin)),
        Some(task) => match connection.followed_tasks().exchange(task) {
            Some(exchange) => question.start(connection, Some(exchange)),
            // The task may have been created just now.
            None => {
                let own = match origin {
                    MessageOrigin::Exchange(exchange) if exchange.is_kept() => Some(Arc::clone(exchange)),
                    _ => None,
                };
                let (connection, task) = (Arc::clone(connection), task.clone());
                tokio::spawn(async move {
                    let found = connection.followed_tasks().wait_for_exchange(&task).await;
                    question.start(&connection, found.or(own));
                });
            }
        },
    }
}

/// A question of the server to a client.
struct ServerQuestion {
    request: InputRequest,
    method: String,
    id: Box<RawValue>,
    /// The task that the question belongs to (2025-11-25, "Tasks").
    task: Option<String>,
    _room: OwnedSemaphorePermit,
}

impl ServerQuestion {
    /// Asks the client of this exchange, and replies to the server.
    fn start(self, connection: &Arc<UpstreamConnection>, exchange: Option<Arc<UpstreamExchange>>) {
        let may_ask = |exchange: &Arc<UpstreamExchange>| {
            exchange.count_question() && can_ask(connection.server().definition(), exchange, &self.request)
        };
        let Some(exchange) = exchange.filter(may_ask) else {
            return self.reply(connection, declined_answer(&self.method));
        };
        let (connection, of) = (Arc::clone(connection), Arc::clone(&exchange));
        let mut asking = Box::pin(async move {
            let answer = ask_client(&of, self.request.clone(), &self.method).await;
            self.reply(&connection, answer);
        });
        // Begun here and not in the task, so that the client gets the questions in the order of the server.
        if asking.as_mut().now_or_never().is_none() {
            let task = tokio::spawn(asking);
            exchange.track_question(task.abort_handle());
        }
    }

    fn reply(&self, connection: &Arc<UpstreamConnection>, mut answer: Result<Value, ErrorData>) {
        if let (Some(task), Ok(Value::Object(answer))) = (&self.task, &mut answer)
            && let Value::Object(meta) = answer.entry("_meta").or_insert_with(|| json!({}))
        {
            meta.insert(RELATED_TASK.to_owned(), json!({"taskId": task}));
        }
        connection.send_detached(frame::reply(&self.id, &answer));
    }
}

/// The id of the task that a message belongs to.
pub(super) fn related_task(params: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct MessageParams {
        #[serde(rename = "_meta")]
        meta: RelatedTaskMeta,
    }
    #[derive(Deserialize)]
    struct RelatedTaskMeta {
        #[serde(rename = "io.modelcontextprotocol/related-task")]
        task: RelatedTask,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RelatedTask {
        task_id: String,
    }
    if !params.get().contains(RELATED_TASK) {
        return None;
    }
    foreign_json::from_str::<MessageParams>(params.get()).ok().map(|params| params.meta.task.task_id)
}

/// Removes the server's progress token and task from the parameters of a question, because they apply only between
/// two neighbours. Returns `None` if nothing else is left.
fn without_hop_meta(mut params: Value) -> Option<Value> {
    if let Some(members) = params.as_object_mut() {
        if let Some(Value::Object(meta)) = members.get_mut("_meta") {
            meta.remove(PROGRESS_TOKEN);
            meta.remove(RELATED_TASK);
            if meta.is_empty() {
                members.remove("_meta");
            }
        }
        if members.is_empty() {
            return None;
        }
    }
    Some(params)
}

/// Asks the client of a request.
async fn ask_client(
    exchange: &Arc<UpstreamExchange>,
    request: InputRequest,
    method: &str,
) -> Result<Value, ErrorData> {
    let Some(client) = &exchange.client else { return declined_answer(method) };
    let waiting = exchange.wait_for_person();
    let answers = client.request_input(InputRequests::from([(KEY.to_owned(), request)])).await;
    drop(waiting);
    match answers {
        Ok(mut answers) => answers
            .remove(KEY)
            .ok_or_else(|| ErrorData::internal_error("the client answered something else", None)),
        Err(
            InputRequestError::NotSupported | InputRequestError::Disconnected | InputRequestError::TooMany,
        ) => declined_answer(method),
        Err(InputRequestError::TimedOut) if method == "elicitation/create" => declined_answer(method),
        Err(late @ InputRequestError::TimedOut) => Err(ErrorData::internal_error(late.to_string(), None)),
    }
}

/// The response if nobody can be asked: a question for a person is cancelled, other requests are not supported.
fn declined_answer(method: &str) -> Result<Value, ErrorData> {
    match method {
        "elicitation/create" => Ok(json!({"action": "cancel"})),
        _ => {
            let message = format!("the client of this request does not support {method}");
            Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
        }
    }
}

#[cfg(test)]
mod tests;
