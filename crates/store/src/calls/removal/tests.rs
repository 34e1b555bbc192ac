use std::sync::Arc;

use toolway_core::record::OpenedCall;
use toolway_types::PrincipalId;

use super::*;
use crate::tests::support::{NOW, StoreHarness, call, end, number, record, success};
use crate::{Store, TextFilter};

async fn names(store: &Store) -> Vec<String> {
    let page = store.calls().list(&CallFilter::default(), None, 1000).await.unwrap();
    page.calls.into_iter().map(|call| call.name).collect()
}

#[tokio::test]
async fn a_finished_call_is_removed_and_a_running_one_is_not() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let calls = store.calls();
    let (one, other) =
        (record(&store, call("a/one"), success("")), record(&store, call("a/other"), success("")));
    assert_eq!(calls.remove(one).await.unwrap(), CallRemoval::Removed);
    assert_eq!(calls.remove(one).await.unwrap(), CallRemoval::Unknown);
    assert!(calls.get(other).await.unwrap().is_some());

    let running = Arc::new(call("a/running"));
    drop(store.recorder().open(Arc::clone(&running)));
    assert_eq!(calls.remove(running.id).await.unwrap(), CallRemoval::Running);
    drop(store.recorder().close(end(&running, success(""))));
    assert_eq!(calls.remove(running.id).await.unwrap(), CallRemoval::Removed);
    assert_eq!(names(&store).await, ["a__other"]);
}

#[tokio::test]
async fn only_matching_calls_are_removed() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let fill = async || {
        let of = |name: &str, session: Option<&str>, principal: &str| OpenedCall {
            name: name.into(),
            session: session.map(Into::into),
            principal: PrincipalId::from(principal),
            ..call("a/b")
        };
        record(&store, of("one", Some("s-1"), "t-1"), success("a secret"));
        record(&store, of("two", Some("s-2"), "t-1"), success(""));
        record(&store, of("three", None, "t-2"), success("A SECRET"));
        record(&store, OpenedCall { started_ms: NOW - 5, ..of("four", None, "t-1") }, success(""));
        store.flush().await.unwrap();
    };
    let text = |text: &str| Some(text.to_owned());
    let all = CallFilter::default;
    let secret = Some(TextFilter { text: "secret".to_owned(), ran_with: true });
    let cases: &[(CallFilter, &[&str])] = &[
        (CallFilter { session: text("s-1"), ..all() }, &["three", "two", "four"]),
        (CallFilter { principal: text("t-1"), ..all() }, &["three"]),
        (CallFilter { text: secret.clone(), ..all() }, &["two", "four"]),
        (CallFilter { text: secret, principal: text("t-2"), ..all() }, &["two", "one", "four"]),
        (CallFilter { until_ms: Some(NOW), ..all() }, &["three", "two", "one"]),
        (CallFilter { session: text("s-3"), ..all() }, &["three", "two", "one", "four"]),
        (all(), &[]),
    ];
    for (filter, left) in cases {
        fill().await;
        let removed = store.calls().remove_all(filter).await.unwrap();
        assert_eq!(names(&store).await, *left, "{filter:?}");
        assert_eq!(removed.calls as usize, 4 - left.len(), "{filter:?}");
        store.calls().remove_all(&all()).await.unwrap();
    }
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM calls").await, 0);
}

#[tokio::test]
async fn running_and_later_calls_are_not_removed() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for _ in 0..1200 {
        record(&store, call("a/old"), success(""));
    }
    drop(store.recorder().open(Arc::new(call("a/running"))));
    store.flush().await.unwrap();
    let other = store.clone();
    let recording = tokio::spawn(async move {
        for _ in 0..100 {
            record(&other, call("a/new"), success(""));
            other.flush().await.unwrap();
        }
    });
    let removed = store.calls().remove_all(&CallFilter::default()).await.unwrap();
    recording.await.unwrap();
    // Some later calls may have been recorded before the removal started.
    let left = names(&store).await;
    assert_eq!(left.len() as u64, 1301 - removed.calls);
    assert!(
        removed.calls >= 1200
            && left.contains(&"a__running".to_owned())
            && !left.contains(&"a__old".to_owned())
    );
}

#[tokio::test]
async fn older_finished_calls_are_removed() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let at = |ms: i64, tool: &str| OpenedCall { started_ms: NOW + ms, ..call(tool) };
    for ms in 0..1200 {
        record(&store, at(ms, "a/old"), success(""));
    }
    drop(store.recorder().open(Arc::new(at(0, "a/running"))));
    record(&store, at(5000, "a/new"), success(""));
    let older = CallFilter { until_ms: Some(NOW + 5000), ..CallFilter::default() };
    let removed = store.calls().remove_all(&older).await.unwrap();
    assert_eq!(removed.calls, 1200);
    assert_eq!(names(&store).await, ["a__new", "a__running"]);
    assert_eq!(store.calls().remove_all(&older).await.unwrap(), RemovedCalls::default());
}
