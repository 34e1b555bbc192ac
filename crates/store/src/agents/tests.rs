use super::*;
use crate::tests::support::{NOW, StoreHarness, json};

fn agent(name: &str, body: &str, created_ms: i64, updated_ms: i64) -> AgentRecord {
    AgentRecord { name: name.to_owned(), body: json(body), created_ms, updated_ms }
}

#[tokio::test]
async fn agents_are_read_back_as_they_were_written() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let agents = store.agents();
    assert!(agents.put("work", &json(r#"{"prompt":"be brief", "n":1.0}"#), NOW).await.unwrap());
    assert!(agents.put("home", &json("{}"), NOW + 1).await.unwrap());
    // The definition can change; the time of creation does not.
    assert!(!agents.put("work", &json(r#"{"prompt":"be kind"}"#), NOW + 2).await.unwrap());
    store.close().await;

    let store = folder.open().await;
    let agents = store.agents();
    let work = agent("work", r#"{"prompt":"be kind"}"#, NOW, NOW + 2);
    assert_eq!(agents.list().await.unwrap(), [agent("home", "{}", NOW + 1, NOW + 1), work.clone()]);
    assert_eq!(agents.get("work").await.unwrap(), Some(work));
    assert_eq!(agents.get("Work").await.unwrap(), None);
    assert!(agents.remove("home").await.unwrap());
    assert!(!agents.remove("home").await.unwrap());
    assert_eq!(agents.get("home").await.unwrap(), None);
}
