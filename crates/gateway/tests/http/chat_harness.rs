//! A gateway with a model that says what a test wants.

use std::path::Path;

use serde_json::{Value, json};
use toolway_fake_models::{ApiKind, FakeModels};

use crate::support::{GatewayHarness, HttpAnswer};
use crate::websocket::WebSocketClient;

/// A gateway whose models answer from a script.
pub(crate) struct ChatHarness {
    pub(crate) gateway: GatewayHarness,
    pub(crate) fakes: FakeModels,
}

impl ChatHarness {
    pub(crate) async fn new() -> Self {
        Self::with(json!({})).await
    }

    /// With these settings. No titles are made, unless they say so: each would be one more request.
    pub(crate) async fn with(mut settings: Value) -> Self {
        let fakes = FakeModels::start().await;
        let dir = tempfile::tempdir().unwrap();
        set_up(dir.path(), &fakes);
        settings.as_object_mut().unwrap().entry("chat").or_insert(json!({"generate_titles": false}));
        Self { gateway: GatewayHarness::in_folder(dir, settings).await, fakes }
    }

    /// A token of this role.
    pub(crate) async fn create_token(&self, role: &str) -> String {
        self.gateway.create_token(role).await.token
    }

    /// A chat client of version 2 with a token of its own.
    pub(crate) async fn client(&self) -> WebSocketClient {
        WebSocketClient::chat(&self.gateway, &self.create_token("companion").await).await
    }

    /// A chat client of version 1 with a token of its own.
    pub(crate) async fn client_version_1(&self) -> WebSocketClient {
        WebSocketClient::chat_version_1(&self.gateway, &self.create_token("companion").await).await
    }

    /// What the owner is answered.
    pub(crate) async fn send_as_owner(&self, method: &str, path: &str, body: Option<Value>) -> HttpAnswer {
        self.gateway.send_as_owner(method, path, body).await
    }

    /// Makes an agent.
    pub(crate) async fn put_agent(&self, name: &str, definition: Value) {
        let made = self.send_as_owner("PUT", &format!("/api/agents/{name}"), Some(definition)).await;
        assert!([200, 201].contains(&made.status), "{made:?}");
    }
}

/// Writes down where the models are.
pub(crate) fn set_up(folder: &Path, fakes: &FakeModels) {
    let base_url = fakes.base_url(ApiKind::Compatible);
    let models = format!(
        "[[model]]\nname = \"fake\"\nkind = \"compatible\"\nbase_url = \"{base_url}\"\nmodel = \"fake-model\"\n\
         [model.compatibility]\nstream_usage = true\nimages = true\n"
    );
    std::fs::write(folder.join("models.toml"), models).unwrap();
}

/// A message to say.
pub(crate) fn message(content: &str) -> Value {
    json!({"type": "message", "content": content})
}

/// The tools of a device that has one tool of each of these names.
pub(crate) fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name, "description": format!("Does {name}")})).collect()
}
