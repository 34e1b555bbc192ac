//! The client of the calls. It accepts every question, with the defaults in the question.

use async_trait::async_trait;
use rmcp::model::{
    ClientCapabilities, ElicitRequestParams, InputRequest, InputRequests, InputResponses,
    LoggingMessageNotificationParam, ProtocolVersion, RequestMetaObject,
};
use serde_json::{Map, Value, json};
use toolway_mcp::client_link::{InputRequestError, RequestingClient};

pub(crate) struct AcceptingClient {
    version: ProtocolVersion,
    capabilities: ClientCapabilities,
    meta: RequestMetaObject,
}

impl AcceptingClient {
    /// Creates a client of this version.
    pub(crate) fn new(version: ProtocolVersion) -> Self {
        let capabilities =
            ClientCapabilities::builder().enable_elicitation().enable_sampling().enable_roots().build();
        Self { version, capabilities, meta: RequestMetaObject::new() }
    }
}

#[async_trait]
impl RequestingClient for AcceptingClient {
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn protocol_version(&self) -> ProtocolVersion {
        self.version.clone()
    }

    fn meta(&self) -> &RequestMetaObject {
        &self.meta
    }

    fn initial_responses(&self) -> Option<InputResponses> {
        None
    }

    async fn request_input(&self, requests: InputRequests) -> Result<InputResponses, InputRequestError> {
        Ok(requests.into_iter().map(|(key, request)| (key, accept(&request))).collect())
    }

    fn send_log(&self, _: LoggingMessageNotificationParam) {}
}

fn accept(request: &InputRequest) -> Value {
    match request {
        InputRequest::Elicitation(request) => {
            json!({"action": "accept", "content": default_answers(&request.params)})
        }
        InputRequest::CreateMessage(_) => json!({
            "role": "assistant",
            "content": {"type": "text", "text": "Paris"},
            "model": "conformance",
            "stopReason": "endTurn"
        }),
        _ => json!({"roots": []}),
    }
}

/// Returns the default of each property that has one, and a valid value for the others.
fn default_answers(params: &ElicitRequestParams) -> Value {
    let params = serde_json::to_value(params).unwrap_or_default();
    let properties = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
    let default = |(name, schema): (&String, &Value)| {
        let value = match (schema.get("default"), schema.get("type").and_then(Value::as_str)) {
            (Some(default), _) => default.clone(),
            (None, Some("boolean")) => json!(true),
            (None, Some("integer" | "number")) => json!(1),
            (None, Some("array")) => json!([]),
            (None, _) => schema.pointer("/enum/0").cloned().unwrap_or_else(|| json!("something")),
        };
        (name.clone(), value)
    };
    Value::Object(properties.into_iter().flatten().map(default).collect::<Map<_, _>>())
}
