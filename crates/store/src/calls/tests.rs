use crate::store::Store;
use toolway_core::record::OpenedCall;
use toolway_types::{Code, PrincipalId};

use super::*;
use crate::tests::support::{NOW, StoreHarness, call, end, failure, record, success};
use std::sync::Arc;

fn at(ms: i64, tool: &str) -> OpenedCall {
    OpenedCall { started_ms: NOW + ms, ..call(tool) }
}

async fn names(store: &Store, filter: CallFilter) -> Vec<String> {
    let page = store.calls().list(&filter, None, 100).await.unwrap();
    page.calls.into_iter().map(|call| call.name).collect()
}

#[tokio::test]
async fn each_filter_matches_its_calls() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    record(&store, at(1, "phone/battery"), success(""));
    record(&store, at(2, "phone/odd[1]"), failure(Code::Timeout));
    record(&store, at(3, "desk/battery"), failure(Code::NoProgress));
    let other = OpenedCall { principal: PrincipalId::from("t-7"), ..at(4, "desk/disk_usage") };
    record(&store, other, failure(Code::DeviceDisconnected));
    let nowhere = OpenedCall { name: "battery".into(), tool: None, ..at(5, "x/y") };
    record(&store, nowhere, failure(Code::ToolNotAvailable));
    drop(store.recorder().open(Arc::new(at(6, "desk/slow"))));

    let tool = |text: &str| CallFilter { tool: Some(text.into()), ..CallFilter::default() };
    let status = |text: &str| CallFilter { status: Some(text.parse().unwrap()), ..CallFilter::default() };
    let all = CallFilter::default;
    let cases: &[(CallFilter, &[&str])] = &[
        (
            all(),
            &[
                "desk__slow",
                "battery",
                "desk__disk_usage",
                "desk__battery",
                "phone__odd[1]",
                "phone__battery",
            ],
        ),
        (tool("phone/battery"), &["phone__battery"]),
        (tool("phone/*"), &["phone__odd[1]", "phone__battery"]),
        (tool("*/battery"), &["desk__battery", "phone__battery"]),
        (tool("phone/odd[?]"), &["phone__odd[1]"]),
        (tool("ph?ne/b*"), &["phone__battery"]),
        (tool("battery"), &["battery", "desk__battery", "phone__battery"]),
        (tool("desk__battery"), &["desk__battery"]),
        (tool("phone/bat"), &[]),
        (CallFilter { source: Some("phone".to_owned()), ..all() }, &["phone__odd[1]", "phone__battery"]),
        (CallFilter { principal: Some("t-7".to_owned()), ..all() }, &["desk__disk_usage"]),
        (status("running"), &["desk__slow"]),
        (status("success"), &["phone__battery"]),
        (status("error"), &["battery", "desk__disk_usage", "desk__battery", "phone__odd[1]"]),
        (status("timeout"), &["desk__battery", "phone__odd[1]"]),
        (status("no_progress"), &["desk__battery"]),
        (status("permission_denied"), &[]),
        (CallFilter { since_ms: Some(NOW + 5), ..all() }, &["desk__slow", "battery"]),
        (CallFilter { until_ms: Some(NOW + 2), ..all() }, &["phone__battery"]),
        (CallFilter { since_ms: Some(NOW + 2), ..status("timeout") }, &["desk__battery", "phone__odd[1]"]),
        (CallFilter { source: Some("desk".to_owned()), ..tool("*/battery") }, &["desk__battery"]),
    ];
    for (filter, expected) in cases {
        assert_eq!(names(&store, filter.clone()).await, *expected, "{filter:?}");
    }
}

#[test]
fn an_unknown_status_is_an_error() {
    for word in ["", "Success", "failed", "no_such_code"] {
        assert_eq!(word.parse::<StatusFilter>(), Err(filter::UnknownStatus(word.to_owned())));
    }
    assert_eq!("timeout".parse(), Ok(StatusFilter::Kind(toolway_types::ErrorKind::Timeout)));
}

#[tokio::test]
async fn pages_have_no_gap_and_no_overlap() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let mut expected = Vec::new();
    // Many calls start at the same moment.
    for number in 0..25 {
        expected.push(record(&store, at(number / 10, "a/b"), success("")));
    }
    expected.reverse();
    let mut seen = Vec::new();
    let mut cursor = None;
    let mut sizes = Vec::new();
    loop {
        let page = store.calls().list(&CallFilter::default(), cursor.as_ref(), 10).await.unwrap();
        sizes.push(page.calls.len());
        seen.extend(page.calls.iter().map(|call| call.call_id));
        // A call that starts meanwhile is on no later page.
        record(&store, at(100, "a/b"), success(""));
        let Some(next) = page.next else { break };
        // The cursor passes through its text form, as for a client.
        cursor = Some(next.to_string().parse().unwrap());
    }
    assert_eq!(sizes, [10, 10, 5]);
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_full_last_page_has_no_cursor() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for _ in 0..4 {
        record(&store, call("a/b"), success(""));
    }
    let page = async |limit| store.calls().list(&CallFilter::default(), None, limit).await.unwrap();
    assert_eq!(page(4).await.next, None);
    assert!(page(3).await.next.is_some());
    // Limits out of range are clamped.
    assert_eq!(page(0).await.calls.len(), 1);
    assert_eq!(page(usize::MAX).await.calls.len(), 4);
}

#[tokio::test]
async fn a_page_ends_at_its_size_limit() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let large = "x".repeat(900_000);
    for _ in 0..12 {
        record(&store, call("a/b"), success(&large));
    }
    let first = store.calls().list(&CallFilter::default(), None, 100).await.unwrap();
    assert_eq!(first.calls.len(), 10);
    let second = store.calls().list(&CallFilter::default(), first.next.as_ref(), 100).await.unwrap();
    assert_eq!((second.calls.len(), second.next), (2, None));
}

#[test]
fn an_invalid_cursor_is_an_error() {
    for text in ["", "1", "1.", ".1", "a.b", "1.2.3", "1 .2"] {
        assert!(matches!(text.parse::<CallCursor>(), Err(StoreError::BadCursor)), "{text:?}");
    }
    let cursor = CallCursor { started_ms: -5, seq: 7 };
    assert_eq!(cursor.to_string().parse::<CallCursor>().unwrap(), cursor);
}

#[tokio::test]
async fn a_call_is_found_as_soon_as_it_ends() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let opened = Arc::new(call("a/b"));
    drop(store.recorder().open(Arc::clone(&opened)));
    assert_eq!(store.calls().get(opened.id).await.unwrap().unwrap().status, CallStatus::Open);
    drop(store.recorder().close(end(&opened, success(""))));
    assert_eq!(store.calls().get(opened.id).await.unwrap().unwrap().status, CallStatus::Success);
    assert_eq!(store.calls().get(CallId::new()).await.unwrap(), None);
}
