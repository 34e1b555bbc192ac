//! Decoding of recorded responses, without a network: for tests and fuzzing.

use std::sync::Arc;

use crate::adapters::api_of;
use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::request::ModelRequest;
use crate::response;

/// Events of a response, and its error if there was one.
#[derive(Debug, Default, PartialEq)]
pub struct ReplayedResponse {
    /// The events, in order.
    pub events: Vec<ModelEvent>,
    /// Error that ended the response.
    pub error: Option<ModelError>,
}

/// Decodes the body of an HTTP response with status 200, given in pieces, as the provider's adapter does.
pub fn replay<'a>(
    config: &Arc<ProviderConfig>,
    request: &ModelRequest,
    body: impl IntoIterator<Item = &'a [u8]>,
) -> ReplayedResponse {
    let decoder = api_of(config.kind).decoder(config, request);
    let (events, error) = response::read_all(config, decoder, body);
    ReplayedResponse { events: events.into(), error }
}
