use super::*;
use crate::StoreOptions;
use crate::tests::support::{NOW, StoreHarness, options};

fn grant(id: &str) -> GrantRecord {
    GrantRecord {
        id: id.to_owned(),
        kind: GrantKind::Approval,
        permission: None,
        source: "phone".to_owned(),
        tool: "battery".to_owned(),
        principal: None,
        agent: None,
        decision: GrantDecision::Granted,
        created_ms: NOW,
        created_by: "owner".to_owned(),
        expires_ms: None,
        revoked_ms: None,
    }
}

#[tokio::test]
async fn a_grant_is_read_back_as_it_was_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let narrow = GrantRecord {
        kind: GrantKind::Permission,
        permission: Some("files.write".to_owned()),
        principal: Some("t-1".to_owned()),
        agent: Some("home".to_owned()),
        decision: GrantDecision::DeniedAlways,
        created_ms: NOW - 1,
        expires_ms: Some(NOW + 9),
        ..grant("b")
    };
    store.grants().insert(&grant("a")).await.unwrap();
    store.grants().insert(&narrow).await.unwrap();
    let again = store.grants().insert(&GrantRecord { tool: "other".to_owned(), ..grant("a") }).await;
    assert!(matches!(again, Err(StoreError::GrantExists { id }) if id == "a"));
    assert_eq!(store.grants().list().await.unwrap(), [narrow.clone(), grant("a")]);

    store.close().await;
    let store = folder.open().await;
    assert_eq!(store.grants().active(NOW + 8).await.unwrap(), [narrow, grant("a")]);
    assert_eq!(store.grants().active(NOW + 9).await.unwrap(), [grant("a")]);
}

#[tokio::test]
async fn a_revoked_grant_stays_revoked_and_is_listed() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.grants().insert(&grant("a")).await.unwrap();
    assert!(store.grants().revoke("a", NOW + 1).await.unwrap());
    assert!(!store.grants().revoke("a", NOW + 2).await.unwrap());
    assert!(!store.grants().revoke("b", NOW + 2).await.unwrap());
    let revoked = GrantRecord { revoked_ms: Some(NOW + 1), ..grant("a") };
    assert_eq!(store.grants().list().await.unwrap(), [revoked]);
    assert_eq!(store.grants().active(NOW).await.unwrap(), []);
}

#[tokio::test]
async fn ended_grants_are_kept_as_long_as_calls() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    let folder = StoreHarness::new();
    let store = folder.open_with(StoreOptions { retention_days: 2, ..options() }).await;
    let old = NOW - 2 * DAY_MS - 1;
    let long_ago = NOW - 100 * DAY_MS;
    for one in [
        GrantRecord { created_ms: long_ago, ..grant("counts") },
        GrantRecord { expires_ms: Some(NOW + 1), ..grant("counts still") },
        GrantRecord { expires_ms: Some(old), ..grant("ended") },
        GrantRecord { revoked_ms: Some(old), ..grant("revoked") },
        GrantRecord { revoked_ms: Some(old), expires_ms: Some(NOW + 1), ..grant("revoked early") },
        GrantRecord { revoked_ms: Some(NOW), ..grant("revoked now") },
    ] {
        store.grants().insert(&one).await.unwrap();
    }
    store.enforce_retention().await.unwrap();
    let left = store.grants().list().await.unwrap();
    let left: Vec<&str> = left.iter().map(|grant| grant.id.as_str()).collect();
    assert_eq!(left, ["counts", "counts still", "revoked now"]);
}

#[test]
fn enum_values_survive_their_text_form() {
    for kind in [GrantKind::Permission, GrantKind::Approval] {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    for decision in [GrantDecision::Granted, GrantDecision::DeniedAlways] {
        assert_eq!(decision.to_string().parse(), Ok(decision));
        assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
    }
    assert_eq!("denied".parse::<GrantDecision>(), Err(UnknownGrantValue("denied".to_owned())));
}
