//! Events of the gateway as an event stream, until the reader leaves, its token ends or the gateway closes.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::Event;
use futures_util::{Stream, stream};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use toolway_api::event_stream::LAGGED;

use crate::access::TokenState;
use crate::principal_shares::SharedPlace;
use crate::state::{AppState, TooManyEventStreams};

/// The reader of a stream, with its place within the limit of open streams.
pub(super) struct EventStreamReader {
    token: Arc<TokenState>,
    app: Arc<AppState>,
    _permit: SharedPlace,
}

impl EventStreamReader {
    /// # Errors
    /// If too many streams are open.
    pub(super) fn new(token: Arc<TokenState>, app: Arc<AppState>) -> Result<Self, TooManyEventStreams> {
        let room = app.reserve_event_stream(&token.principal)?;
        Ok(Self { token, app, _permit: room })
    }
}

/// The events of `source`, as `shown` writes them; it returns none for events of others. The event `lagged` contains
/// the number of events that a slow reader missed.
///
/// The stream keeps `source` alive; `events` returns its receiver.
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
                    Some(Event::default().event(LAGGED).data(missed.to_string()))
                }
                Err(RecvError::Closed) => return None,
            };
            if let Some(event) = event {
                return Some((Ok(event), (source, reader, shown)));
            }
        }
    })
}
