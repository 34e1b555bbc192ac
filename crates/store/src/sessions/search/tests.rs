use super::*;
use crate::tests::support::{NOW, StoreHarness, ending, said, turn};
use crate::{NewTurn, Store, StoredRole, TitleBy, TurnEnding, TurnState};

/// Creates a session with messages at a time.
async fn session(store: &Store, id: &str, at_ms: i64, messages: &[&str]) {
    let sessions = store.sessions();
    let name = format!("turn of {id}");
    sessions.begin(NewTurn { started_ms: at_ms, ..turn(id, &name, messages[0]) }).await.unwrap();
    let messages = messages[1..].iter().map(|text| said(StoredRole::Assistant, text)).collect();
    let end = TurnEnding { messages, ended_ms: at_ms, ..ending(&name, TurnState::Done) };
    sessions.end(end).await.unwrap();
}

fn ids(page: &SessionPage) -> Vec<&str> {
    page.sessions.iter().map(|session| session.id.as_str()).collect()
}

fn text(text: &str) -> SessionRecordFilter {
    SessionRecordFilter { text: Some(text.to_owned()), ..SessionRecordFilter::default() }
}

#[tokio::test]
async fn sessions_are_listed_newest_first_a_page_at_a_time() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    // Two sessions with the same time, and ids that contain dots.
    for (id, at_ms) in [("a", NOW), ("b.1", NOW + 5), ("b.2", NOW + 5), ("c", NOW + 1)] {
        session(&store, id, at_ms, &["x"]).await;
    }
    let all = SessionRecordFilter::default();
    let page = store.sessions().list(&all, None, 2).await.unwrap();
    assert_eq!(ids(&page), ["b.2", "b.1"]);
    let next: SessionCursor = page.next.unwrap().to_string().parse().unwrap();
    let page = store.sessions().list(&all, Some(&next), 2).await.unwrap();
    assert_eq!((ids(&page), page.next.clone()), (vec!["c", "a"], None));
    // A new message moves a session to the front.
    store.sessions().begin(NewTurn { started_ms: NOW + 9, ..turn("a", "again", "y") }).await.unwrap();
    assert_eq!(ids(&store.sessions().list(&all, None, 1).await.unwrap()), ["a"]);
    for bad in ["", "x", "1800", "x.y"] {
        assert!(matches!(bad.parse::<SessionCursor>(), Err(StoreError::BadCursor)), "{bad}");
    }
}

#[tokio::test]
async fn sessions_are_filtered_by_agent() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    session(&store, "a", NOW, &["x"]).await;
    let home = NewTurn { agent: "home".to_owned(), ..turn("b", "t", "x") };
    store.sessions().begin(home).await.unwrap();
    let filter = SessionRecordFilter { agent: Some("home".to_owned()), ..SessionRecordFilter::default() };
    assert_eq!(ids(&store.sessions().list(&filter, None, 10).await.unwrap()), ["b"]);
}

#[tokio::test]
async fn a_text_is_found_in_titles_and_messages_in_any_case() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    session(&store, "battery", NOW, &["How full is the BATTERY?", "87 %_"]).await;
    session(&store, "titled", NOW + 1, &["x"]).await;
    store.sessions().rename("titled", Some("Ätna und Battery"), TitleBy::Person).await.unwrap();
    session(&store, "greek", NOW + 2, &["ΟΔΟΣ", "straße"]).await;
    let long = format!("{}needle{}straw", "x".repeat(1000), "y".repeat(MAX_SEARCHED_BYTES));
    session(&store, "long", NOW + 3, &[&long]).await;
    for (needle, expected) in [
        ("battery", vec!["titled", "battery"]),
        ("ätna", vec!["titled"]),
        ("οδος", vec!["greek"]),
        ("Straße", vec!["greek"]),
        ("%_", vec!["battery"]),
        ("needle", vec!["long"]),
        // Beyond the searched length.
        ("straw", vec![]),
        // JSON around a text is not searched.
        ("type", vec![]),
        ("", vec!["long", "greek", "titled", "battery"]),
    ] {
        let page = store.sessions().list(&text(needle), None, 10).await.unwrap();
        assert_eq!((ids(&page), page.next.clone()), (expected, None), "{needle}");
    }
}

#[tokio::test]
async fn pages_of_a_search_have_no_gap_and_no_overlap() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for number in 0..600 {
        let word = if number % 3 == 0 { "odd one" } else { "x" };
        session(&store, &format!("{number:03}"), NOW + number, &["y", word]).await;
    }
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = store.sessions().list(&text("ODD"), before.as_ref(), 70).await.unwrap();
        assert!(page.sessions.len() <= 70);
        found.extend(page.sessions.into_iter().map(|session| session.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    let expected: Vec<String> =
        (0..600).rev().filter(|it| it % 3 == 0).map(|it| format!("{it:03}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_statement_searches_a_bounded_part() {
    let of = |bytes: u64, messages: u64| SessionRecord {
        id: String::new(),
        principal: String::new(),
        agent: String::new(),
        title: None,
        title_by: TitleBy::Nobody,
        created_ms: 0,
        updated_ms: 0,
        messages,
        bytes,
    };
    // Images are not searched: only a message's text counts, up to the searched length.
    assert_eq!(statement_capacity(&[of(1 << 30, 4), of(1 << 30, 4)]), 2);
    assert_eq!(statement_capacity(&[of(3 << 20, 1000), of(2 << 20, 1000)]), 1);
    assert_eq!(statement_capacity(&[of(1 << 30, 1 << 20), of(1, 1)]), 1);
    assert_eq!(statement_capacity(&[]), 0);
}
