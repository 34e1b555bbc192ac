use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use toolway_store::{ModelRequestRecord, RequestStatus, StoreOptions, TokenCounts};

/// 2027-01-15 22:30 UTC, which is 23:30 in Berlin.
const EVENING: i64 = 1_800_052_200_000;
const MINUTE_MS: i64 = 60_000;

#[derive(Debug)]
struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct BudgetHarness {
    _folder: tempfile::TempDir,
    clock: Arc<TestClock>,
    store: Store,
    budgets: BudgetTracker,
    me: Arc<str>,
    dollars: Arc<str>,
}

async fn budget_harness(per_day: Option<f64>, on_exceeded: OnExceeded) -> BudgetHarness {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock(AtomicI64::new(EVENING)));
    let store =
        Store::open(&folder.path().join("data"), clock.clone(), StoreOptions::default()).await.unwrap();
    let zone: TimeZoneSource = Arc::new(|| TimeZone::get("Europe/Berlin").unwrap());
    let settings = BudgetSettings { per_day, on_exceeded };
    let budgets = BudgetTracker::new(store.clone(), clock.clone(), zone, settings);
    BudgetHarness { _folder: folder, clock, store, budgets, me: "t-1".into(), dollars: "USD".into() }
}

impl BudgetHarness {
    async fn check(&self) -> BudgetDecision {
        self.budgets.check(&self.me, &self.dollars).await.unwrap()
    }

    /// Stores a request that began at a time, and reports it if `told`.
    async fn spend(&self, principal: &str, amount: f64, at_ms: i64, told: bool) {
        let request = ModelRequestRecord {
            turn: None,
            session: None,
            principal: principal.to_owned(),
            agent: "default".to_owned(),
            provider: "a".to_owned(),
            model: "m".to_owned(),
            started_ms: at_ms,
            duration_ms: 1,
            first_token_ms: None,
            attempts: 1,
            status: RequestStatus::Answered,
            code: None,
            tokens: TokenCounts::default(),
            cost: Some(amount),
            currency: Some("USD".to_owned()),
        };
        self.store.usage().record(vec![request]).await.unwrap();
        if told {
            self.budgets.record_spending(principal, &Cost { amount, currency: "USD".into() }, at_ms);
        }
    }
}

fn warns(words: &str) -> BudgetDecision {
    BudgetDecision::Warn { message: words.to_owned() }
}

#[tokio::test]
async fn without_a_budget_the_store_is_not_read() {
    let it = budget_harness(None, OnExceeded::Stop).await;
    it.store.close().await;
    assert_eq!(it.check().await, BudgetDecision::Allow);
}

#[tokio::test]
async fn a_budget_warns_and_then_stops() {
    let it = budget_harness(Some(5.0), OnExceeded::Stop).await;
    // Costs before midnight in Berlin, and of another principal.
    it.spend("t-1", 100.0, EVENING - 24 * 60 * MINUTE_MS, false).await;
    it.spend("t-2", 100.0, EVENING, false).await;
    it.spend("t-1", 3.9, EVENING - MINUTE_MS, false).await;
    assert_eq!(it.check().await, BudgetDecision::Allow);
    it.spend("t-1", 0.2, EVENING, true).await;
    assert_eq!(it.check().await, warns("4.10 of today's budget of 5.00 USD are spent"));
    it.spend("t-1", 1.0, EVENING, true).await;
    let BudgetDecision::Stop { message, hint } = it.check().await else { panic!("it goes on") };
    assert_eq!(message, "today's budget of 5.00 USD is used up: 5.10 USD are spent");
    assert!(hint.contains("2027-01-16 00:00") && hint.contains("budget.per_day"), "{hint}");

    // The next day begins at midnight of the zone. A request that began yesterday and ends now counts for
    // yesterday.
    it.clock.0.store(EVENING + 29 * MINUTE_MS, Ordering::Relaxed);
    assert!(matches!(it.check().await, BudgetDecision::Stop { .. }));
    it.clock.0.store(EVENING + 30 * MINUTE_MS, Ordering::Relaxed);
    assert_eq!(it.check().await, BudgetDecision::Allow);
    it.spend("t-1", 9.0, EVENING + 29 * MINUTE_MS, true).await;
    assert_eq!(it.check().await, BudgetDecision::Allow);
}

#[tokio::test]
async fn a_warning_budget_does_not_stop_requests() {
    let it = budget_harness(Some(0.5), OnExceeded::Warn).await;
    it.check().await;
    it.spend("t-1", 0.5, EVENING, true).await;
    assert_eq!(it.check().await, warns("today's budget of 0.5000 USD is used up: 0.5000 USD are spent"));
    // Settings apply at once.
    it.budgets.configure(BudgetSettings { per_day: Some(0.5), on_exceeded: OnExceeded::Stop });
    assert!(matches!(it.check().await, BudgetDecision::Stop { .. }));
    it.budgets.configure(BudgetSettings::default());
    assert_eq!(it.check().await, BudgetDecision::Allow);
}

#[tokio::test]
async fn each_currency_has_its_own_sum() {
    let it = budget_harness(Some(1.0), OnExceeded::Stop).await;
    it.check().await;
    it.spend("t-1", 2.0, EVENING, true).await;
    assert!(matches!(it.check().await, BudgetDecision::Stop { .. }));
    assert_eq!(it.budgets.check(&it.me, &"EUR".into()).await.unwrap(), BudgetDecision::Allow);
    // Costs in one currency do not count in the other.
    it.budgets.record_spending("t-1", &Cost { amount: 9.0, currency: "USD".into() }, EVENING);
    assert_eq!(it.budgets.check(&it.me, &"EUR".into()).await.unwrap(), BudgetDecision::Allow);
    assert!(matches!(it.check().await, BudgetDecision::Stop { .. }));
}

#[tokio::test]
async fn a_budget_of_zero_refuses_everything() {
    let it = budget_harness(Some(0.0), OnExceeded::Stop).await;
    assert!(matches!(it.check().await, BudgetDecision::Stop { .. }));
}

#[tokio::test]
async fn the_number_of_cached_principals_is_limited() {
    let it = budget_harness(Some(1.0), OnExceeded::Stop).await;
    it.spend("t-1", 2.0, EVENING, false).await;
    for number in 0..MAX_CACHED + 10 {
        it.budgets.check(&format!("p-{number}").into(), &it.dollars).await.unwrap();
    }
    assert!(it.budgets.state.lock().days.len() <= MAX_CACHED);
    assert!(matches!(it.check().await, BudgetDecision::Stop { .. }));
}
