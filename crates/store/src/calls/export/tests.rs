use crate::store::Store;
use futures_util::TryStreamExt;
use toolway_core::record::OpenedCall;
use toolway_types::CallId;

use super::*;
use crate::TextFilter;
use crate::tests::support::{NOW, StoreHarness, call, record, success};

fn at(ms: i64) -> OpenedCall {
    OpenedCall { started_ms: NOW + ms, ..call("a/b") }
}

async fn exported(store: &Store, filter: CallFilter, order: CallOrder) -> Vec<Vec<CallId>> {
    let pages: Vec<Vec<CallRow>> = store.calls().export(filter, order).try_collect().await.unwrap();
    pages.into_iter().map(|page| page.into_iter().map(|call| call.call_id).collect()).collect()
}

#[tokio::test]
async fn every_call_is_exported_once() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let mut all: Vec<CallId> = (0..1000).map(|number| record(&store, at(number / 10), success(""))).collect();
    let pages = exported(&store, CallFilter::default(), CallOrder::OldestFirst).await;
    assert!(pages.iter().all(|page| !page.is_empty() && page.len() <= PAGE_LIMITS.calls));
    assert_eq!(pages.len(), 4);
    assert_eq!(pages.concat(), all);
    all.reverse();
    assert_eq!(exported(&store, CallFilter::default(), CallOrder::NewestFirst).await.concat(), all);

    let half = CallFilter { since_ms: Some(NOW + 50), ..CallFilter::default() };
    assert_eq!(exported(&store, half, CallOrder::NewestFirst).await.concat(), all[..500]);
    let none = CallFilter { source: Some("none".to_owned()), ..CallFilter::default() };
    assert_eq!(exported(&store, none, CallOrder::OldestFirst).await.len(), 0);
}

#[tokio::test]
async fn pages_of_large_calls_are_short() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for number in 0..10 {
        record(&store, at(number), success(&"x".repeat(600_000)));
    }
    let pages = exported(&store, CallFilter::default(), CallOrder::OldestFirst).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2; 5]);
}

#[tokio::test]
async fn an_export_ends_although_calls_continue() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let text = Some(TextFilter { text: "battery".to_owned(), ran_with: false });
    for filter in [CallFilter::default(), CallFilter { text, ..CallFilter::default() }] {
        let before: Vec<CallId> = (0..600)
            .map(|number| record(&store, OpenedCall { name: "battery".into(), ..at(number) }, success("")))
            .collect();
        let mut pages = Box::pin(store.calls().export(filter, CallOrder::OldestFirst));
        let mut seen = Vec::new();
        let mut count = 0;
        while let Some(page) = pages.try_next().await.unwrap() {
            seen.extend(page.into_iter().map(|call| call.call_id));
            count += 1;
            // More than one page, and later than all calls so far.
            for _ in 0..300 {
                record(&store, OpenedCall { name: "battery".into(), ..at(10_000) }, success(""));
            }
            store.flush().await.unwrap();
        }
        assert_eq!((count, seen), (3, before));
        store.calls().remove_all(&CallFilter::default()).await.unwrap();
    }
}

#[tokio::test]
async fn only_calls_removed_during_the_export_are_missing() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let all: Vec<CallId> = (0..600).map(|number| record(&store, at(number), success(""))).collect();
    let mut pages = Box::pin(store.calls().export(CallFilter::default(), CallOrder::OldestFirst));
    let first = pages.try_next().await.unwrap().unwrap().len();
    let until = CallFilter { until_ms: Some(NOW + 400), ..CallFilter::default() };
    store.calls().remove_all(&until).await.unwrap();
    let rest: Vec<Vec<CallRow>> = pages.try_collect().await.unwrap();
    let rest: Vec<CallId> = rest.concat().into_iter().map(|call| call.call_id).collect();
    assert_eq!((first, rest), (256, all[400..].to_vec()));
}
