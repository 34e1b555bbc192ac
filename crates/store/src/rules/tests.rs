use super::*;
use crate::store::Store;
use crate::tests::support::{NOW, StoreHarness, json};

async fn names(store: &Store) -> Vec<String> {
    store.rules().list().await.unwrap().into_iter().map(|rule| rule.name).collect()
}

#[tokio::test]
async fn rules_are_listed_in_order_of_creation() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let rules = store.rules();
    assert!(rules.put("night", &json(r#"{"effect":"deny"}"#), NOW).await.unwrap());
    assert!(rules.put("all \"of\" it", &json(r#"{"effect":"allow", "n":1.0}"#), NOW + 1).await.unwrap());
    // Changing a definition keeps the rule's position and its time of creation.
    assert!(!rules.put("night", &json(r#"{"effect":"ask"}"#), NOW + 2).await.unwrap());
    store.close().await;

    let store = folder.open().await;
    let expected = [
        RuleRecord { name: "night".to_owned(), body: json(r#"{"effect":"ask"}"#), created_ms: NOW },
        RuleRecord {
            name: "all \"of\" it".to_owned(),
            body: json(r#"{"effect":"allow", "n":1.0}"#),
            created_ms: NOW + 1,
        },
    ];
    assert_eq!(store.rules().list().await.unwrap(), expected);
}

#[tokio::test]
async fn rules_can_be_moved_and_removed() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let rules = store.rules();
    for name in ["a", "b", "c", "d"] {
        rules.put(name, &json("{}"), NOW).await.unwrap();
    }
    let moves: &[(&str, usize, [&str; 4])] = &[
        ("d", 0, ["d", "a", "b", "c"]),
        ("d", 2, ["a", "b", "d", "c"]),
        ("a", usize::MAX, ["b", "d", "c", "a"]),
        ("b", 0, ["b", "d", "c", "a"]),
    ];
    for (name, before, expected) in moves {
        assert!(rules.move_to(name, *before).await.unwrap());
        assert_eq!(names(&store).await, *expected, "{name} to {before}");
    }
    assert!(!rules.move_to("e", 0).await.unwrap());
    assert!(rules.remove("d").await.unwrap());
    assert!(!rules.remove("d").await.unwrap());
    // A new rule comes last, whatever positions are free.
    rules.put("d", &json("{}"), NOW).await.unwrap();
    assert_eq!(names(&store).await, ["b", "c", "a", "d"]);
}
