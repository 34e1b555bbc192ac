//! What the database of version 0.1 held, and what of it the answers show.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

/// Answers by the paths of version 0.1.
pub(crate) type Answers = BTreeMap<String, Value>;

/// A table of version 0.1, the rows of it that the API shows, and how to count them in the answers.
struct TableCoverage {
    table: &'static str,
    shown_rows: &'static str,
    shown: fn(&Answers) -> usize,
}

const COVERAGE: &[TableCoverage] = &[
    TableCoverage {
        table: "agents",
        shown_rows: "SELECT count(*) FROM agents",
        shown: |answers| {
            let agents = elements(&answers["/api/agents"], "agents");
            agents.filter(|agent| agent["origin"]["kind"] == "database").count()
        },
    },
    TableCoverage {
        table: "calls",
        shown_rows: "SELECT count(*) FROM calls",
        shown: |answers| {
            elements(&answers["/api/calls?limit=200"], "calls")
                .filter(|call| {
                    answers[&format!("/api/calls/{}", text(call, "call_id"))]["outcome"].is_object()
                })
                .count()
        },
    },
    TableCoverage {
        table: "drafts",
        // A draft is what is there of a message when the gateway ends in the middle; it becomes that message.
        shown_rows: "SELECT count(*) FROM drafts",
        shown: |answers| {
            elements(&answers["/api/sessions/half-said/messages?limit=100"], "messages")
                .filter(|message| message["truncated"] == true && message["role"] == "assistant")
                .count()
        },
    },
    TableCoverage {
        table: "grants",
        // Some are revoked, and one has expired.
        shown_rows: "SELECT count(*) FROM grants WHERE revoked_ms IS NULL AND expires_ms IS NULL OR expires_ms > 2000000000000",
        shown: |answers| elements(&answers["/api/grants"], "grants").count(),
    },
    TableCoverage {
        table: "messages",
        shown_rows: "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM drafts)",
        shown: |answers| {
            each_session(answers, |id| format!("/api/sessions/{id}/messages?limit=100"), "messages")
        },
    },
    TableCoverage {
        table: "model_requests",
        shown_rows: "SELECT count(*) FROM model_requests",
        shown: |answers| {
            let rows = elements(&answers["/api/usage?by=model&zone_offset_s=0"], "rows");
            rows.map(|row| usize::try_from(row["requests"].as_u64().unwrap()).unwrap()).sum()
        },
    },
    TableCoverage {
        table: "rules",
        shown_rows: "SELECT count(*) FROM rules",
        shown: |answers| {
            let rules = elements(&answers["/api/policy"], "rules");
            rules.filter(|rule| rule["origin"]["kind"] == "database").count()
        },
    },
    TableCoverage {
        table: "sessions",
        shown_rows: "SELECT count(*) FROM sessions",
        shown: |answers| elements(&answers["/api/sessions?limit=100"], "sessions").count(),
    },
    TableCoverage {
        table: "sources",
        // A removed source keeps its slug from others.
        shown_rows: "SELECT count(*) FROM sources WHERE removed_ms IS NULL",
        shown: |answers| elements(&answers["/api/devices"], "devices").count(),
    },
    TableCoverage {
        table: "spec_documents",
        shown_rows: "SELECT count(DISTINCT fingerprint) FROM spec_documents
            JOIN tool_specs ON fingerprint IN (approved, current) WHERE changed_ms IS NOT NULL",
        shown: |answers| {
            let changes = changed_tools(answers)
                .flat_map(|changes| [text(changes, "accepted"), text(changes, "current")]);
            changes.collect::<std::collections::BTreeSet<_>>().len()
        },
    },
    TableCoverage {
        table: "tokens",
        shown_rows: "SELECT count(*) FROM tokens",
        shown: |answers| elements(&answers["/api/tokens?all=true"], "tokens").count(),
    },
    TableCoverage {
        table: "tool_specs",
        shown_rows: "SELECT count(*) FROM tool_specs WHERE changed_ms IS NOT NULL",
        shown: |answers| changed_tools(answers).count(),
    },
    TableCoverage {
        table: "turns",
        shown_rows: "SELECT count(*) FROM turns",
        shown: |answers| each_session(answers, |id| format!("/api/sessions/{id}"), "turns"),
    },
];

fn elements<'a>(answer: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    answer[list].as_array().unwrap().iter()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

fn each_session(answers: &Answers, path: impl Fn(&str) -> String, list: &str) -> usize {
    let sessions = elements(&answers["/api/sessions?limit=100"], "sessions");
    sessions.map(|session| elements(&answers[&path(text(session, "id"))], list).count()).sum()
}

fn changed_tools(answers: &Answers) -> impl Iterator<Item = &Value> {
    let changes = answers.iter().filter(|(path, _)| path.ends_with("/changes"));
    changes.map(|(_, changes)| changes).filter(|changes| changes["changed"] == true)
}

async fn number(database: &mut SqliteConnection, sql: &'static str) -> usize {
    let number: i64 = sqlx::query_scalar(sql).fetch_one(database).await.unwrap();
    usize::try_from(number).unwrap()
}

/// Checks that every table of a database of version 0.1 has rows, and that these answers show them.
///
/// # Panics
/// If a table is not in the list here, is empty, or is not shown whole.
pub(crate) async fn check_every_table_is_shown(database: &Path, answers: &Answers) {
    let options = SqliteConnectOptions::new().filename(database).immutable(true).read_only(true);
    let mut database = options.connect().await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
            AND name NOT LIKE '\\_sqlx%' ESCAPE '\\' ORDER BY name",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();
    assert_eq!(
        tables,
        COVERAGE.iter().map(|it| it.table).collect::<Vec<_>>(),
        "every table needs its line here"
    );
    for TableCoverage { table, shown_rows, shown } in COVERAGE {
        let rows = number(&mut database, shown_rows).await;
        assert!(rows > 0, "{table} has no rows to show");
        assert_eq!(shown(answers), rows, "{table}: what is shown, and what the table held");
    }
    database.close().await.unwrap();
}
