use super::*;
use crate::tests::support::{NOW, StoreHarness, call, failure, record, request, success};
use crate::token_counts::TokenCounts;
use crate::{ModelUsageRow, StoreOptions};
use toolway_core::record::OpenedCall;
use toolway_types::{Code, PrincipalId};

const HOUR_MS: i64 = 3_600_000;

fn keys(rows: &[ModelUsageRow]) -> Vec<(Option<&str>, u64, Option<f64>)> {
    rows.iter().map(|row| (row.key.as_deref(), row.requests, row.cost)).collect()
}

#[tokio::test]
async fn a_report_sums_known_costs_and_counts_unknown_ones() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let named = |agent: &str, model: &str, request: ModelRequestRecord| ModelRequestRecord {
        agent: agent.to_owned(),
        model: model.to_owned(),
        ..request
    };
    let counted = TokenCounts {
        input: Some(1000),
        output: Some(50),
        cached: Some(900),
        cache_written: None,
        reasoning: Some(40),
    };
    let failed = ModelRequestRecord {
        status: RequestStatus::Failed,
        code: Some("rate_limited".to_owned()),
        tokens: TokenCounts::default(),
        first_token_ms: None,
        ..request("t-1", NOW, None)
    };
    store
        .usage()
        .record(vec![
            named("home", "m-1", ModelRequestRecord { tokens: counted, ..request("t-1", NOW, Some(0.5)) }),
            named("home", "m-2", request("t-1", NOW, Some(0.25))),
            named("work", "m-1", request("t-2", NOW, None)),
            named("work", "m-1", request("t-2", NOW, Some(2.0))),
            named("work", "m-3", failed),
        ])
        .await
        .unwrap();
    store.close().await;

    let store = folder.open().await;
    let all = UsageFilter::default();
    let rows = store.usage().report(ModelUsageGrouping::Model, &all).await.unwrap();
    let expected = [
        (Some("openai/m-1"), 3, Some(2.5)),
        (Some("openai/m-2"), 1, Some(0.25)),
        (Some("openai/m-3"), 1, None),
    ];
    assert_eq!(keys(&rows), expected);
    let first = ModelUsageRow {
        key: Some("openai/m-1".to_owned()),
        requests: 3,
        failed: 0,
        tokens: TokenCounts { input: Some(1200), output: Some(70), ..counted },
        cost: Some(2.5),
        currency: Some("USD".to_owned()),
        unpriced: 1,
        duration_ms: 3600,
    };
    assert_eq!(rows[0], first);
    // A request that failed before it used tokens has no missing cost.
    assert_eq!((rows[2].failed, rows[2].unpriced, rows[2].tokens), (1, 0, TokenCounts::default()));

    let rows = store.usage().report(ModelUsageGrouping::Agent, &all).await.unwrap();
    assert_eq!(keys(&rows), [(Some("work"), 3, Some(2.0)), (Some("home"), 2, Some(0.75))]);
    let rows = store.usage().report(ModelUsageGrouping::Principal, &all).await.unwrap();
    assert_eq!(keys(&rows), [(Some("t-2"), 2, Some(2.0)), (Some("t-1"), 3, Some(0.75))]);
    let rows = store.usage().report(ModelUsageGrouping::Session, &all).await.unwrap();
    assert_eq!(keys(&rows), [(None, 5, Some(2.75))]);
    let own = UsageFilter { principal: Some("t-1".to_owned()), ..all };
    let rows = store.usage().report(ModelUsageGrouping::Agent, &own).await.unwrap();
    assert_eq!(keys(&rows), [(Some("home"), 2, Some(0.75)), (Some("work"), 1, None)]);
}

#[tokio::test]
async fn days_start_in_the_readers_time_zone() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    // NOW is 2027-01-15 08:00 UTC.
    let at = |hours: i64| request("t-1", NOW + hours * HOUR_MS, Some(1.0));
    store.usage().record(vec![at(0), at(15), at(16), at(-9), at(40)]).await.unwrap();
    let days = async |zone_offset_s: i32| {
        let filter = UsageFilter { zone_offset_s, ..UsageFilter::default() };
        let rows = store.usage().report(ModelUsageGrouping::Day, &filter).await.unwrap();
        rows.into_iter().map(|row| (row.key.unwrap(), row.requests)).collect::<Vec<_>>()
    };
    let day = |day: &str, requests| (format!("2027-01-{day}"), requests);
    assert_eq!(days(0).await, [day("14", 1), day("15", 2), day("16", 1), day("17", 1)]);
    assert_eq!(days(3600).await, [day("15", 2), day("16", 2), day("17", 1)]);
    assert_eq!(days(-2 * 3600).await, [day("14", 1), day("15", 3), day("16", 1)]);
    let filter =
        UsageFilter { from_ms: Some(NOW), to_ms: Some(NOW + 16 * HOUR_MS), ..UsageFilter::default() };
    assert_eq!(
        keys(&store.usage().report(ModelUsageGrouping::Day, &filter).await.unwrap()),
        [(Some("2027-01-15"), 2, Some(2.0))]
    );
}

