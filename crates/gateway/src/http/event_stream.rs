//! What happens in the gateway, as an event stream: until its reader goes, its token ends, or the gateway closes.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::Event;
use futures_util::{Stream, stream};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::ToSchema;

use crate::access::TokenState;
use crate::state::{AppState, TooManyEventStreams};

/// One event of a stream, as its description has it.
#[derive(Serialize, ToSchema)]
pub(super) struct StreamEvent {
    /// The event's type.
    event: String,
    /// A JSON object as text.
    data: String,
}

/// Whose stream it is, with its place among the streams that may be open.
pub(super) struct EventStreamReader {
    token: Arc<TokenState>,
    app: Arc<AppState>,
    _permit: OwnedSemaphorePermit,
}

impl EventStreamReader {
    /// # Errors
    /// Where as many streams are open as may be.
    pub(super) fn new(token: Arc<TokenState>, app: Arc<AppState>) -> Result<Self, TooManyEventStreams> {
        let room = app.reserve_event_stream()?;
        Ok(Self { token, app, _permit: room })
    }
}

/// The events that `shown` makes of what comes; it gives none for what is not this reader's. One of the type
/// `missed` with a number stands for what came faster than it was read.
///
/// `source` is kept for as long as the stream lives; `events` finds what comes in it.
pub(super) fn follow<S: Send + 'static, T: Clone + Send + 'static>(
    source: S,
    events: fn(&mut S) -> &mut Receiver<T>,
    reader: EventStreamReader,
    shown: impl Fn(&T, &TokenState) -> Option<Event> + Send + 'static,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold((source, reader, shown), move |(mut source, reader, shown)| async move {
        loop {
            let event = tokio::select! {
                event = events(&mut source).recv() => event,
                _ = reader.token.wait_until_ended() => return None,
                () = reader.app.closing.cancelled() => return None,
            };
            let event = match event {
                Ok(event) => shown(&event, &reader.token),
                Err(RecvError::Lagged(missed)) => {
                    Some(Event::default().event("missed").data(missed.to_string()))
                }
                Err(RecvError::Closed) => return None,
            };
            if let Some(event) = event {
                return Some((Ok(event), (source, reader, shown)));
            }
        }
    })
}
