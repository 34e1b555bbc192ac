//! What all turns share.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use toolway_core::Engine;
use toolway_types::Clock;

use super::keeper::Keeper;
use crate::budget::Budgets;
use crate::context::Counter;
use crate::conversations::ConversationSettings;
use crate::models::Models;
use crate::prices::Prices;
use crate::selection::Shelf;

/// Models of which it is remembered how many tokens a text takes.
const COUNTERS: usize = 256;

/// What all turns share.
pub(crate) struct Surroundings {
    pub(crate) engine: Arc<Engine>,
    pub(crate) keeper: Arc<dyn Keeper>,
    pub(crate) models: Arc<Models>,
    pub(crate) prices: Arc<Prices>,
    pub(crate) budgets: Arc<Budgets>,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: ArcSwap<ConversationSettings>,
    pub(crate) counters: Counters,
}

/// How many tokens a text takes, by model: what was learned in one turn counts in the next, so that a conversation
/// is cut in the same place.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<HashMap<String, Counter>>);

impl Counters {
    /// What is known of a model.
    pub(super) fn of(&self, model: &str) -> Counter {
        self.0.lock().get(model).cloned().unwrap_or_default()
    }

    /// What was learned of a model.
    pub(super) fn learned(&self, model: String, counter: &Counter) {
        let mut counters = self.0.lock();
        if counters.len() >= COUNTERS && !counters.contains_key(&model) {
            counters.clear();
        }
        counters.insert(model, counter.clone());
    }
}
