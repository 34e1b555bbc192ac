//! What all turns share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use toolway_core::Engine;
use toolway_types::Clock;

use super::keeper::Keeper;
use crate::budget::Budgets;
use crate::conversations::ConversationSettings;
use crate::models::Models;
use crate::prices::Prices;
use crate::selection::Shelf;

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
}
