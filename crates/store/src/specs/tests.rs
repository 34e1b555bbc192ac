use std::sync::atomic::AtomicUsize;

use super::*;
use crate::SourceRecord;
use crate::tests::support::{NOW, StoreHarness, number};

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

fn print(number: u8) -> SpecFingerprint {
    [number; 32]
}

/// A registration of a tool with the spec of this number.
fn note(tool: &str, number: u8) -> RegisteredSpec {
    RegisteredSpec {
        tool: tool.to_owned(),
        fingerprint: print(number),
        document: format!(r#"{{"name":"x","n":{number}.0,"odd":"\u0000\" é"}}"#).into(),
    }
}

fn row(tool: &str, approved: u8, current: u8, changed_ms: Option<i64>) -> SpecRow {
    SpecRow { tool: tool.to_owned(), approved: print(approved), current: print(current), changed_ms }
}

#[tokio::test]
async fn the_first_spec_is_approved_and_a_changed_one_is_reported() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let (specs, phone) = (store.specs(), slug("phone"));
    let first = specs.register(&phone, &[note("battery", 1), note("odd \"1\"", 2)], NOW).await.unwrap();
    assert_eq!(first, [row("battery", 1, 1, None), row("odd \"1\"", 2, 2, None)]);
    assert!(!first[0].is_changed());

    // One tool is no longer offered, one has changed, one is new.
    let second = specs.register(&phone, &[note("battery", 3), note("camera", 4)], NOW + 1).await.unwrap();
    let changed = row("battery", 1, 3, Some(NOW + 1));
    assert!(changed.is_changed());
    assert_eq!(second, [changed.clone(), row("camera", 4, 4, None), row("odd \"1\"", 2, 2, None)]);
    for number in [1, 3] {
        assert_eq!(specs.document(&print(number)).await.unwrap(), Some(note("", number).document.text()));
    }
    assert_eq!(specs.document(&print(9)).await.unwrap(), None);

    // The same spec changes nothing, another change updates the time, and the approved spec clears it.
    assert_eq!(specs.register(&phone, &[note("battery", 3)], NOW + 2).await.unwrap()[0], changed);
    let third = specs.register(&phone, &[note("battery", 5)], NOW + 3).await.unwrap();
    assert_eq!(third[0], row("battery", 1, 5, Some(NOW + 3)));
    let back = specs.register(&phone, &[note("battery", 1)], NOW + 4).await.unwrap();
    assert_eq!(back[0], row("battery", 1, 1, None));
}

#[tokio::test]
async fn only_the_spec_shown_to_the_owner_is_approved() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let (specs, phone) = (store.specs(), slug("phone"));
    specs.register(&phone, &[note("battery", 1)], NOW).await.unwrap();
    specs.register(&phone, &[note("battery", 2)], NOW).await.unwrap();
    specs.register(&phone, &[note("battery", 3)], NOW).await.unwrap();
    assert!(!specs.approve(&phone, "battery", print(2)).await.unwrap());
    assert!(!specs.approve(&phone, "camera", print(3)).await.unwrap());
    assert_eq!(specs.of_source(&phone).await.unwrap(), [row("battery", 1, 3, Some(NOW))]);
    assert!(specs.approve(&phone, "battery", print(3)).await.unwrap());
    store.close().await;

    let store = folder.open().await;
    let all = store.specs().all().await.unwrap();
    assert_eq!(all, BTreeMap::from([("phone".to_owned(), vec![row("battery", 3, 3, None)])]));
}

#[tokio::test]
async fn a_document_is_stored_once_and_as_long_as_a_tool_uses_it() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let specs = store.specs();
    let documents = async || number(&folder.database(), "SELECT count(*) FROM spec_documents").await;
    for source in ["phone", "desk"] {
        specs.register(&slug(source), &[note("a", 1), note("b", 1), note("c", 2)], NOW).await.unwrap();
    }
    assert_eq!(documents().await, 2);
    specs.register(&slug("phone"), &[note("a", 3)], NOW).await.unwrap();
    specs.register(&slug("phone"), &[note("a", 4)], NOW).await.unwrap();
    assert_eq!(documents().await, 4);
    store.enforce_retention().await.unwrap();
    assert_eq!(documents().await, 3, "what lay between the approved and the current one is gone");
    specs.approve(&slug("phone"), "a", print(4)).await.unwrap();
    store.enforce_retention().await.unwrap();
    assert_eq!(documents().await, 3, "others have the one that was approved before");

    assert!(specs.forget(&slug("desk")).await.unwrap());
    assert!(!specs.forget(&slug("desk")).await.unwrap());
    specs.forget(&slug("phone")).await.unwrap();
    store.enforce_retention().await.unwrap();
    assert_eq!(documents().await, 0);
}

#[tokio::test]
async fn frequent_changes_of_specs_do_not_fill_the_disk() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let specs = store.specs();
    for number in 0..10 {
        let large = RegisteredSpec { document: "x".repeat(8 << 20).into(), ..note("a", number) };
        specs.register(&slug("phone"), &[large], NOW).await.unwrap();
    }
    let bytes = number(&folder.database(), "SELECT sum(octet_length(document)) FROM spec_documents").await;
    assert!(bytes < 40 << 20, "{bytes} bytes are kept of one tool");
    assert_eq!(specs.of_source(&slug("phone")).await.unwrap(), [row("a", 0, 9, Some(NOW))]);
    assert!(specs.document(&print(0)).await.unwrap().is_some());
    assert!(specs.document(&print(9)).await.unwrap().is_some());
}

