use crate::store::Store;
use std::sync::Arc;

use toolway_core::record::{CallNotes, ClosedCall, OpenedCall};
use toolway_types::{CallId, Code, Outcome, PrincipalId, ToolError};

use super::*;
use crate::tests::support::{NOW, StoreHarness, call, end, json, other_connection, record, success, within};
use crate::{StoreOptions, TextFilter};

fn looking_for(text: &str) -> CallFilter {
    CallFilter { text: Some(TextFilter { text: text.to_owned(), ran_with: false }), ..CallFilter::default() }
}

fn at(ms: i64, tool: &str, arguments: &str) -> OpenedCall {
    OpenedCall { started_ms: NOW + ms, arguments: Some(json(arguments)), ..call(tool) }
}

/// Reads all pages of at most `calls` calls, with as little time per page as possible.
async fn pages(store: &Store, filter: &CallFilter, order: CallOrder, calls: usize) -> Vec<Vec<CallId>> {
    store.flush().await.unwrap();
    let reading = CallReader { database: store.database(), filter, order, newest: None };
    let room = PageLimits { calls, bytes: 8 << 20, time: Duration::ZERO };
    let (mut pages, mut from) = (Vec::new(), None);
    loop {
        let page = reading.page(from, room).await.unwrap();
        pages.push(page.calls.into_iter().map(|call| call.call_id).collect());
        let Some(next) = page.next else { return pages };
        from = Some(next);
    }
}

async fn found(store: &Store, text: &str) -> Vec<String> {
    let page = page_with_ample_time(store, &looking_for(text)).await;
    assert_eq!(page.next, None, "{text}");
    page.calls.into_iter().map(|call| call.name).collect()
}

