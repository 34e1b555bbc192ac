//! State of a client's MCP session: the messages to replay to a new gateway connection, and the id mapping that
//! prevents answers from reaching the wrong connection.
//!
//! This module does no I/O: texts go in, and messages for each side come out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use super::message::{self, JsonRpcId, JsonRpcKind, MessageOutline};
use crate::error::{CliError, CliResult};

/// Maximum number of subscriptions to replay.
const MAX_SUBSCRIPTIONS: usize = 1024;
/// Metadata key that links a notification to its `subscriptions/listen`.
const SUBSCRIPTION_ID_META: &str = "io.modelcontextprotocol/subscriptionId";
/// Lists that can change: capability, change notification, and filter for it.
const LISTS: [(&str, &str, &str); 3] = [
    ("tools", "notifications/tools/list_changed", "toolsListChanged"),
    ("prompts", "notifications/prompts/list_changed", "promptsListChanged"),
    ("resources", "notifications/resources/list_changed", "resourcesListChanged"),
];

/// Messages to send to each side.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ForwardedMessages {
    pub(super) to_gateway: Vec<String>,
    pub(super) to_client: Vec<String>,
}

/// A client's MCP session across all connections to the gateway.
#[derive(Debug, Default)]
pub(super) struct BridgeSession {
    /// Number of earlier connections.
    generation: u64,
    /// Requests of the client that are pending.
    pending: HashMap<JsonRpcId, ClientRequest>,
    /// Requests of the bridge that are pending.
    replayed: HashMap<JsonRpcId, ReplayedRequest>,
    next_replay_id: u64,
    /// Pending requests of the gateway, by the ids that the client knows.
    gateway_requests: BTreeSet<JsonRpcId>,
    /// Completed handshake.
    handshake: Option<InitializeHandshake>,
    /// True after the client's `notifications/initialized`.
    is_initialized: bool,
    /// Last successful `logging/setLevel` request.
    log_level: Option<String>,
    /// Active `resources/subscribe` requests, by resource URI.
    subscriptions: BTreeMap<String, String>,
}

/// A pending request of the client.
#[derive(Debug)]
struct ClientRequest {
    method: String,
    /// Original text, if the request may have to be replayed.
    text: Option<String>,
    /// Notifications that the gateway accepted for `subscriptions/listen`.
    accepted: Option<Value>,
}

#[derive(Debug)]
struct InitializeHandshake {
    /// The client's `initialize` request.
    text: String,
    version: Value,
}

/// A replayed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayedRequest {
    Initialize,
    Other,
}

