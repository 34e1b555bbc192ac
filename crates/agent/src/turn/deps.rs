//! Dependencies of all turns.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use toolway_core::{Engine, PeerMemory};
use toolway_types::Clock;

use super::conversation_store::ConversationStore;
use super::refused_parts::RefusedParts;
use crate::budget::BudgetTracker;
use crate::context::TokenCounter;
use crate::conversation_settings::ConversationSettings;
use crate::models::ModelCatalog;
use crate::prices::PriceCatalog;
use crate::selection::DefinitionCache;

/// Maximum number of models whose calibration is remembered.
const MAX_COUNTERS: usize = 256;

/// Dependencies of all turns.
pub(crate) struct TurnDeps {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) models: Arc<ModelCatalog>,
    pub(crate) prices: Arc<PriceCatalog>,
    pub(crate) budgets: Arc<BudgetTracker>,
    pub(crate) definition_cache: Arc<DefinitionCache>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: ArcSwap<ConversationSettings>,
    pub(crate) counters: TokenCounters,
    pub(crate) refused_parts: RefusedParts,
    /// Memory of running turns.
    pub(crate) memory: Arc<dyn PeerMemory>,
}

/// Token counters by model. The calibration of one turn is used in the next, so that a conversation is
/// shortened at the same place.
#[derive(Debug, Default)]
pub(crate) struct TokenCounters(Mutex<HashMap<String, TokenCounter>>);

impl TokenCounters {
    /// Returns the counter of a model.
    pub(super) fn get(&self, model: &str) -> TokenCounter {
        self.0.lock().get(model).cloned().unwrap_or_default()
    }

    /// Stores the counter of a model.
    pub(super) fn update(&self, model: String, counter: &TokenCounter) {
        let mut counters = self.0.lock();
        if counters.len() >= MAX_COUNTERS && !counters.contains_key(&model) {
            counters.clear();
        }
        counters.insert(model, counter.clone());
    }
}
