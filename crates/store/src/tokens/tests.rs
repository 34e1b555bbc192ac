use toolway_types::Role;

use super::*;
use crate::tests::support::{NOW, StoreHarness, within};

fn token(id: &str, hash: u8) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        hash: [hash; 32],
        role: Role::Companion,
        label: format!("{id}'s"),
        agent: Some("home".to_owned()),
        device_id: Some("d-1".to_owned()),
        device_name: Some("Phone".to_owned()),
        platform: Some("android".to_owned()),
        created_ms: NOW,
        expires_ms: Some(NOW + 1000),
        revoked_ms: None,
        last_used_ms: None,
    }
}

#[tokio::test]
async fn a_token_is_read_back_as_it_was_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let full = token("full", 1);
    let bare = TokenRecord {
        agent: None,
        device_id: None,
        device_name: None,
        platform: None,
        expires_ms: None,
        created_ms: NOW + 1,
        ..token("bare", 2)
    };
    store.tokens().insert(&full).await.unwrap();
    store.tokens().insert(&bare).await.unwrap();
    assert_eq!(store.tokens().list().await.unwrap(), [full, bare]);
}

#[tokio::test]
async fn ids_and_hashes_are_unique() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.tokens().insert(&token("a", 1)).await.unwrap();
    for twice in [token("a", 2), token("b", 1)] {
        let refused = store.tokens().insert(&twice).await;
        assert!(matches!(refused, Err(StoreError::TokenExists { id }) if id == twice.id));
    }
}

#[tokio::test]
async fn revoked_and_ended_tokens_are_listed_but_not_active() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let tokens = store.tokens();
    for (id, hash) in [("live", 1), ("revoked", 2)] {
        tokens.insert(&token(id, hash)).await.unwrap();
    }
    assert!(tokens.revoke("revoked", NOW + 5).await.unwrap());
    // The first time of revocation counts.
    assert!(!tokens.revoke("revoked", NOW + 6).await.unwrap());
    assert!(!tokens.revoke("unknown", NOW).await.unwrap());
    let ids = |list: Vec<TokenRecord>| list.into_iter().map(|token| token.id).collect::<Vec<_>>();
    assert_eq!(ids(tokens.active(NOW + 999).await.unwrap()), ["live"]);
    assert_eq!(ids(tokens.active(NOW + 1000).await.unwrap()), [""; 0]);
    let all = tokens.list().await.unwrap();
    assert_eq!(all[1].revoked_ms, Some(NOW + 5));
    assert_eq!(ids(all), ["live", "revoked"]);
}

#[tokio::test]
async fn the_owners_token_can_be_rotated_and_renamed() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let tokens = store.tokens();
    tokens.insert(&token("owner", 1)).await.unwrap();
    assert!(tokens.replace_hash("owner", [9; 32]).await.unwrap());
    assert!(tokens.set_label("owner", "me").await.unwrap());
    assert!(!tokens.replace_hash("nobody", [8; 32]).await.unwrap());
    assert!(!tokens.set_label("nobody", "x").await.unwrap());
    let owner = TokenRecord { label: "me".to_owned(), ..token("owner", 9) };
    assert_eq!(tokens.list().await.unwrap(), [owner]);
}

#[tokio::test]
async fn the_last_use_never_moves_back() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let tokens = store.tokens();
    for (id, hash) in [("a", 1), ("b", 2), ("c", 3)] {
        tokens.insert(&token(id, hash)).await.unwrap();
    }
    let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    for at in [NOW + 10, NOW + 30, NOW + 20] {
        tokens.touch(&a, at);
    }
    tokens.touch(&b, NOW + 1);
    tokens.touch(&"unknown".into(), NOW);
    store.flush().await.unwrap();
    tokens.touch(&a, NOW + 25);
    let used: Vec<_> = tokens.list().await.unwrap().into_iter().map(|token| token.last_used_ms).collect();
    assert_eq!(used, [Some(NOW + 30), Some(NOW + 1), None]);
}

#[tokio::test]
async fn a_last_use_is_written_without_a_flush() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    store.tokens().insert(&token("a", 1)).await.unwrap();
    store.tokens().touch(&"a".into(), NOW + 7);
    let written = async {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(20));
        let sql = "SELECT count(*) FROM tokens WHERE last_used_ms IS NOT NULL";
        while crate::tests::support::number(&folder.database(), sql).await == 0 {
            ticks.tick().await;
        }
    };
    within(written).await;
}

#[test]
fn a_hash_is_never_shown() {
    let shown = serde_json::to_value(token("a", 1)).unwrap();
    assert_eq!(shown.get("hash"), None);
    assert_eq!(shown["role"], "companion");
}
