//! Messages to the client of a request that is under way.

use std::pin::Pin;

use rmcp::model::{
    ClientResult, InputRequest, InputRequests, InputResponses, LoggingMessageNotificationParam, ServerRequest,
};
use rmcp::{Peer, RoleServer};

use super::client_scope::ClientScope;
use super::pending_requests::PendingAnswer;
use crate::client_link::InputRequestError;

/// Sends a message to a client. The future completes when the client has received it or answered.
pub(super) type ClientSendFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Forwards a log message.
pub(super) fn forward_log(
    peer: Peer<RoleServer>,
    message: LoggingMessageNotificationParam,
) -> ClientSendFuture {
    Box::pin(async move {
        // The call of a disconnected client is cancelled elsewhere.
        let _ = peer.notify_logging_message(message).await;
    })
}

/// Sends requests to a client of an older version, one after the other.
pub(super) fn ask_client(
    peer: Peer<RoleServer>,
    requests: InputRequests,
    mut pending: PendingAnswer,
    scope: ClientScope,
) -> ClientSendFuture {
    Box::pin(async move {
        let asking = async {
            let mut given = InputResponses::new();
            for (key, request) in requests {
                match peer.send_request(as_request(request)).await {
                    Ok(result) => {
                        given.insert(key, as_value(&result));
                    }
                    Err(rmcp::ServiceError::McpError(_)) => return Err(InputRequestError::NotSupported),
                    Err(_) => return Err(InputRequestError::Disconnected),
                }
            }
            Ok(given)
        };
        let given = tokio::select! {
            given = asking => given,
            // No one waits for the answers any more.
            () = pending.closed() => return,
        };
        pending.submit(&scope, given);
    })
}

fn as_request(request: InputRequest) -> ServerRequest {
    match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        // There is no fourth kind, and a client refuses unknown ones.
        _ => ServerRequest::PingRequest(Default::default()),
    }
}

fn as_value(result: &ClientResult) -> serde_json::Value {
    serde_json::to_value(result).unwrap_or_default()
}
