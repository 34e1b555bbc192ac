//! A gateway with a scripted model.

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

    /// Starts a gateway with these settings. By default, no titles are generated, because each would be an
    /// additional request.
    pub(crate) async fn with(mut settings: Value) -> Self {
        let fakes = FakeModels::start().await;
        let dir = tempfile::tempdir().unwrap();
        set_up(dir.path(), &fakes);
        settings.as_object_mut().unwrap().entry("chat").or_insert(json!({"generate_titles": false}));
        Self { gateway: GatewayHarness::in_folder(dir, settings).await, fakes }
    }

    /// Creates a token of this role.
    pub(crate) async fn create_token(&self, role: &str) -> String {
        self.gateway.create_token(role).await.token
    }

    /// Connects a chat client of version 2 with its own token.
    pub(crate) async fn client(&self) -> WebSocketClient {
        WebSocketClient::chat(&self.gateway, &self.create_token("companion").await).await
    }

    /// Connects a chat client of version 1 with its own token.
    pub(crate) async fn client_version_1(&self) -> WebSocketClient {
        WebSocketClient::chat_version_1(&self.gateway, &self.create_token("companion").await).await
    }

    /// Sends a request as the owner.
    pub(crate) async fn send_as_owner(&self, method: &str, path: &str, body: Option<Value>) -> HttpAnswer {
        self.gateway.send_as_owner(method, path, body).await
    }

    /// Creates an agent.
    pub(crate) async fn put_agent(&self, name: &str, definition: Value) {
        let made = self.send_as_owner("PUT", &format!("/api/agents/{name}"), Some(definition)).await;
        assert!([200, 201].contains(&made.status), "{made:?}");
    }
}

/// Writes `models.toml` with the fake models.
pub(crate) fn set_up(folder: &Path, fakes: &FakeModels) {
    let base_url = fakes.base_url(ApiKind::Compatible);
    let models = format!(
        "[[model]]\nname = \"fake\"\nkind = \"compatible\"\nbase_url = \"{base_url}\"\nmodel = \"fake-model\"\n\
         [model.compatibility]\nstream_usage = true\nimages = true\n"
    );
    std::fs::write(folder.join("models.toml"), models).unwrap();
}

/// Creates a message.
pub(crate) fn message(content: &str) -> Value {
    json!({"type": "message", "content": content})
}

/// Creates the tools of a device, one for each name.
pub(crate) fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name, "description": format!("Does {name}")})).collect()
}
