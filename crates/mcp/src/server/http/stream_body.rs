//! The body of a stream: its events, and comments while it is idle. It ends with the stream, with the client's access,
//! or with the gateway.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::response::{McpResponseBody, stream_response};
use crate::server::event_stream::{EventReader, KEEP_ALIVE};
use crate::server::http_session::HttpSession;
use crate::server::sessions::SessionUseGuard;

/// Time between comments on an idle stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The signals that end a stream.
#[derive(Debug, Clone)]
pub(super) struct StreamEnd {
    pub(super) closing: CancellationToken,
    pub(super) revoked: CancellationToken,
}

struct StreamState {
    reader: Option<EventReader>,
    end: StreamEnd,
    _session_use: Option<SessionUseGuard>,
    /// The session and the number of the stream, if a session's request has it.
    request: Option<(Arc<HttpSession>, u64)>,
    /// Cancels the request when the client disconnects.
    _cancel: Option<DropGuard>,
}

impl Drop for StreamState {
    fn drop(&mut self) {
        // The reader leaves before its stream is settled.
        self.reader.take();
        if let Some((session, number)) = &self.request {
            session.settle_stream(*number);
        }
    }
}

/// The response with the events of a stream.
pub(super) fn response(
    reader: EventReader,
    end: StreamEnd,
    session_use: Option<SessionUseGuard>,
    request: Option<(Arc<HttpSession>, u64)>,
    cancel: Option<DropGuard>,
) -> Response<McpResponseBody> {
    let state =
        StreamState { reader: Some(reader), end, _session_use: session_use, request, _cancel: cancel };
    let events = stream::unfold(state, |mut state| async move {
        let reader = state.reader.as_mut()?;
        let event: Option<Bytes> = tokio::select! {
            biased;
            event = reader.next_event() => event,
            () = state.end.revoked.cancelled() => None,
            () = state.end.closing.cancelled() => None,
            () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => Some(KEEP_ALIVE),
        };
        Some((Ok::<_, Infallible>(Frame::data(event?)), state))
    });
    stream_response(StreamBody::new(events).boxed_unsync())
}
