//! Reads an answer that was recorded, with no network in between: for tests, and for whoever looks for what a parser
//! makes of bytes.

use std::sync::Arc;

use crate::adapters::api_of;
use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::request::ModelRequest;
use crate::response;

/// The events of an answer, and the error that ended it where one did.
#[derive(Debug, Default, PartialEq)]
pub struct ReplayedResponse {
    /// The events, in order.
    pub events: Vec<ModelEvent>,
    /// What ended the answer.
    pub error: Option<ModelError>,
}

/// Reads the body of an HTTP answer of status 200, given in pieces, as the provider's adapter does.
pub fn replay<'a>(
    config: &Arc<ProviderConfig>,
    request: &ModelRequest,
    body: impl IntoIterator<Item = &'a [u8]>,
) -> ReplayedResponse {
    let decoder = api_of(config.kind).decoder(config, request);
    let (events, error) = response::read_all(config, decoder, body);
    ReplayedResponse { events: events.into(), error }
}