#[tokio::test]
async fn currencies_are_summed_separately() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let euros = ModelRequestRecord { currency: Some("EUR".to_owned()), ..request("t-1", NOW, Some(3.0)) };
    store
        .usage()
        .record(vec![request("t-1", NOW, Some(1.0)), euros, request("t-1", NOW, None)])
        .await
        .unwrap();
    let rows = store.usage().report(ModelUsageGrouping::Agent, &UsageFilter::default()).await.unwrap();
    let costs: Vec<_> = rows.iter().map(|row| (row.currency.as_deref(), row.cost, row.unpriced)).collect();
    assert_eq!(costs, [(Some("EUR"), Some(3.0), 1), (Some("USD"), Some(1.0), 0)]);
    assert_eq!(store.usage().spent("t-1", 0, "EUR").await.unwrap(), 3.0);
    assert_eq!(store.usage().spent("t-1", 0, "USD").await.unwrap(), 1.0);
}

#[tokio::test]
async fn spent_counts_from_a_time_on() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let spent = async |since_ms| store.usage().spent("t-1", since_ms, "USD").await.unwrap();
    assert_eq!(spent(0).await, 0.0);
    let requests = vec![
        request("t-1", NOW - 1, Some(4.0)),
        request("t-1", NOW, Some(1.0)),
        request("t-1", NOW + 5, Some(0.5)),
        request("t-1", NOW + 5, None),
        request("t-2", NOW, Some(9.0)),
    ];
    store.usage().record(requests).await.unwrap();
    assert_eq!((spent(NOW).await, spent(NOW + 1).await, spent(0).await), (1.5, 0.5, 5.5));
    // Reads only an index, so that it is cheap before each request.
    let plan: Vec<(i64, i64, i64, String)> = sqlx::query_as(
        "EXPLAIN QUERY PLAN SELECT coalesce(sum(cost), 0.0) FROM model_requests \
         WHERE principal = 'a' AND started_ms >= 1 AND currency = 'USD'",
    )
    .fetch_all(store.database().readers())
    .await
    .unwrap();
    assert!(plan[0].3.contains("COVERING INDEX model_requests_by_principal"), "{plan:?}");
}

#[tokio::test]
async fn tool_usage_is_counted_from_call_records() {
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { retention_days: 0, ..StoreOptions::default() }).await;
    let by = |who: &str, tool: &str, started_ms| OpenedCall {
        principal: PrincipalId::from(who),
        started_ms,
        ..call(tool)
    };
    record(&store, by("t-1", "phone/battery", NOW), success("87"));
    record(&store, by("t-2", "phone/battery", NOW + 1), failure(Code::Timeout));
    record(&store, by("t-1", "phone/camera", NOW + 2), success(""));
    record(&store, OpenedCall { tool: None, ..by("t-1", "no/such", NOW) }, failure(Code::ToolNotAvailable));
    drop(store.recorder().open(std::sync::Arc::new(by("t-1", "phone/battery", NOW))));
    let row = |tool: &str, calls: u64, errors: u64| ToolUsageRow {
        tool: tool.parse().unwrap(),
        calls,
        errors,
        total_us: 4321 * calls,
        running_us: 4300 * calls,
    };
    let tools = async |filter: UsageFilter| store.usage().tools(&filter).await.unwrap();
    let all = UsageFilter::default();
    assert_eq!(tools(all.clone()).await, [row("phone/battery", 2, 1), row("phone/camera", 1, 0)]);
    let own = UsageFilter { principal: Some("t-1".to_owned()), ..all.clone() };
    assert_eq!(tools(own).await, [row("phone/battery", 1, 0), row("phone/camera", 1, 0)]);
    let later = UsageFilter { from_ms: Some(NOW + 1), to_ms: Some(NOW + 2), ..all.clone() };
    assert_eq!(tools(later).await, [row("phone/battery", 1, 1)]);
    assert_eq!(tools(UsageFilter { from_ms: Some(NOW + 99), ..all }).await, []);
}

#[tokio::test]
async fn tool_usage_is_counted_over_many_steps() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    const CALLS: i64 = tool_usage::STEP_ROWS * 2 + 10;
    let fill = sqlx::query(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
         INSERT INTO calls (id, started_ms, status, name, source, tool, principal, role, via, total_us, user_wait_us, \
         queued_us, running_us, attempts) \
         SELECT randomblob(16), i, 1, 'a', 'phone', 'battery', 'owner', 0, 0, 2, 0, 0, 1, 1 FROM n",
    )
    .bind(CALLS);
    store.database().change("test", fill).await.unwrap();
    let rows = store.usage().tools(&UsageFilter::default()).await.unwrap();
    assert_eq!((rows[0].calls as i64, rows[0].total_us as i64), (CALLS, 2 * CALLS));
}