/// Reads the newest page with ample time.
async fn page_with_ample_time(store: &Store, filter: &CallFilter) -> CallPage {
    store.flush().await.unwrap();
    let reading =
        CallReader { database: store.database(), filter, order: CallOrder::NewestFirst, newest: None };
    reading
        .page(None, PageLimits { calls: 1000, bytes: 64 << 20, time: Duration::from_secs(600) })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_text_is_found_in_every_searched_column() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    record(&store, at(1, "phone/battery", r#"{"verbose":true}"#), success("87 %"));
    record(&store, at(2, "desk/note", r#"{"text":"Caf\u00e9 \u00C9 at \"Nine\""}"#), success("ok"));
    record(
        &store,
        at(3, "desk/write", r#"{"text":"café 100% under_score"}"#),
        success("two\nlines \\ \"quoted\""),
    );
    let failed = Outcome::Error(ToolError::new(Code::Network, "No ROUTE to host"));
    record(&store, at(4, "desk/fetch", "{}"), failed);
    drop(store.recorder().open(Arc::new(at(5, "desk/slow", r#"{"still":"running"}"#))));
    let nowhere = OpenedCall { tool: None, name: "No Such Tool".into(), arguments: None, ..call("a/b") };
    record(&store, OpenedCall { started_ms: NOW + 6, ..nowhere }, success(""));

    let cases: &[(&str, &[&str])] = &[
        ("87 %", &["phone__battery"]),
        ("BATTERY", &["phone__battery"]),
        ("phone/bat", &["phone__battery"]),
        ("verbose\":true", &["phone__battery"]),
        ("café", &["desk__write", "desk__note"]),
        // Only Latin letters without accents match in either case.
        ("caf\u{c9}", &[]),
        ("é É", &["desk__note"]),
        ("at \"nine\"", &["desk__note"]),
        ("two\nlines \\ \"", &["desk__write"]),
        ("no route TO", &["desk__fetch"]),
        ("running", &["desk__slow"]),
        ("no such tool", &["No Such Tool"]),
        ("100%", &["desk__write"]),
        ("under_score", &["desk__write"]),
        ("underXscore", &[]),
        ("network", &["desk__fetch"]),
        ("nothing like it", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&store, text).await, *expected, "{text}");
    }
    // Combined with other conditions.
    let narrow =
        CallFilter { source: Some("desk".to_owned()), until_ms: Some(NOW + 3), ..looking_for("café") };
    let page = store.calls().list(&narrow, None, 100).await.unwrap();
    assert_eq!(page.calls.len(), 1);
}

#[tokio::test]
async fn arguments_changed_by_hooks_are_searched_if_requested() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let opened = Arc::new(at(0, "a/b", r#"{"path":"here"}"#));
    let notes = CallNotes {
        approved_by: Some("grant:7".into()),
        ran_with: Some(json(r#"{"path":"elsewhere"}"#)),
        hooks: vec!["mover".into()],
        rule: None,
    };
    drop(store.recorder().close(ClosedCall { notes: Some(Box::new(notes)), ..end(&opened, success("")) }));
    for (text, ran_with, count) in
        [("elsewhere", false, 0), ("elsewhere", true, 1), ("here", false, 1), ("mover", true, 0)]
    {
        let filter = CallFilter {
            text: Some(TextFilter { text: text.to_owned(), ran_with }),
            ..CallFilter::default()
        };
        assert_eq!(store.calls().list(&filter, None, 10).await.unwrap().calls.len(), count, "{text}");
    }
}

#[tokio::test]
async fn a_search_continues_at_its_cursor_in_either_direction() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let mut wanted = Vec::new();
    let total = 2 * STEP_ROWS + 500;
    for number in 0..total {
        // Many calls start at the same moment.
        let rare = number % 700 == 3;
        let arguments = if rare { r#"{"a":"needle"}"# } else { r#"{"a":"hay"}"# };
        let id = record(&store, at(number / 50, "a/b", arguments), success(""));
        if rare {
            wanted.push(id);
        }
    }
    let filter = looking_for("NEEDLE");
    let oldest = pages(&store, &filter, CallOrder::OldestFirst, 4).await;
    // Without any time a page is one statement.
    assert!(oldest.len() > 3, "{oldest:?}");
    assert!(oldest.iter().all(|page| page.len() <= 4));
    assert_eq!(oldest.concat(), wanted);
    wanted.reverse();
    assert_eq!(pages(&store, &filter, CallOrder::NewestFirst, 4).await.concat(), wanted);
    // With ample time, one page contains so few calls.
    let whole = page_with_ample_time(&store, &filter).await;
    assert_eq!(whole.calls.len(), wanted.len());

    // Sparse matches are also searched in steps.
    let unmatched = CallFilter { principal: Some("nobody".to_owned()), ..filter };
    assert_eq!(pages(&store, &unmatched, CallOrder::NewestFirst, 4).await.len(), 3);
}

#[tokio::test]
async fn pages_without_an_index_are_filled_regardless_of_time() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let mut wanted = Vec::new();
    for number in 0..2 * STEP_ROWS + 500 {
        let mut opened = at(number / 50, "a/b", "{}");
        if number % 700 == 3 {
            opened.principal = PrincipalId::from("t-1");
            wanted.push(opened.id);
        }
        record(&store, opened, success(""));
    }
    let filter = CallFilter { principal: Some("t-1".to_owned()), ..CallFilter::default() };
    assert!(!filter.is_indexed());
    let sizes = |pages: &[Vec<CallId>]| pages.iter().map(Vec::len).collect::<Vec<_>>();
    let oldest = pages(&store, &filter, CallOrder::OldestFirst, 5).await;
    assert_eq!((sizes(&oldest), oldest.concat()), (vec![5, 5, 3], wanted.clone()));
    wanted.reverse();
    let newest = pages(&store, &filter, CallOrder::NewestFirst, 13).await;
    assert_eq!((sizes(&newest), newest.concat()), (vec![13], wanted), "a full last page has no next one");
    let few = CallFilter { since_ms: Some(NOW + 100), ..filter };
    assert_eq!(sizes(&pages(&store, &few, CallOrder::OldestFirst, 5).await), [5]);
}

/// Readers remain available for other queries during scans.
#[tokio::test]
async fn only_one_scan_runs_at_a_time_and_other_reads_continue() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let id = record(&store, at(0, "a/b", "{}"), success("here"));
    store.flush().await.unwrap();
    let other = store.database().search_lock.lock().await;
    let (searching, exporting) = (store.clone(), store.clone());
    let search = tokio::spawn(async move { found(&searching, "HERE").await });
    let export = tokio::spawn(async move {
        let filter = CallFilter { source: Some("a".to_owned()), ..CallFilter::default() };
        let pages: Vec<_> =
            exporting.calls().export(filter, CallOrder::OldestFirst).try_collect().await.unwrap();
        pages.concat().len()
    });
    assert_eq!(store.calls().list(&CallFilter::default(), None, 10).await.unwrap().calls.len(), 1);
    assert!(store.calls().get(id).await.unwrap().is_some());
    assert!(!search.is_finished() && !export.is_finished());
    drop(other);
    assert_eq!(within(search).await.unwrap(), ["a__b"]);
    assert_eq!(within(export).await.unwrap(), 1);
}

#[tokio::test]
async fn long_texts_are_searched_a_few_at_a_time() {
    let folder = StoreHarness::new();
    let store =
        folder.open_with(StoreOptions { record_bytes: 2 << 20, ..crate::tests::support::options() }).await;
    let mut all = Vec::new();
    for number in 0..9 {
        all.push(record(&store, at(number, "a/b", "{}"), success(&"ab".repeat(690_000))));
    }
    all.reverse();
    // Three texts of 1.38 MB fit into a statement's 4 MiB.
    let seen = pages(&store, &looking_for("nothing"), CallOrder::NewestFirst, 100).await;
    assert_eq!(seen.len(), 4, "three statements with calls, and the end");
    assert_eq!(pages(&store, &looking_for("BABA"), CallOrder::NewestFirst, 2).await.concat(), all);
}

/// Searching a repetitive text takes time linear in its length, not multiplied by the needle's length.
#[tokio::test]
async fn searching_repetitive_text_takes_linear_time() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    for number in 0..4 {
        record(&store, at(number, "a/b", "{}"), success(&"a".repeat(1_000_000)));
    }
    store.flush().await.unwrap();
    let mut takes = Vec::new();
    for needle in ["z".to_owned(), format!("{}b", "a".repeat(255))] {
        let began = Instant::now();
        assert_eq!(found(&store, &needle).await, [""; 0]);
        takes.push(began.elapsed());
    }
    assert!(takes[1] < takes[0] * 30, "{takes:?}");
}

#[tokio::test]
async fn calls_are_filtered_by_session_agent_and_approver() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let close = |opened: OpenedCall, approved_by: Option<&str>| {
        let opened = Arc::new(opened);
        let notes = CallNotes { approved_by: approved_by.map(Into::into), ..CallNotes::default() };
        drop(
            store.recorder().close(ClosedCall { notes: Some(Box::new(notes)), ..end(&opened, success("")) }),
        );
    };
    let talk = |ms, session: &str, agent: Option<&str>| OpenedCall {
        session: Some(session.into()),
        agent: agent.map(Into::into),
        principal: PrincipalId::from("t-1"),
        ..at(ms, "a/b", "{}")
    };
    close(OpenedCall { name: "one".into(), ..talk(1, "s-1", Some("home")) }, Some("owner"));
    close(OpenedCall { name: "two".into(), ..talk(2, "s-2", Some("home")) }, None);
    close(OpenedCall { name: "three".into(), ..talk(3, "s-1", None) }, Some("grant:7"));
    close(OpenedCall { name: "four".into(), ..at(4, "a/b", "{}") }, Some("owner"));

    let text = |text: &str| Some(text.to_owned());
    let all = CallFilter::default;
    let cases: &[(CallFilter, &[&str])] = &[
        (CallFilter { session: text("s-1"), ..all() }, &["three", "one"]),
        (CallFilter { agent: text("home"), ..all() }, &["two", "one"]),
        (CallFilter { approved_by: text("owner"), ..all() }, &["four", "one"]),
        (CallFilter { approved_by: text("grant:7"), ..all() }, &["three"]),
        (CallFilter { session: text("s-1"), agent: text("home"), ..all() }, &["one"]),
        (CallFilter { session: text("s-1"), ..looking_for("a/b") }, &["three", "one"]),
        (CallFilter { session: text("s"), ..all() }, &[]),
    ];
    for (filter, expected) in cases {
        let page = store.calls().list(filter, None, 100).await.unwrap();
        let names: Vec<_> = page.calls.into_iter().map(|call| call.name).collect();
        assert_eq!(names, *expected, "{filter:?}");
    }
}

/// Each statement of a step finds its rows by an index, however many calls exist.
#[tokio::test]
async fn every_step_uses_an_index() {
    let folder = StoreHarness::new();
    let store = folder.open().await;
    let mut other = other_connection(&folder.database()).await;
    let filters = [("principal = 'x'", "calls_by_start"), ("session = 'x'", "calls_by_start")];
    for (filter, index) in filters {
        for (compares, order) in [("<", "DESC"), (">", "ASC")] {
            let sql = format!(
                "EXPLAIN QUERY PLAN SELECT started_ms, seq FROM calls WHERE true AND {filter} AND +seq <= 9 \
                 AND (started_ms, seq) {compares} (5, 5) ORDER BY started_ms {order}, seq {order} LIMIT 10"
            );
            let rows: Vec<(i64, i64, i64, String)> =
                sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(&mut other).await.unwrap();
            let plan: Vec<&str> = rows.iter().map(|row| row.3.as_str()).collect();
            assert!(plan.len() == 1 && plan[0].starts_with("SEARCH") && plan[0].contains(index), "{plan:?}");
        }
    }
    store.close().await;
}