#[tokio::test]
async fn removing_a_source_removes_its_specs() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let source = SourceRecord {
        slug: slug("phone"),
        token_id: "t-1".to_owned(),
        identity_key: "device:1".to_owned(),
        kind: "device".to_owned(),
        label: "Phone".to_owned(),
        platform: None,
        app_version: None,
        created_ms: NOW,
        last_seen_ms: NOW,
        tools: vec![],
        removed_ms: None,
    };
    store.sources().upsert(&source).await.unwrap();
    for of in ["phone", "desk"] {
        store.specs().register(&slug(of), &[note("a", 1)], NOW).await.unwrap();
    }
    assert!(store.sources().remove(&slug("phone"), NOW).await.unwrap());
    let left: Vec<String> = store.specs().all().await.unwrap().into_keys().collect();
    assert_eq!(left, ["desk"]);
}

#[tokio::test]
async fn many_large_specs_are_written_up_to_the_limit() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let (specs, phone) = (store.specs(), slug("phone"));
    let numbered = |number: usize, length: usize| RegisteredSpec {
        tool: format!("tool_{number:05}"),
        fingerprint: std::array::from_fn(|at| (number >> (8 * (at % 4))) as u8),
        document: "x".repeat(length).into(),
    };
    // More than one statement accepts.
    let many: Vec<RegisteredSpec> = (0..4096).map(|number| numbered(number, 1000)).collect();
    let rows = specs.register(&phone, &many, NOW).await.unwrap();
    assert_eq!(rows.len(), 4096);
    assert_eq!(rows[4095].tool, "tool_04095");
    assert_eq!(number(&folder.database(), "SELECT count(*) FROM spec_documents").await, 4096);

    let more: Vec<RegisteredSpec> = (4096..20_000).map(|number| numbered(number, 1)).collect();
    let rows = specs.register(&phone, &more, NOW).await.unwrap();
    assert_eq!(rows.len(), MAX_TOOLS);
    // Known tools can still change.
    let rows = specs.register(&phone, &[note("tool_00000", 200), note("new", 1)], NOW).await.unwrap();
    assert_eq!((rows.len(), rows[0].is_changed()), (MAX_TOOLS, true));
}

#[tokio::test]
async fn documents_beyond_the_limit_keep_their_fingerprints() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let (specs, phone) = (store.specs(), slug("phone"));
    let large = |number: u8| RegisteredSpec {
        document: "x".repeat(30 << 20).into(),
        ..note(&format!("t{number}"), number)
    };
    let rows = specs.register(&phone, &[large(1), large(2), large(3), note("small", 4)], NOW).await.unwrap();
    assert_eq!(rows.len(), 4);
    for (number, kept) in [(1, true), (2, true), (3, false), (4, true)] {
        assert_eq!(specs.document(&print(number)).await.unwrap().is_some(), kept, "{number}");
    }
    specs.register(&phone, &[large(5)], NOW).await.unwrap();
    assert_eq!(specs.document(&print(5)).await.unwrap(), None);
}

#[tokio::test]
async fn a_document_is_created_only_when_it_is_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let made = Arc::new(AtomicUsize::new(0));
    let counted = |tool: &str, number: u8| {
        let made = Arc::clone(&made);
        let document = LazySpecDocument::new(move || {
            made.fetch_add(1, Ordering::Relaxed);
            format!("{number}")
        });
        RegisteredSpec { document, ..note(tool, number) }
    };
    let twice = [counted("a", 1), counted("b", 1), counted("c", 2)];
    store.specs().register(&slug("phone"), &twice, NOW).await.unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 2, "equal ones are written once");
    store.specs().register(&slug("phone"), &twice, NOW).await.unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 2, "and not again");
    assert_eq!(store.specs().document(&print(2)).await.unwrap().as_deref(), Some("2"));
}

#[tokio::test]
async fn only_registered_tools_are_returned() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let (specs, phone, desk) = (store.specs(), slug("phone"), slug("desk"));
    specs.register(&phone, &[note("a", 1), note("b", 2)], NOW).await.unwrap();
    let noted = specs
        .register_many(vec![(phone.clone(), vec![note("a", 3)]), (desk.clone(), vec![note("b", 4)])], NOW + 1)
        .await
        .unwrap();
    let expected =
        [(phone.clone(), vec![row("a", 1, 3, Some(NOW + 1))]), (desk.clone(), vec![row("b", 4, 4, None)])];
    assert_eq!(noted, HashMap::from(expected));
    let asked = specs.of_tools(&[(&phone, "b"), (&desk, "a"), (&desk, "b")]).await.unwrap();
    assert_eq!(
        asked,
        HashMap::from([(phone, vec![row("b", 2, 2, None)]), (desk, vec![row("b", 4, 4, None)])])
    );
}

#[tokio::test]
async fn reads_at_startup_open_no_reader() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.specs().register_many(vec![(slug("phone"), vec![note("a", 1)])], NOW).await.unwrap();
    let read = async || {
        assert_eq!(store.tokens().list().await.unwrap().len(), 0);
        assert_eq!(store.sources().all().await.unwrap().len(), 0);
        assert_eq!(store.grants().list().await.unwrap().len(), 0);
        assert_eq!(store.rules().list().await.unwrap().len(), 0);
        assert_eq!(store.specs().all().await.unwrap().len(), 1);
    };
    read().await;
    assert_eq!(store.database().readers().size(), 0);
    // An existing reader is used.
    assert!(store.specs().document(&print(1)).await.unwrap().is_some());
    assert_eq!(store.database().readers().size(), 1);
    read().await;
}
