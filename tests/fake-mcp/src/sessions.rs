//! MCP sessions over HTTP as in `rmcp`, with one addition: a tool can close the stream of its own answer, so
//! that the client must reconnect for it (`Last-Event-ID`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::poll_fn;
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};

/// Time that a client should wait before it reconnects.
const RETRY: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct ResumableSessions {
    rmcp: LocalSessionManager,
    /// Stream of each request's answer.
    streams: Mutex<HashMap<(SessionId, RequestId), u64>>,
}

impl ResumableSessions {
    /// Closes the stream of this request; its answer waits for the client.
    pub(crate) async fn close_stream(&self, session: &str, request: &RequestId) {
        let session = SessionId::from(session);
        let stream = self.streams.lock().remove(&(Arc::clone(&session), request.clone()));
        let handle = self.rmcp.sessions.read().await.get(&session).cloned();
        if let (Some(stream), Some(handle)) = (stream, handle) {
            // The client and its session may be gone.
            let _ = handle.close_sse_stream(stream, Some(RETRY)).await;
        }
    }
}

impl SessionManager for ResumableSessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.rmcp.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.rmcp.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.rmcp.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.streams.lock().retain(|(session, _), _| session != id);
        self.rmcp.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let handle = self.rmcp.sessions.read().await.get(id).cloned();
        let handle = handle.ok_or_else(|| LocalSessionManagerError::SessionNotFound(Arc::clone(id)))?;
        let mut receiver = handle.establish_request_wise_channel().await?;
        if let (JsonRpcMessage::Request(request), Some(stream)) = (&message, receiver.http_request_id) {
            self.streams.lock().insert((Arc::clone(id), request.id.clone()), stream);
        }
        handle.push_message(message, receiver.http_request_id).await?;
        Ok(poll_fn(move |cx| receiver.inner.poll_recv(cx)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.rmcp.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.rmcp.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.rmcp.resume(id, last_event_id).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.rmcp.restore_session(id).await
    }
}
