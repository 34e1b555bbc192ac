//! The client for whom calls are made. It accepts whatever it is asked, with the defaults that the question names.

use async_trait::async_trait;
use rmcp::model::{
    ClientCapabilities, ElicitRequestParams, InputRequest, InputRequests, InputResponses,
    LoggingMessageNotificationParam, ProtocolVersion, RequestMetaObject,
};
use serde_json::{Map, Value, json};
use toolway_mcp::link::{Client, NoAnswer};

pub(crate) struct Person {
    version: ProtocolVersion,
    capabilities: ClientCapabilities,
    meta: RequestMetaObject,
}

impl Person {
    /// Who speaks this version.
    pub(crate) fn of(version: ProtocolVersion) -> Self {
        let capabilities =
            ClientCapabilities::builder().enable_elicitation().enable_sampling().enable_roots().build();
        Self { version, capabilities, meta: RequestMetaObject::new() }
    }
}

#[async_trait]
impl Client for Person {
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn protocol_version(&self) -> ProtocolVersion {
        self.version.clone()
    }

    fn meta(&self) -> &RequestMetaObject {
        &self.meta
    }

    fn early_answers(&self) -> Option<InputResponses> {
        None
    }

    async fn ask(&self, requests: InputRequests) -> Result<InputResponses, NoAnswer> {
        Ok(requests.into_iter().map(|(key, request)| (key, answer(&request))).collect())
    }

    fn log(&self, _: LoggingMessageNotificationParam) {}
}

fn answer(request: &InputRequest) -> Value {
    match request {
        InputRequest::Elicitation(request) => {
            json!({"action": "accept", "content": defaults(&request.params)})
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

/// The default of each property that has one, and something that fits for the rest.
fn defaults(params: &ElicitRequestParams) -> Value {
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
