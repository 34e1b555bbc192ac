//! Counts the body of a response in the memory of its principal until it is sent: a client that does not read must not
//! make the gateway hold more than its share.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::extractors::no_memory;
use crate::access::RequestPrincipal;
use crate::memory_budget::MemoryReservation;
use crate::peer_connection::PeerConnection;
use crate::state::AppState;

/// Size of a body up to which it is not counted, in bytes.
const SMALL_BODY: usize = 64 << 10;
/// Size of the parts in which a body is sent, in bytes. Only the last one is not counted while it is sent.
const PART: usize = 64 << 10;

/// Counts the response of a request.
pub(super) struct ResponseCounter {
    principal: RequestPrincipal,
    connection: Option<PeerConnection>,
}

/// Prepares a request for [`ResponseCounter::count`].
pub(super) fn prepare(mut request: Request) -> (Request, ResponseCounter) {
    let principal = RequestPrincipal::default();
    request.extensions_mut().insert(principal.clone());
    let connection = request.extensions().get::<PeerConnection>().cloned();
    (request, ResponseCounter { principal, connection })
}

impl ResponseCounter {
    /// Counts the body of a response, if it is large and its size is known. Returns 503 if there is no memory for it.
    pub(super) fn count(&self, app: &AppState, response: Response) -> Response {
        let size = response.body().size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let Some(size) = size.filter(|size| *size > SMALL_BODY) else { return response };
        let closed = self.connection.as_ref().map(|it| it.out_of_memory().clone()).unwrap_or_default();
        let account = match self.principal.get() {
            Some(principal) => app.memory.open_closed_by(principal, closed),
            None => app.memory.open_anonymous(),
        };
        match account.reserve(size) {
            Ok(memory) => {
                response.map(|body| Body::new(CountedBody { body, rest: Bytes::new(), _memory: memory }))
            }
            Err(refusal) => no_memory(refusal).into_response(),
        }
    }
}

/// A body that holds its memory until its last part is taken.
struct CountedBody {
    body: Body,
    /// Data that was taken from the body and is not sent yet.
    rest: Bytes,
    _memory: MemoryReservation,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return other,
            }
        }
        let part = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(part)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

#[cfg(test)]
mod tests;
