use super::*;
use crate::tests::support::{NOW, StoreHarness};

fn source(slug: &str, identity: &str) -> SourceRecord {
    SourceRecord {
        slug: slug.parse().unwrap(),
        token_id: "t-1".to_owned(),
        identity_key: identity.to_owned(),
        kind: "device".to_owned(),
        label: "Phone".to_owned(),
        platform: Some("android".to_owned()),
        app_version: None,
        created_ms: NOW,
        last_seen_ms: NOW,
        tools: vec!["battery".to_owned(), "odd \" name".to_owned()],
        removed_ms: None,
    }
}

#[tokio::test]
async fn a_source_is_read_back_as_it_was_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let (phone, desk) = (source("phone", "device:1"), source("desk", "device:2"));
    store.sources().upsert(&phone).await.unwrap();
    store.sources().upsert(&desk).await.unwrap();
    assert_eq!(store.sources().all().await.unwrap(), [desk, phone.clone()]);

    let newer = SourceRecord {
        platform: None,
        app_version: Some("2.0".to_owned()),
        last_seen_ms: NOW + 9,
        tools: vec![],
        created_ms: NOW + 9,
        ..phone.clone()
    };
    store.sources().upsert(&newer).await.unwrap();
    // The time of creation never changes.
    let expected = SourceRecord { created_ms: NOW, ..newer };
    assert_eq!(store.sources().all().await.unwrap()[1], expected);
}

#[tokio::test]
async fn a_slug_belongs_to_one_source_forever() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sources = store.sources();
    let phone = source("phone", "device:1");
    sources.upsert(&phone).await.unwrap();
    let others = [source("phone", "device:2"), SourceRecord { token_id: "t-2".to_owned(), ..phone.clone() }];
    // While the source exists, its identity gets no second slug.
    let refused = sources.upsert(&source("phone-2", "device:1")).await;
    assert!(matches!(refused, Err(StoreError::SlugTaken { .. })));
    for other in &others {
        let refused = sources.upsert(other).await;
        assert!(matches!(refused, Err(StoreError::SlugTaken { .. })), "{other:?}");
    }
    assert!(sources.remove(&phone.slug, NOW + 5).await.unwrap());
    assert!(!sources.remove(&phone.slug, NOW + 6).await.unwrap());
    // No source gets the slug of a removed one, not even with the same identity.
    for other in others.iter().chain([&phone]) {
        let refused = sources.upsert(other).await;
        assert!(matches!(refused, Err(StoreError::SlugTaken { .. })), "{other:?}");
    }
    assert!(!sources.set_label(&phone.slug, "Kitchen").await.unwrap());
    let removed = SourceRecord { removed_ms: Some(NOW + 5), ..phone };
    assert_eq!(sources.all().await.unwrap(), [removed]);
}

#[tokio::test]
async fn the_identity_of_a_removed_source_is_free() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sources = store.sources();
    let removed = |record: &SourceRecord| SourceRecord { removed_ms: Some(NOW + 5), ..record.clone() };
    let (first, second, third) =
        (source("phone", "device:1"), source("phone-2", "device:1"), source("phone-3", "device:1"));
    sources.upsert(&first).await.unwrap();
    sources.remove(&first.slug, NOW + 5).await.unwrap();
    sources.upsert(&second).await.unwrap();
    assert_eq!(sources.all().await.unwrap(), [removed(&first), second.clone()]);
    // Two removed sources do not conflict.
    sources.remove(&second.slug, NOW + 5).await.unwrap();
    sources.upsert(&third).await.unwrap();
    assert_eq!(sources.all().await.unwrap(), [removed(&first), removed(&second), third]);
}

#[tokio::test]
async fn set_label_changes_only_the_label() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let phone = source("phone", "device:1");
    store.sources().upsert(&phone).await.unwrap();
    assert!(store.sources().set_label(&phone.slug, "Kitchen").await.unwrap());
    assert!(!store.sources().set_label(&"desk".parse().unwrap(), "x").await.unwrap());
    let expected = SourceRecord { label: "Kitchen".to_owned(), ..phone };
    assert_eq!(store.sources().all().await.unwrap(), [expected]);
}

#[tokio::test]
async fn tools_and_last_seen_are_written_together() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sources = store.sources();
    for (slug, identity) in [("a", "1"), ("b", "2"), ("c", "3")] {
        sources.upsert(&source(slug, identity)).await.unwrap();
    }
    let slug = |text: &str| text.parse::<Slug>().unwrap();
    sources.touch(&slug("a"), NOW + 1);
    sources.set_tools(&slug("b"), vec!["x".to_owned()], NOW + 2);
    sources.touch(&slug("b"), NOW + 3);
    sources.set_tools(&slug("c"), vec![], NOW - 9);
    sources.touch(&slug("nobody"), NOW);
    let seen: Vec<_> =
        sources.all().await.unwrap().into_iter().map(|source| (source.last_seen_ms, source.tools)).collect();
    let kept = source("a", "1").tools;
    assert_eq!(seen, [(NOW + 1, kept), (NOW + 3, vec!["x".to_owned()]), (NOW, vec![])]);
}
