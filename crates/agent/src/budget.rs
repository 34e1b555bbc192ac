//! The daily budget of each principal for models. The amount spent is read from the store once per day and
//! principal, and then updated in memory, so that a check before each request is cheap.
//!
//! Only known costs count: a request without a price in the table is not in the sum. Running requests count
//! when they end, so several at once can exceed the budget by their total cost.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::ToSpan;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_store::{Store, StoreError};
use toolway_types::Clock;

use crate::prices::Cost;

/// Fraction of the budget from which the person is warned.
const WARN_AT: f64 = 0.8;
/// Maximum number of principals in memory.
const MAX_CACHED: usize = 4096;

/// Action when a budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnExceeded {
    /// Refuse requests until the next day.
    #[default]
    Stop,
    /// Send a notice and continue.
    Warn,
}

/// Settings of budgets.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetSettings {
    /// Budget per day and principal, in the currency of the price table. Default: no limit.
    pub per_day: Option<f64>,
    /// Action when the budget is used up: `stop` refuses requests until the next day, `warn` sends a notice
    /// and continues.
    pub on_exceeded: OnExceeded,
}

/// Decision about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetDecision {
    /// The request is allowed.
    Allow,
    /// The request is allowed with a warning, which a turn publishes once.
    Warn {
        /// Text of the warning.
        message: String,
    },
    /// The request is refused.
    Stop {
        /// Reason as text.
        message: String,
        /// The next step for a person.
        hint: String,
    },
}

/// Time zone that determines the start of days.
pub type TimeZoneSource = Arc<dyn Fn() -> TimeZone + Send + Sync>;

/// The budgets of all principals.
pub struct BudgetTracker {
    store: Store,
    clock: Arc<dyn Clock>,
    zone: TimeZoneSource,
    state: Mutex<BudgetState>,
}

#[derive(Default)]
struct BudgetState {
    settings: BudgetSettings,
    /// By principal.
    days: HashMap<Arc<str>, DailySpend>,
}

/// Amount that a principal has spent on one day.
struct DailySpend {
    start_ms: i64,
    currency: Arc<str>,
    spent: f64,
}

impl BudgetTracker {
    /// Creates the budgets over the costs in the store. `zone` returns the time zone in which days start at
    /// midnight.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn Clock>, zone: TimeZoneSource, settings: BudgetSettings) -> Self {
        Self { store, clock, zone, state: Mutex::new(BudgetState { settings, days: HashMap::new() }) }
    }

    /// Applies other settings.
    pub fn configure(&self, settings: BudgetSettings) {
        self.state.lock().settings = settings;
    }

    /// Decides whether a principal may make a request now. Prices are in `currency`.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub async fn check(
        &self,
        principal: &Arc<str>,
        currency: &Arc<str>,
    ) -> Result<BudgetDecision, StoreError> {
        let settings = self.state.lock().settings;
        let Some(most) = settings.per_day else { return Ok(BudgetDecision::Allow) };
        let today = BudgetDay::at(&*self.clock, &(self.zone)());
        let spent = match self.cached_spending(principal, currency, today.start_ms) {
            Some(spent) => spent,
            None => self.load(principal, currency, today.start_ms).await?,
        };
        Ok(decide(spent, most, settings.on_exceeded, currency, &today))
    }

    /// Adds the cost of a request that a principal made at `at_ms`. Must be called during or after the
    /// storing of the request.
    pub fn record_spending(&self, principal: &str, cost: &Cost, at_ms: i64) {
        let mut state = self.state.lock();
        if let Some(day) = state.days.get_mut(principal) {
            let counts = at_ms >= day.start_ms && day.currency == cost.currency;
            day.spent += if counts { cost.amount } else { 0.0 };
        }
    }

    fn cached_spending(&self, principal: &str, currency: &str, start_ms: i64) -> Option<f64> {
        let state = self.state.lock();
        let day = state.days.get(principal)?;
        (day.start_ms == start_ms && &*day.currency == currency).then_some(day.spent)
    }

    async fn load(
        &self,
        principal: &Arc<str>,
        currency: &Arc<str>,
        start_ms: i64,
    ) -> Result<f64, StoreError> {
        let spent = self.store.usage().spent(principal, start_ms, currency).await?;
        let mut state = self.state.lock();
        if state.days.len() >= MAX_CACHED {
            state.days.retain(|_, day| day.start_ms == start_ms);
        }
        if state.days.len() >= MAX_CACHED {
            // The sums are read from the store again when needed.
            state.days.clear();
        }
        let day = DailySpend { start_ms, currency: Arc::clone(currency), spent };
        state.days.insert(Arc::clone(principal), day);
        Ok(spent)
    }
}

impl fmt::Debug for BudgetTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetTracker").field("settings", &self.state.lock().settings).finish_non_exhaustive()
    }
}

/// The current day.
struct BudgetDay {
    start_ms: i64,
    /// Start of the next day as text.
    next: String,
}

impl BudgetDay {
    fn at(clock: &dyn Clock, zone: &TimeZone) -> Self {
        let now = clock.now();
        let start = now.to_zoned_datetime(zone.clone()).start_of_day();
        let next = start.as_ref().ok().and_then(|start| start.checked_add(1.day()).ok());
        Self {
            start_ms: start.map_or(now.as_millisecond(), |start| start.timestamp().as_millisecond()),
            next: next.map_or_else(String::new, |next| next.strftime("%Y-%m-%d %H:%M").to_string()),
        }
    }
}

fn decide(
    spent: f64,
    most: f64,
    on_exceeded: OnExceeded,
    currency: &str,
    today: &BudgetDay,
) -> BudgetDecision {
    if spent < most * WARN_AT {
        return BudgetDecision::Allow;
    }
    let (spent_words, most_words) = (format_amount(spent), format_amount(most));
    if spent < most {
        let message = format!("{spent_words} of today's budget of {most_words} {currency} are spent");
        return BudgetDecision::Warn { message };
    }
    let message =
        format!("today's budget of {most_words} {currency} is used up: {spent_words} {currency} are spent");
    match on_exceeded {
        OnExceeded::Warn => BudgetDecision::Warn { message },
        OnExceeded::Stop => BudgetDecision::Stop {
            message,
            hint: format!("the budget resets at {}; raise it with the setting budget.per_day", today.next),
        },
    }
}

/// Formats an amount of money: cents, or more digits if it is below one.
#[must_use]
pub fn format_amount(amount: f64) -> String {
    if amount.abs() >= 1.0 || amount == 0.0 { format!("{amount:.2}") } else { format!("{amount:.4}") }
}

#[cfg(test)]
mod tests;
