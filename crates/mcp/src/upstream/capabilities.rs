//! What a server may ask the client of a request: what that client can do, and of that what the owner allows.

use rmcp::model::{ClientCapabilities, ElicitRequestParams, InputRequest};

use super::exchange::UpstreamExchange;
use crate::definition::ServerDefinition;

/// Of what a client can do, what this server is told of.
pub(super) fn client_capabilities(
    definition: &ServerDefinition,
    client: &ClientCapabilities,
) -> ClientCapabilities {
    let mut can = ClientCapabilities::default();
    can.elicitation.clone_from(&client.elicitation);
    if definition.sampling {
        can.sampling.clone_from(&client.sampling);
    }
    if definition.roots {
        can.roots.clone_from(&client.roots);
    }
    // What changes about a client's folders is not passed on.
    if let Some(roots) = &mut can.roots {
        roots.list_changed = None;
    }
    can
}

/// What is said once for all requests, to a server of the older era: that somebody may be there to be asked.
pub(super) fn advertised_capabilities(definition: &ServerDefinition) -> serde_json::Value {
    let mut can = serde_json::json!({"elicitation": {"form": {}, "url": {}}});
    if let serde_json::Value::Object(can) = &mut can {
        if definition.sampling {
            can.insert("sampling".to_owned(), serde_json::json!({"tools": {}, "context": {}}));
        }
        if definition.roots {
            can.insert("roots".to_owned(), serde_json::json!({}));
        }
    }
    can
}

/// Whether the client of a request may be asked this.
pub(super) fn can_ask(
    definition: &ServerDefinition,
    exchange: &UpstreamExchange,
    request: &InputRequest,
) -> bool {
    let Some(client) = &exchange.client else { return false };
    let can = client_capabilities(definition, client.capabilities());
    match request {
        InputRequest::Elicitation(request) => can.elicitation.is_some_and(|can| match &request.params {
            ElicitRequestParams::UrlElicitationParams { .. } => can.url.is_some(),
            // One that names no kind can do forms, which are the older kind.
            _ => can.form.is_some() || can.url.is_none(),
        }),
        InputRequest::CreateMessage(_) => can.sampling.is_some(),
        InputRequest::ListRoots(_) => can.roots.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
