//! Reads an answer that was recorded, with no network in between: for tests, and for whoever looks for what a parser
//! makes of bytes.

use std::sync::Arc;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::event::ModelEvent;
use crate::provider::ProviderKind;
use crate::request::ModelRequest;
use crate::response;
use crate::{anthropic, gemini, openai, openai_responses};

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
    let decoder = match config.kind {
        ProviderKind::Openai | ProviderKind::Compatible => openai::decoder(config, request),
        ProviderKind::OpenaiResponses => openai_responses::decoder(config, request),
        ProviderKind::Anthropic => anthropic::decoder(config, request),
        ProviderKind::Gemini => gemini::decoder(config, request),
    };
    let (events, error) = response::read_all(config, decoder, body);
    ReplayedResponse { events: events.into(), error }
}
