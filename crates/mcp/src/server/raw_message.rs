//! A request as its client wrote it, beside what `rmcp` made of it: arguments keep their key order and the forms of
//! their numbers on the way to the tool.

use bytes::Bytes;
use rmcp::model::Extensions;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolway_types::RawJson;

/// One JSON-RPC message. Whatever carries it puts it among the request's extensions: as it is, or within the parts of
/// an HTTP request.
#[derive(Debug, Clone)]
pub struct RawMessage(pub Bytes);

#[derive(Deserialize)]
struct RawCallEnvelope<'a> {
    #[serde(borrow)]
    params: Option<RawCallParams<'a>>,
}

#[derive(Deserialize)]
struct RawCallParams<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl RawMessage {
    fn from_extensions(extensions: &Extensions) -> Option<&Self> {
        let parts = extensions.get::<http::request::Parts>();
        parts.and_then(|parts| parts.extensions.get::<Self>()).or_else(|| extensions.get::<Self>())
    }

    /// The arguments of a call.
    pub(crate) fn arguments(extensions: &Extensions) -> Option<RawJson> {
        let message: RawCallEnvelope<'_> =
            serde_json::from_slice(&Self::from_extensions(extensions)?.0).ok()?;
        RawJson::parse(message.params?.arguments?.get()).ok()
    }
}
