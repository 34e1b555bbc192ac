//! Decisions survive a crash of the gateway, and an interrupted call is closed once.

use serde_json::{Value, json};
use toolway_tests::process::{GatewayProcess, TestFolder};
use toolway_tests::{poll_until, rest};

use crate::changed_tools::{start_lamp, tool_flags, wait_until_known};
use crate::support::{
    answer_question, call_tool, create_client, listed_tools, path_text, start_approvals_watch,
    start_cli_call, wait_for_questions, write_settings, write_sibling_file,
};

const WRITE_APPROVAL_RULE: &str =
    "[[approval.rules]]\nmode = \"always\"\nwhen = { tools = [\"builtin/write_file\"] }\n";

async fn calls_after_restart(gateway: &GatewayProcess) -> Vec<Value> {
    let page = rest::get_json(gateway.address(), &gateway.token, "/api/calls?status=gateway_restarted").await;
    page["calls"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_survive_a_crash() {
    let folder = TestFolder::new();
    write_settings(&folder, WRITE_APPROVAL_RULE);
    let gateway = folder.serve(&[]).await;
    let (granted, asked) = (create_client(&gateway, "granted").await, create_client(&gateway, "asked").await);
    folder.run(["grants", "add", "builtin/write_file", "--principal", "granted"]).await.expect_success();
    let deny =
        ["policy", "add", "no-lists", "--effect", "deny", "--tool", "builtin/list_files", "--role", "client"];
    folder.run(deny).await.expect_success();
    let hello = "[[tool]]\nname = \"hello\"\ndescription = \"Says hello\"\nprogram = \"/bin/echo\"\n";
    folder
        .run(["tools", "add", path_text(&write_sibling_file(&folder, "hello.toml", hello))])
        .await
        .expect_success();
    let device = start_lamp(&gateway, "Switches the lamp").await;
    wait_until_known(&folder).await;
    device.stop().await.unwrap();
    let device = start_lamp(&gateway, "Switches everything").await;
    poll_until("a flag", async || (tool_flags(&folder).await == ["changed"]).then_some(())).await;
    let watching = start_approvals_watch(&folder).await;
    // This call waits for a person when the gateway crashes, and is on disk by then.
    let waiting = start_cli_call(&folder, "write_file", &json!({"path": "never.txt", "content": "x"}));
    let call_id = wait_for_questions(&folder, 1).await[0]["call_id"].as_str().unwrap().to_owned();
    poll_until("its record", async || {
        let path = format!("/api/calls/{call_id}");
        let (status, call) = rest::send_request(gateway.address(), &gateway.token, "GET", &path, None).await;
        (status == 200).then(|| assert_eq!(call["status"], "running", "{call}"))
    })
    .await;
    gateway.kill().await;
    let (code, said) = waiting.wait_for_exit().await;
    assert_eq!(code, 1, "whoever called is told: {said}");
    assert_eq!(watching.wait_for_exit().await.0, 1);
    device.stop().await.unwrap();

    let gateway = folder.serve(&[]).await;
    let closed = calls_after_restart(&gateway).await;
    assert_eq!(closed.len(), 1, "{closed:?}");
    assert_eq!(
        (&closed[0]["call_id"], &closed[0]["status"], &closed[0]["error_type"]),
        (&json!(call_id), &json!("error"), &json!("execution_error"))
    );
    assert_eq!(closed[0].get("approved_by"), None);
    let write = async |gateway: &GatewayProcess, token: &str| {
        call_tool(gateway, token, "write_file", json!({"path": "a.txt", "content": "x"})).await
    };
    assert_eq!(write(&gateway, &granted.token).await["status"], "success");
    assert_eq!(
        write(&gateway, &asked.token).await["code"],
        "approval_unavailable",
        "nobody watches any more"
    );
    assert_eq!(folder.run_json(&["approvals", "list"]).await["approvals"], json!([]), "no question is left");
    assert!(!listed_tools(&gateway, &granted.token).await.contains(&"list_files".to_owned()));
    assert!(listed_tools(&gateway, &gateway.token).await.contains(&"own__hello".to_owned()));
    assert_eq!(call_tool(&gateway, &granted.token, "own__hello", json!({})).await["status"], "success");
    let _device = start_lamp(&gateway, "Switches everything").await;
    assert_eq!(tool_flags(&folder).await, ["changed"]);
    let diff = folder.run(["tools", "diff", "lamp__switch"]).await.expect_success().stdout;
    assert!(diff.contains("Switches the lamp") && diff.contains("Switches everything"), "{diff}");
    assert!(!folder.data_path().join("files/shared/never.txt").exists());

    // After another restart it is not closed a second time, and revoked grants stay revoked.
    let grants = folder.run_json(&["grants", "list"]).await;
    folder.run(["grants", "revoke", grants["grants"][0]["id"].as_str().unwrap()]).await.expect_success();
    gateway.kill().await;
    let gateway = folder.serve(&[]).await;
    assert_eq!(calls_after_restart(&gateway).await, closed);
    assert_eq!(write(&gateway, &granted.token).await["code"], "approval_unavailable");
    let _watching = start_approvals_watch(&folder).await;
    let answering =
        async { answer_question(&folder, &wait_for_questions(&folder, 1).await[0], &["--grant"]).await };
    let (again, ()) = tokio::join!(write(&gateway, &asked.token), answering);
    assert_eq!(again["status"], "success", "{again}");
}
