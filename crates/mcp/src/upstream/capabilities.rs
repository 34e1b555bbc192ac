//! The requests that a server may send to a client: those that the client supports and the owner allows.

use rmcp::model::{ClientCapabilities, ElicitRequestParams, InputRequest, TASKS_EXTENSION_ID};

use super::exchange::UpstreamExchange;
use crate::definition::ServerDefinition;

/// The capabilities of a client that this server learns of.
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
    // Changes of a client's folders are not forwarded.
    if let Some(roots) = &mut can.roots {
        roots.list_changed = None;
    }
    can
}

/// Adds the tasks extension: the server may turn the call into a task.
pub(super) fn with_tasks(mut capabilities: ClientCapabilities) -> ClientCapabilities {
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION_ID.to_owned(), serde_json::Map::new());
    capabilities
}

/// The capabilities that a server of the older era learns once for all requests: a client may be there to answer.
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

/// Returns true if the server may send this request to the client.
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
            // A client that declares no mode supports forms, which are older.
            _ => can.form.is_some() || can.url.is_none(),
        }),
        InputRequest::CreateMessage(_) => can.sampling.is_some(),
        InputRequest::ListRoots(_) => can.roots.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
