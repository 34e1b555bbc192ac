//! Chat with models: the model providers of `models.toml`, the prices of `prices.toml`, the agents of the
//! database and of `agents/*.toml`, and the conversations with them. Files are read and clients created only
//! when they exist or are needed.

pub(crate) mod frames;
pub(crate) mod input;
pub(crate) mod turn_watcher;
pub(crate) mod visible_agent;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolway_agent::agents::{AgentCatalog, AgentCatalogDeps};
use toolway_agent::budget::BudgetTracker;
use toolway_agent::context::ContextSettings;
use toolway_agent::conversations::{ConversationDeps, ConversationSettings, Conversations};
use toolway_agent::models::{ModelCatalog, ModelCatalogDeps};
use toolway_agent::prices::PriceCatalog;
use toolway_core::{Engine, PeerMemory};
use toolway_files::owner_file::FileProblem;
use toolway_models::transport::ProviderHttpClient;
use toolway_secrets::{NamedSecrets, SecretReader};
use toolway_store::{Store, StoreError};
use toolway_types::Clock;

use crate::gateway_tools::ToolEnv;
use crate::settings::Settings;

/// Interval between checks of the files for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Dependencies of [`ChatService`].
pub(crate) struct ChatParts<'s> {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) data_dir: PathBuf,
    pub(crate) tool_env: ToolEnv,
    pub(crate) settings: &'s Settings,
    /// Memory of running turns.
    pub(crate) memory: Arc<dyn PeerMemory>,
}

/// Model providers, agents, prices and conversations of a gateway.
#[derive(Debug)]
pub struct ChatService {
    /// Model providers.
    pub models: Arc<ModelCatalog>,
    /// Agents.
    pub agents: Arc<AgentCatalog>,
    /// Prices of models.
    pub prices: Arc<PriceCatalog>,
    /// Conversations.
    pub conversations: Arc<Conversations>,
    budgets: Arc<BudgetTracker>,
    keys: Arc<NamedSecrets>,
}

impl ChatService {
    /// Reads the model providers and the agents, and makes the agents' scopes known to the engine.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read. Problems of the files are in [`ChatService::problems`].
    pub(crate) async fn open(parts: ChatParts<'_>) -> Result<Arc<Self>, StoreError> {
        let ChatParts { engine, store, clock, data_dir, tool_env: env, settings, memory } = parts;
        let keys = Arc::new(NamedSecrets::new(
            &settings.secrets,
            data_dir.join("secrets"),
            Arc::clone(&env.secrets),
        ));
        let tls = env.tls;
        let models = ModelCatalog::open(ModelCatalogDeps {
            file: data_dir.join("models.toml"),
            keys: Arc::clone(&keys) as _,
            http: ProviderHttpClient::new(move || tls.make()),
        })
        .await;
        let agents = AgentCatalog::open(AgentCatalogDeps {
            engine: Arc::clone(&engine),
            store: store.clone(),
            folder: data_dir.join("agents"),
            models: Arc::clone(&models),
            clock: Arc::clone(&clock),
            time_zones: Arc::new({
                let zones = env.zones.clone();
                move |name: &str| zones.check(name)
            }),
        })
        .await?;
        let prices = PriceCatalog::open(data_dir.join("prices.toml")).await;
        let zones = env.zones;
        let zone = Arc::new(move || zones.local());
        let budgets = Arc::new(BudgetTracker::new(store.clone(), Arc::clone(&clock), zone, settings.budget));
        let conversations = Conversations::new(ConversationDeps {
            engine,
            store,
            agents: Arc::clone(&agents),
            models: Arc::clone(&models),
            prices: Arc::clone(&prices),
            budgets: Arc::clone(&budgets),
            clock,
            settings: conversation_settings(settings),
            memory,
        });
        Ok(Arc::new(Self { models, agents, prices, conversations, budgets, keys }))
    }

    /// Applies other settings from the next turn on.
    pub(crate) fn apply(&self, settings: &Settings) {
        self.conversations.configure(conversation_settings(settings));
        self.budgets.configure(settings.budget);
        self.keys.set_locations(&settings.secrets);
    }

    /// Reads the model providers, the prices and the agents again. Problems of a file are logged and are in
    /// [`ChatService::problems`]; its previous content stays in use.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read.
    pub(crate) async fn reload(&self) -> Result<(), StoreError> {
        // `problems` returns the error.
        let _ = self.models.reload().await;
        let _ = self.prices.reload().await;
        self.agents.reload().await
    }

    /// Returns the names of all agents.
    pub(crate) fn agent_names(&self) -> Vec<String> {
        self.agents.list().into_iter().map(|view| view.definition.name.clone()).collect()
    }

    /// Returns the problems of the files.
    pub(crate) fn problems(&self) -> Vec<FileProblem> {
        let mut problems = self.models.problems();
        problems.extend(self.prices.problems());
        problems.extend(self.agents.problems());
        problems
    }

    async fn has_changed(&self) -> bool {
        self.models.has_changed().await || self.prices.has_changed().await || self.agents.has_changed().await
    }
}

/// Creates the reader of provider keys. `models.toml` has their locations. Named secrets are where the
/// settings say, or in the data folder.
#[must_use]
pub fn keys(reader: Arc<dyn SecretReader>, data_dir: &Path, settings: &Settings) -> Arc<dyn SecretReader> {
    Arc::new(NamedSecrets::new(&settings.secrets, data_dir.join("secrets"), reader))
}

/// Reads the files again after each change, until `stop`.
pub(crate) async fn watch(chat: Arc<ChatService>, stop: CancellationToken) {
    while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
        if !chat.has_changed().await {
            continue;
        }
        tracing::info!("files of models, prices or agents have changed; reloading them");
        if let Err(error) = chat.reload().await {
            tracing::warn!(%error, "cannot reload the agents");
        }
    }
}

fn conversation_settings(settings: &Settings) -> ConversationSettings {
    let chat = &settings.chat;
    ConversationSettings {
        titles: chat.generate_titles,
        max_tools: chat.max_tools,
        turns: chat.max_concurrent_turns,
        context: ContextSettings {
            warn_at: chat.context_threshold,
            keep_rounds: chat.context_keep_rounds,
            reserve: chat.context_reserve_tokens,
        },
    }
}