impl BridgeSession {
    /// True if the client waits only for requests that never end by themselves.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.values().all(|pending| pending.method == "subscriptions/listen")
    }

    /// Handles a text from the client and returns the text for the gateway.
    pub(super) fn forward_from_client(&mut self, text: &str) -> Option<String> {
        let is_batch = text.trim_start().starts_with('[');
        let parts: Vec<String> = message::split_batch(text)
            .into_iter()
            .filter_map(|part| self.forward_client_message(part))
            .collect();
        match parts.as_slice() {
            [] => None,
            [one] if !is_batch => Some(one.clone()),
            several => Some(format!("[{}]", several.join(","))),
        }
    }

    fn forward_client_message(&mut self, text: &str) -> Option<String> {
        let Some(outline) = MessageOutline::parse(text) else { return Some(text.to_owned()) };
        match (outline.kind(), outline.id()) {
            (JsonRpcKind::Request, Some(id)) => {
                let is_repeated = matches!(
                    outline.method(),
                    "initialize"
                        | "subscriptions/listen"
                        | "logging/setLevel"
                        | "resources/subscribe"
                        | "resources/unsubscribe"
                );
                let pending = ClientRequest {
                    method: outline.method().to_owned(),
                    text: is_repeated.then(|| text.to_owned()),
                    accepted: None,
                };
                self.pending.insert(id, pending);
            }
            (JsonRpcKind::Notification, _) => match outline.method() {
                "notifications/initialized" => self.is_initialized = true,
                "notifications/cancelled" => {
                    if let Some(id) = outline.param("/requestId") {
                        self.pending.remove(&JsonRpcId::from_value(&id));
                    }
                }
                _ => {}
            },
            (JsonRpcKind::Response, Some(id)) => return self.forward_client_response(&outline, &id),
            _ => {}
        }
        Some(text.to_owned())
    }

    /// Forwards a response of the client. Drops responses to requests of an earlier connection, because ids repeat.
    fn forward_client_response(&mut self, outline: &MessageOutline<'_>, id: &JsonRpcId) -> Option<String> {
        self.gateway_requests.remove(id).then(|| outline.with_id(&self.strip_alias(id)))
    }

    /// Handles a text from the gateway.
    ///
    /// # Errors
    /// Fails if the session cannot be restored on the new connection.
    pub(super) fn forward_from_gateway(&mut self, text: &str) -> CliResult<ForwardedMessages> {
        let mut passed = ForwardedMessages::default();
        if text.starts_with('[') {
            for part in message::split_batch(text) {
                if let Some(outline) = MessageOutline::parse(part) {
                    self.record_response(&outline)?;
                }
            }
            passed.to_client.push(text.to_owned());
            return Ok(passed);
        }
        let Some(outline) = MessageOutline::parse(text) else { return Ok(passed) };
        match outline.kind() {
            JsonRpcKind::Response => match outline.id().and_then(|id| self.replayed.remove(&id)) {
                Some(own) => passed.to_client = self.handle_replay_response(own, &outline)?,
                None => {
                    self.record_response(&outline)?;
                    passed.to_client.push(text.to_owned());
                }
            },
            JsonRpcKind::Request => {
                if let Some(id) = outline.id() {
                    let alias = self.alias(&id);
                    passed.to_client.push(if alias == id {
                        text.to_owned()
                    } else {
                        outline.with_id(&alias)
                    });
                    self.gateway_requests.insert(alias);
                }
            }
            JsonRpcKind::Notification => passed.to_client = self.forward_notification(&outline, text),
            JsonRpcKind::Invalid => passed.to_client.push(text.to_owned()),
        }
        Ok(passed)
    }

    /// Removes an answered request and records its effect on the session.
    fn record_response(&mut self, outline: &MessageOutline<'_>) -> CliResult {
        let Some(pending) = outline.id().and_then(|id| self.pending.remove(&id)) else { return Ok(()) };
        let (Some(text), true) = (pending.text, outline.error.is_none()) else { return Ok(()) };
        match pending.method.as_str() {
            "initialize" => {
                let version = outline.result("/protocolVersion").unwrap_or_default();
                self.handshake = Some(InitializeHandshake { text, version });
            }
            "logging/setLevel" => self.log_level = Some(text),
            "resources/subscribe" => {
                let uri = resource_uri(&text);
                if self.subscriptions.len() < MAX_SUBSCRIPTIONS || self.subscriptions.contains_key(&uri) {
                    self.subscriptions.insert(uri, text);
                }
            }
            "resources/unsubscribe" => {
                self.subscriptions.remove(&resource_uri(&text));
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles the response to a replayed request. The client only learns that lists may have changed.
    fn handle_replay_response(
        &self,
        own: ReplayedRequest,
        outline: &MessageOutline<'_>,
    ) -> CliResult<Vec<String>> {
        let Some(handshake) = self.handshake.as_ref().filter(|_| own == ReplayedRequest::Initialize) else {
            return Ok(Vec::new());
        };
        let version = outline.result("/protocolVersion").unwrap_or_default();
        if version != handshake.version {
            return Err(CliError::new("the restarted gateway does not support this client's MCP version")
                .with_code("version_changed")
                .with_hint("restart this MCP server in the client"));
        }
        let has_list_changes = |list: &str| {
            outline.result(&format!("/capabilities/{list}/listChanged")) == Some(Value::Bool(true))
        };
        let told = LISTS.iter().filter(|(list, _, _)| has_list_changes(list));
        Ok(told.map(|(_, method, _)| message::notification(method, None)).collect())
    }

    fn forward_notification(&mut self, outline: &MessageOutline<'_>, text: &str) -> Vec<String> {
        match outline.method() {
            "notifications/cancelled" => {
                let Some(id) = outline.param("/requestId") else { return vec![text.to_owned()] };
                let alias = self.alias(&JsonRpcId::from_value(&id));
                if !self.gateway_requests.remove(&alias) || self.generation == 0 {
                    return vec![text.to_owned()];
                }
                vec![cancelled_notification(&alias, outline.param("/reason"))]
            }
            "notifications/subscriptions/acknowledged" => self.forward_acknowledgement(outline, text),
            _ => vec![text.to_owned()],
        }
    }

    /// Handles the start of `subscriptions/listen`. After a reconnect, the client gets list change notifications
    /// instead of a second acknowledgement.
    fn forward_acknowledgement(&mut self, outline: &MessageOutline<'_>, text: &str) -> Vec<String> {
        let id = outline.param("/_meta").and_then(|meta| meta.get(SUBSCRIPTION_ID_META).cloned());
        let accepted = outline.param("/notifications").unwrap_or_default();
        let listen = id.as_ref().and_then(|id| self.pending.get_mut(&JsonRpcId::from_value(id)));
        let Some(listen) = listen else { return vec![text.to_owned()] };
        let is_known = listen.accepted.replace(accepted.clone()).is_some();
        if !is_known {
            return vec![text.to_owned()];
        }
        let wanted = LISTS.iter().filter(|(_, _, filter)| accepted.get(filter) == Some(&Value::Bool(true)));
        let params = json!({"_meta": {SUBSCRIPTION_ID_META: id}});
        wanted.map(|(_, method, _)| message::notification(method, Some(params.clone()))).collect()
    }

    /// Handles a lost connection. Returns the messages for the client.
    pub(super) fn handle_connection_lost(&mut self) -> Vec<String> {
        self.replayed.clear();
        let asked = std::mem::take(&mut self.gateway_requests);
        let reason = Value::from("the connection to the gateway was lost");
        let mut told: Vec<String> =
            asked.iter().map(|id| cancelled_notification(id, Some(reason.clone()))).collect();
        let failure = CliError::new("the connection to the gateway was lost before this was answered")
            .with_code("connection_lost")
            .with_hint("check the result of a call with `toolway calls list`; retry other requests");
        let (again, gone): (HashMap<_, _>, HashMap<_, _>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|(_, it)| matches!(it.method.as_str(), "initialize" | "subscriptions/listen"));
        self.pending = again;
        told.extend(gone.keys().map(|id| message::error_response(Some(id), &failure)));
        self.generation += 1;
        told
    }

    /// Fails all pending requests, because there will be no connection.
    pub(super) fn fail_pending(&mut self, failure: &CliError) -> Vec<String> {
        self.pending.drain().map(|(id, _)| message::error_response(Some(&id), failure)).collect()
    }

    /// Returns the messages to send first on a new connection; none on the first one.
    pub(super) fn replay_messages(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(text) = self.handshake.as_ref().map(|it| it.text.clone()) {
            said.extend(self.replay(&text, ReplayedRequest::Initialize));
            if self.is_initialized {
                said.push(message::notification("notifications/initialized", None));
            }
        }
        let others: Vec<String> = self.log_level.iter().chain(self.subscriptions.values()).cloned().collect();
        for text in others {
            said.extend(self.replay(&text, ReplayedRequest::Other));
        }
        // Requests that the client still waits for keep their own ids.
        let waited = |method: &'static str| {
            let of_method = self.pending.values().filter(move |it| it.method == method);
            of_method.filter_map(|it| it.text.clone())
        };
        said.extend(waited("initialize"));
        said.extend(waited("subscriptions/listen"));
        said
    }

    /// Rewrites a request with an id of the bridge.
    fn replay(&mut self, text: &str, what: ReplayedRequest) -> Option<String> {
        self.next_replay_id += 1;
        let id = JsonRpcId::from_text(&format!("toolway-again-{}", self.next_replay_id));
        let said = MessageOutline::parse(text)?.with_id(&id);
        self.replayed.insert(id, what);
        Some(said)
    }

    /// Returns the id under which the client sees a request of the gateway. Every gateway connection counts from the
    /// same number, so later connections add their generation.
    fn alias(&self, id: &JsonRpcId) -> JsonRpcId {
        match self.generation {
            0 => id.clone(),
            generation => JsonRpcId::from_text(&format!("{generation}:{}", id.as_json())),
        }
    }

    fn strip_alias(&self, id: &JsonRpcId) -> JsonRpcId {
        let prefix = format!("{}:", self.generation);
        let text: Option<String> = serde_json::from_str(id.as_json()).ok();
        let inner = text.as_deref().filter(|_| self.generation > 0).and_then(|it| it.strip_prefix(&prefix));
        let inner = inner.and_then(|json| serde_json::from_str::<Value>(json).ok());
        inner.map_or_else(|| id.clone(), |value| JsonRpcId::from_value(&value))
    }
}

fn cancelled_notification(id: &JsonRpcId, reason: Option<Value>) -> String {
    let id: Value = serde_json::from_str(id.as_json()).unwrap_or_default();
    let params = match reason {
        Some(reason) => json!({ "requestId": id, "reason": reason }),
        None => json!({ "requestId": id }),
    };
    message::notification("notifications/cancelled", Some(params))
}

fn resource_uri(text: &str) -> String {
    let uri = MessageOutline::parse(text).and_then(|outline| outline.param("/uri"));
    uri.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
