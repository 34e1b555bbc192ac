//! The content of call records.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_tests::device;
use toolway_tests::process::TestFolder;
use toolway_tests::runs::RunLog;

use crate::support::{
    answer_question, call_as_owner, call_record, call_tool, create_client, start_approvals_watch as watching,
    wait_for_questions, waiting_tool, write_settings,
};

fn millis(call: &Value, field: &str) -> f64 {
    call[field].as_f64().unwrap_or_else(|| panic!("no {field} in {call}"))
}

fn assert_at_least(call: &Value, field: &str, least: Duration) {
    let told = millis(call, field);
    assert!(told >= least.as_secs_f64() * 1000.0, "{field} is less than {least:?}: {call}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_export_has_the_approver_and_the_durations() {
    let (folder, runs) = (TestFolder::new(), RunLog::default());
    write_settings(&folder, "[[approval.rules]]\nmode = \"always\"\nwhen = { tools = [\"box/wait\"] }\n");
    let gateway = folder.serve(&[]).await;
    let (go, gone) = watch::channel(false);
    let tools = [waiting_tool("wait", &runs, &gone)];
    let _device = device::start(device::builder(&gateway.url(), &gateway.token, "box").tools(tools)).await;
    let somebody = create_client(&gateway, "script").await;
    let _watching = watching(&folder).await;

    let (mut waited, mut ran) = (Duration::ZERO, Duration::ZERO);
    let helping = async {
        let open = wait_for_questions(&folder, 1).await;
        let asked = Instant::now();
        // A whole process runs between the question and its answer.
        folder.run(["approvals", "list"]).await.expect_success();
        waited = asked.elapsed();
        answer_question(&folder, &open[0], &["--grant"]).await;
        runs.wait_for_count(1).await;
        let began = Instant::now();
        folder.run(["version"]).await.expect_success();
        ran = began.elapsed();
        go.send_replace(true);
    };
    let (asked, ()) =
        tokio::join!(call_tool(&gateway, &somebody.token, "box__wait", json!({"n": 1})), helping);
    assert_eq!(asked["status"], "success", "{asked}");
    let mine = call_as_owner(&gateway, "get_current_time", json!({"timezone": "=1+1"})).await;
    assert_eq!(mine["code"], "invalid_arguments");
    call_record(&gateway, &gateway.token, &asked).await;
    call_record(&gateway, &gateway.token, &mine).await;

    let lines = folder.run(["calls", "export"]).await.expect_success().stdout;
    let calls: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(calls.len(), 2, "{lines}");
    let [first, second] = &calls[..] else { panic!("{lines}") };
    assert_eq!(
        (&first["call_id"], &second["call_id"]),
        (&asked["call_id"], &mine["call_id"]),
        "the oldest first"
    );
    assert_eq!(
        (&first["tool_id"], &first["principal"], &first["approved_by"], &first["status"]),
        (&json!("box/wait"), &json!(somebody.id), &json!("owner"), &json!("success"))
    );
    assert_eq!((&first["arguments"], &first["outcome"]["result"]), (&json!({"n": 1}), &json!({"n": 1})));
    assert_at_least(first, "user_wait_ms", waited);
    assert_at_least(first, "running_ms", ran);
    assert_at_least(first, "duration_ms", waited + ran);
    let parts = ["user_wait_ms", "queued_ms", "running_ms"].map(|it| millis(first, it)).iter().sum::<f64>();
    assert!(parts <= millis(first, "duration_ms") + 0.01, "{first}");
    assert_eq!(second.get("approved_by"), None, "nobody was asked");
    assert_eq!(millis(second, "user_wait_ms").to_bits(), 0.0_f64.to_bits());

    // The same as CSV, without formulas.
    let table =
        folder.run(["calls", "export", "--format", "csv", "--newest-first"]).await.expect_success().stdout;
    let rows: Vec<&str> = table.lines().map(str::trim_end).collect();
    let head: Vec<&str> = rows[0].split(',').collect();
    let place =
        |name: &str| head.iter().position(|it| *it == name).unwrap_or_else(|| panic!("{name}: {table}"));
    // No cell before the arguments of these calls contains a comma, except for the message.
    assert!(rows[1].starts_with(mine["call_id"].as_str().unwrap()), "{table}");
    let cells: Vec<&str> = rows[2].split(',').collect();
    assert_eq!(cells[place("call_id")], asked["call_id"].as_str().unwrap());
    assert_eq!(cells[place("approved_by")], "owner");
    assert_eq!(cells[place("user_wait_ms")].parse::<f64>().unwrap(), millis(first, "user_wait_ms"));
    assert!(!table.contains(",=1+1"), "{table}");

    // Only the requested ones.
    let of = async |flags: &[&str]| {
        folder.run([&["calls", "export"], flags].concat()).await.expect_success().stdout.lines().count()
    };
    assert_eq!(of(&["--approved-by", "owner"]).await, 1);
    assert_eq!(of(&["--tool", "builtin/*"]).await, 1);
    assert_eq!(of(&["--status", "validation_error"]).await, 1);
    assert_eq!(of(&["--search", "=1+1"]).await, 1);
    assert_eq!(of(&["--principal", "nobody"]).await, 0);
}
