use super::*;
use crate::tests::support::{NOW, StoreHarness, ending, said, turn};

#[tokio::test]
async fn a_session_exists_from_its_first_message_on() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    assert_eq!(sessions.get("s").await.unwrap(), None);
    assert_eq!(sessions.count().await.unwrap(), 0);
    sessions.begin(turn("s", "t", "Hello")).await.unwrap();
    store.close().await;

    let store = folder.open().await;
    let expected = SessionRecord {
        id: "s".to_owned(),
        principal: "t-1".to_owned(),
        agent: "default".to_owned(),
        title: None,
        title_by: TitleBy::Nobody,
        created_ms: NOW,
        updated_ms: NOW,
        messages: 1,
        bytes: 5 + r#"[{"text":"Hello","type":"text"}]"#.len() as u64,
    };
    assert_eq!(store.sessions().get("s").await.unwrap(), Some(expected));
    assert_eq!(store.sessions().count().await.unwrap(), 1);
}

#[tokio::test]
async fn sessions_of_other_principals_appear_not_to_exist() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let all = store.sessions();
    all.begin(turn("s", "t", "Hello")).await.unwrap();
    all.end(ending("t", TurnState::Done)).await.unwrap();
    for (who, there) in [("t-1", true), ("t-2", false)] {
        let sessions = all.for_principal(who);
        assert_eq!(sessions.get("s").await.unwrap().is_some(), there);
        assert_eq!(sessions.count().await.unwrap(), u64::from(there));
        assert_eq!(sessions.messages_after("s", 0, 10).await.unwrap().messages.is_empty(), !there);
        assert_eq!(sessions.messages_before("s", None, 10).await.unwrap().messages.is_empty(), !there);
        assert_eq!(sessions.turns("s", 10).await.unwrap().is_empty(), !there);
        assert_eq!(sessions.turn("t").await.unwrap().is_some(), there);
        let filter = SessionRecordFilter::default();
        assert_eq!(sessions.list(&filter, None, 10).await.unwrap().sessions.is_empty(), !there);
        let filter = SessionRecordFilter { text: Some("hello".to_owned()), ..filter };
        assert_eq!(sessions.list(&filter, None, 10).await.unwrap().sessions.is_empty(), !there);
        assert_eq!(sessions.rename("s", Some(who), TitleBy::Person).await.unwrap(), there);
    }
    assert_eq!(all.for_principal("t-2").remove("s", false).await.unwrap(), None);
    assert_eq!(all.get("s").await.unwrap().unwrap().title.as_deref(), Some("t-1"));
    assert!(all.for_principal("t-1").remove("s", false).await.unwrap().is_some());
}

#[tokio::test]
async fn a_models_title_never_replaces_a_persons() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "t", "Hello")).await.unwrap();
    let title = async || {
        let session = sessions.get("s").await.unwrap().unwrap();
        (session.title, session.title_by)
    };
    assert!(sessions.rename("s", Some("first"), TitleBy::Model).await.unwrap());
    assert!(sessions.rename("s", Some("second"), TitleBy::Model).await.unwrap());
    assert_eq!(title().await, (Some("second".to_owned()), TitleBy::Model));
    assert!(sessions.rename("s", Some("mine"), TitleBy::Person).await.unwrap());
    assert!(!sessions.rename("s", Some("third"), TitleBy::Model).await.unwrap());
    assert_eq!(title().await, (Some("mine".to_owned()), TitleBy::Person));
    assert!(sessions.rename("s", Some("mine too"), TitleBy::Person).await.unwrap());
    // After its removal, a model may set one again.
    assert!(sessions.rename("s", None, TitleBy::Person).await.unwrap());
    assert_eq!(title().await, (None, TitleBy::Nobody));
    assert!(sessions.rename("s", Some("fourth"), TitleBy::Model).await.unwrap());
    assert_eq!(title().await, (Some("fourth".to_owned()), TitleBy::Model));
    assert!(!sessions.rename("other", Some("x"), TitleBy::Person).await.unwrap());
    // A new title does not count as a message.
    assert_eq!(sessions.get("s").await.unwrap().unwrap().updated_ms, NOW);
}

#[tokio::test]
async fn messages_are_read_in_either_direction() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "t", "1")).await.unwrap();
    let more = (2..=7).map(|number| said(StoredRole::Assistant, &number.to_string())).collect();
    sessions.append("t", more, vec![], NOW + 1).await.unwrap();
    let seqs =
        |page: MessagePage| (page.messages.iter().map(|it| it.seq).collect::<Vec<u64>>(), page.has_more);
    let after = async |seq, limit| seqs(sessions.messages_after("s", seq, limit).await.unwrap());
    let before = async |seq, limit| seqs(sessions.messages_before("s", seq, limit).await.unwrap());
    assert_eq!(after(0, 3).await, (vec![1, 2, 3], true));
    assert_eq!(after(3, 4).await, (vec![4, 5, 6, 7], false));
    assert_eq!(after(7, 4).await, (vec![], false));
    assert_eq!(before(None, 3).await, (vec![5, 6, 7], true));
    assert_eq!(before(Some(5), 4).await, (vec![1, 2, 3, 4], false));
    assert_eq!(before(Some(1), 4).await, (vec![], false));
    let page = sessions.messages_after("s", 1, 1).await.unwrap();
    let second = MessageRecord {
        seq: 2,
        turn: "t".to_owned(),
        role: StoredRole::Assistant,
        parts: said(StoredRole::Assistant, "2").parts,
        is_cut: false,
        created_ms: NOW + 1,
    };
    assert_eq!(page.messages, [second]);
}

#[tokio::test]
async fn a_page_of_messages_ends_at_its_size_limit() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let sessions = store.sessions();
    sessions.begin(turn("s", "t", "1")).await.unwrap();
    let picture = "x".repeat(20 << 20);
    for _ in 0..4 {
        let mut large = said(StoredRole::Tool, &picture);
        large.text.clear();
        sessions.append("t", vec![large], vec![], NOW).await.unwrap();
    }
    // The third message exceeds 32 MiB.
    let page = sessions.messages_after("s", 0, 1000).await.unwrap();
    assert_eq!((page.messages.len(), page.has_more), (3, true));
    let page = sessions.messages_before("s", None, 1000).await.unwrap();
    assert_eq!((page.messages[0].seq, page.has_more), (4, true));
}
