//! A gateway with a model that says what a test wants.

use std::path::Path;

use serde_json::{Value, json};
use toolway_fake_models::{Api, FakeModels};

use crate::support::{Answer, Bench};
use crate::websocket::Peer;

/// A gateway whose models answer from a script.
pub(crate) struct Talking {
    pub(crate) bench: Bench,
    pub(crate) fakes: FakeModels,
}

impl Talking {
    pub(crate) async fn new() -> Self {
        Self::with(json!({})).await
    }

    /// With these settings. No titles are made, unless they say so: each would be one more request.
    pub(crate) async fn with(mut settings: Value) -> Self {
        let fakes = FakeModels::start().await;
        let dir = tempfile::tempdir().unwrap();
        set_up(dir.path(), &fakes);
        settings.as_object_mut().unwrap().entry("chat").or_insert(json!({"titles": false}));
        Self { bench: Bench::in_folder(dir, settings).await, fakes }
    }

    /// A token of this role.
    pub(crate) async fn token(&self, role: &str) -> String {
        self.bench.token(role).await.token
    }

    /// A chat client of version 2 with a token of its own.
    pub(crate) async fn client(&self) -> Peer {
        Peer::chat(&self.bench, &self.token("companion").await).await
    }

    /// A chat client of version 1 with a token of its own.
    pub(crate) async fn old_client(&self) -> Peer {
        Peer::old_chat(&self.bench, &self.token("companion").await).await
    }

    /// What the owner is answered.
    pub(crate) async fn owner(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.bench.owner(method, path, body).await
    }

    /// Makes an agent.
    pub(crate) async fn agent(&self, name: &str, definition: Value) {
        let made = self.owner("PUT", &format!("/api/agents/{name}"), Some(definition)).await;
        assert!([200, 201].contains(&made.status), "{made:?}");
    }
}

/// Writes down where the models are.
pub(crate) fn set_up(folder: &Path, fakes: &FakeModels) {
    let base_url = fakes.base_url(Api::Compatible);
    let models = format!(
        "[[model]]\nname = \"fake\"\nkind = \"compatible\"\nbase_url = \"{base_url}\"\nmodel = \"fake-model\"\n\
         [model.switches]\nstream_usage = true\nimages = true\n"
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
