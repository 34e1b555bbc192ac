//! Messages to the client of a request that is under way.

use std::pin::Pin;

use rmcp::model::{
    ClientResult, InputRequest, InputRequests, InputResponses, LoggingMessageNotificationParam, ServerRequest,
};
use rmcp::{Peer, RoleServer};

use super::client_scope::ClientScope;
use super::pending_requests::PendingAnswer;
use crate::client_link::InputRequestError;

/// Saying something to a client; takes as long as the client takes.
pub(super) type ClientSendFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Passes a log message on.
pub(super) fn forward_log(
    peer: Peer<RoleServer>,
    message: LoggingMessageNotificationParam,
) -> ClientSendFuture {
    Box::pin(async move {
        // A client that has gone has its call cancelled.
        let _ = peer.notify_logging_message(message).await;
    })
}

/// Asks an older client, one question after the other.
pub(super) fn ask_client(
    peer: Peer<RoleServer>,
    requests: InputRequests,
    mut pending: PendingAnswer,
    visitor: ClientScope,
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
            // Nobody waits any more.
            () = pending.closed() => return,
        };
        pending.submit(&visitor, given);
    })
}

fn as_request(request: InputRequest) -> ServerRequest {
    match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        // There is no fourth kind; a client says that it does not know this one.
        _ => ServerRequest::PingRequest(Default::default()),
    }
}

fn as_value(result: &ClientResult) -> serde_json::Value {
    serde_json::to_value(result).unwrap_or_default()
}
