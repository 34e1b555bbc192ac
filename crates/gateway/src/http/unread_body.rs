//! Discards the unread rest of a request's body. Closing a connection while the client is still sending can
//! lose the response with the error, so a bounded part of the rest is read first, for example after a
//! rejection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use bytes::Bytes;
use http::header::EXPECT;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;

/// Maximum time for the rest of a body, unless `timeouts.request_s` is shorter.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// The place that a body returns to when it is dropped before its end.
#[derive(Debug)]
pub(super) struct UnreadBody(Arc<Mutex<Option<Body>>>);

/// A body that returns to its [`UnreadBody`].
struct ReturningBody {
    body: Option<Body>,
    return_slot: Arc<Mutex<Option<Body>>>,
}

/// Makes a request's body return when it is dropped, if the body has not arrived completely.
pub(super) fn track_body(request: Request) -> (Request, Option<UnreadBody>) {
    // A client that waits for `100 Continue` has sent nothing, and will not.
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return (request, None);
    }
    let back = Arc::default();
    let unread = UnreadBody(Arc::clone(&back));
    (request.map(|body| Body::new(ReturningBody { body: Some(body), return_slot: back })), Some(unread))
}

impl UnreadBody {
    /// Reads and discards the rest of the body, up to `most` bytes and for at most `time`.
    pub(super) async fn discard(self, most: usize, time: Duration) {
        let Some(mut body) = self.0.lock().take() else { return };
        let mut left = most;
        let taking = async {
            while let Some(Ok(frame)) = body.frame().await {
                left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
                if left == 0 {
                    break;
                }
            }
        };
        // The response is the same, regardless of the result.
        let _ = tokio::time::timeout(DISCARD_TIMEOUT.min(time), taking).await;
    }
}

impl HttpBody for ReturningBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}

impl Drop for ReturningBody {
    fn drop(&mut self) {
        let left = self.body.take().filter(|body| !body.is_end_stream());
        *self.return_slot.lock() = left;
    }
}
