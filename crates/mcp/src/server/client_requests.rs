//! Messages to the client of a request that is under way.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{CancelledNotificationParam, InputRequests, InputResponses, RequestId};

use super::client_scope::ClientScope;
use super::message_sink::MessageSink;
use super::outgoing;
use super::pending_requests::PendingAnswer;
use super::server_requests::ServerRequests;
use crate::client_link::InputRequestError;

/// Sends a message to a client. The future completes when the client has received it or answered.
pub(super) type ClientSendFuture = BoxFuture<'static, ()>;

/// Sends a message that needs no answer.
pub(super) fn send_message(sink: &Arc<dyn MessageSink>, message: String) -> ClientSendFuture {
    let sending = sink.send(message);
    Box::pin(async move {
        // The call of a disconnected client is cancelled elsewhere.
        let _ = sending.await;
    })
}

/// Sends requests to a client with a session, one after the other.
pub(super) fn ask_client(
    sink: Arc<dyn MessageSink>,
    server_requests: Arc<ServerRequests>,
    requests: InputRequests,
    mut pending: PendingAnswer,
    scope: ClientScope,
) -> ClientSendFuture {
    Box::pin(async move {
        let mut given = InputResponses::new();
        for (key, input_request) in requests {
            let mut open = server_requests.open();
            let asking = async {
                let sent = sink.send(outgoing::request(open.id, &input_request)).await;
                if sent.is_err() { None } else { open.answer().await }
            };
            let answer = tokio::select! {
                answer = asking => answer,
                // No one waits for the answers any more.
                () = pending.closed() => {
                    let id = i64::try_from(open.id).unwrap_or_default();
                    let param = CancelledNotificationParam::new(Some(RequestId::Number(id)), None);
                    let _ = sink.send(outgoing::notification("notifications/cancelled", &param)).await;
                    return;
                }
            };
            match answer {
                Some(Ok(result)) => {
                    given.insert(key, result);
                }
                Some(Err(_)) => return pending.submit(&scope, Err(InputRequestError::NotSupported)),
                None => return pending.submit(&scope, Err(InputRequestError::Disconnected)),
            }
        }
        pending.submit(&scope, Ok(given));
    })
}
