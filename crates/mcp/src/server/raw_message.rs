//! The original text of a request, besides the form that `rmcp` parsed: arguments keep their key order and number
//! formats on the way to the tool.

use bytes::Bytes;
use rmcp::model::Extensions;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolway_types::RawJson;

/// One JSON-RPC message. The transport adds it to the request's extensions, directly or in the parts of an HTTP
/// request.
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
