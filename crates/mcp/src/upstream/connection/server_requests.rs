//! Requests of a server while it works on a request (`elicitation/create`, `sampling/createMessage` and `roots/list`
//! of the older era). They go to the client of that request and to no other.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, InputRequest, InputRequests};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolway_types::foreign_json;

use super::UpstreamConnection;
use crate::client_link::InputRequestError;
use crate::upstream::capabilities::can_ask;
use crate::upstream::exchange::{MessageOrigin, UpstreamExchange};
use crate::upstream::frame;
use crate::upstream::meta::PROGRESS_TOKEN;

/// The key of the only question.
const KEY: &str = "question";

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
    let exchange = connection.exchange_of(origin).filter(|exchange| exchange.count_question());
    let mut request = json!({"method": method});
    if let (Value::Object(request), Some(params)) = (&mut request, params) {
        let params = foreign_json::from_str(params.get()).unwrap_or_default();
        request.extend(without_progress(params).map(|params| ("params".to_owned(), params)));
    }
    let request = serde_json::from_value::<InputRequest>(request);
    let question = match (exchange, request) {
        (_, Err(error)) => Err(Err(ErrorData::invalid_params(error.to_string(), None))),
        (Some(exchange), Ok(request)) if can_ask(connection.server().definition(), &exchange, &request) => {
            Ok((exchange, request))
        }
        _ => Err(declined_answer(method)),
    };
    let (exchange, request) = match question {
        Ok(question) => question,
        Err(answer) => return connection.send_detached(frame::reply(id, &answer)),
    };
    let (asking, id, method) = (Arc::clone(connection), id.to_owned(), method.to_owned());
    let of = Arc::clone(&exchange);
    let task = tokio::spawn(async move {
        let _room = room;
        let answer = ask_client(&of, request, &method).await;
        asking.send_detached(frame::reply(&id, &answer));
    });
    exchange.track_question(task.abort_handle());
}

/// Removes the server's progress token from the parameters of a question, because it applies only between two
/// neighbours. Returns `None` if nothing else is left.
fn without_progress(mut params: Value) -> Option<Value> {
    if let Some(members) = params.as_object_mut() {
        if let Some(Value::Object(meta)) = members.get_mut("_meta") {
            meta.remove(PROGRESS_TOKEN);
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
    exchange: &UpstreamExchange,
    request: InputRequest,
    method: &str,
) -> Result<Value, ErrorData> {
    let Some(client) = &exchange.client else { return declined_answer(method) };
    if let Some(call) = &exchange.call {
        call.pause_for_person();
    }
    let answers = client.request_input(InputRequests::from([(KEY.to_owned(), request)])).await;
    if let Some(call) = &exchange.call {
        call.resume();
    }
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
