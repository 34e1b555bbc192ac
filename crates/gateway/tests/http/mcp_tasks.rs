//! Tasks of MCP clients whose tools run on an MCP server behind the gateway.

use std::time::Duration;

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};

use crate::mcp::{task_beyond, tasks};
use crate::mcp_client::{McpEra, McpTestClient, result};
use crate::support::GatewayHarness;

const BOTH_ERAS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// Starts a gateway in front of this server.
async fn gateway(server: &FakeMcp) -> GatewayHarness {
    let bench = GatewayHarness::new().await;
    let definition = json!({"url": server.url()});
    let set = bench.send_as_owner("PUT", "/api/mcp/servers/up", Some(definition)).await;
    assert_eq!(set.status, 201, "{set:?}");
    let connected = async {
        loop {
            let shown = bench.send_as_owner("GET", "/api/mcp/servers/up", None).await.json();
            if shown["status"]["state"] == "connected" {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), connected).await.expect("it is connected");
    bench
}

/// Polls a task until it shows this number of questions, and returns their keys.
async fn question_keys(client: &mut McpTestClient<'_>, id: &Value, count: usize) -> Vec<String> {
    let shown = async {
        loop {
            let task = result(&client.request("tasks/get", json!({"taskId": id})).await).clone();
            let requests = task["inputRequests"].as_object().cloned().unwrap_or_default();
            if requests.len() == count {
                assert_eq!(task["status"], "input_required", "{task}");
                return requests.into_iter().map(|(key, _)| key).collect();
            }
            assert!(matches!(task["status"].as_str(), Some("working" | "input_required")), "{task}");
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), shown).await.expect("all questions are shown")
}

fn accepted(keys: &[String]) -> Value {
    let answer = json!({"action": "accept", "content": {"name": "Ada", "confirm": true}});
    keys.iter().map(|key| (key.clone(), answer.clone())).collect::<serde_json::Map<_, _>>().into()
}

#[tokio::test]
async fn two_questions_of_one_task_are_shown_at_once_and_answered_in_any_order() {
    for version in BOTH_ERAS {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let bench = gateway(&server).await;
        let token = bench.create_token("client").await.token;
        let mut client =
            McpTestClient::with(&bench, "/mcp/sources/up", &token, McpEra::Modern, tasks()).await;
        for together in [true, false] {
            let made = result(&client.request("tools/call", json!({"name": "multi_input"})).await).clone();
            assert_eq!(made["resultType"], "task", "{version}: {made}");
            let id = &made["taskId"];
            let keys = question_keys(&mut client, id, 2).await;
            if together {
                let answers = json!({"taskId": id, "inputResponses": accepted(&keys)});
                assert!(client.request("tasks/update", answers).await["error"].is_null());
            } else {
                for (number, key) in keys.iter().enumerate() {
                    let answers =
                        json!({"taskId": id, "inputResponses": accepted(std::slice::from_ref(key))});
                    // An answer to a question that is not open is ignored.
                    assert!(client.request("tasks/update", answers.clone()).await["error"].is_null());
                    assert!(client.request("tasks/update", answers).await["error"].is_null());
                    if number == 0 {
                        assert_eq!(question_keys(&mut client, id, 1).await, keys[1..], "{version}");
                    }
                }
            }
            let task = task_beyond(&mut client, id, &["working", "input_required"]).await;
            assert_eq!(task["status"], "completed", "{version}: {task}");
            let text = task["result"]["content"][0]["text"].as_str().unwrap();
            assert_eq!(text.matches("Ada").count(), 2, "{version}: {text}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_runs_only_as_a_task_works_for_every_kind_of_caller() {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2026-07-28"])).await;
    let bench = gateway(&server).await;
    let token = bench.create_token("client").await.token;
    let call = json!({"name": "test_task_only", "arguments": {"behavior": "succeed"}});
    for era in McpEra::ALL {
        let mut client = McpTestClient::at(&bench, "/mcp/sources/up", &token, era).await;
        let done = client.request("tools/call", call.clone()).await;
        assert_eq!(result(&done)["content"][0]["text"], "Done.", "{era:?}: {done}");
    }
    let body = json!({"args": {"behavior": "succeed"}});
    let done = bench.send_as_owner("POST", "/api/tools/up__test_task_only/call", Some(body)).await;
    assert!(done.status == 200 && done.body.contains("Done."), "{done:?}");
}

#[tokio::test]
async fn a_client_with_tasks_sees_the_status_and_the_questions_of_the_servers_task_in_its_own() {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2026-07-28"])).await;
    let bench = gateway(&server).await;
    let token = bench.create_token("client").await.token;
    let mut client = McpTestClient::with(&bench, "/mcp/sources/up", &token, McpEra::Modern, tasks()).await;
    let call = json!({"name": "test_task_only", "arguments": {"behavior": "ask"}});
    let made = result(&client.request("tools/call", call).await).clone();
    assert_eq!(made["resultType"], "task", "{made}");
    let id = &made["taskId"];
    let keys = question_keys(&mut client, id, 2).await;
    assert_eq!(keys, ["name", "sure"]);
    let task = result(&client.request("tasks/get", json!({"taskId": id})).await).clone();
    assert_eq!(task["statusMessage"], "Asking 2 questions", "{task}");
    let answers = json!({"taskId": id, "inputResponses": accepted(&keys)});
    assert!(client.request("tasks/update", answers).await["error"].is_null());
    let task = task_beyond(&mut client, id, &["working", "input_required"]).await;
    assert_eq!(task["status"], "completed", "{task}");
    assert!(task["result"]["content"][0]["text"].as_str().unwrap().contains("Ada"), "{task}");

    let call = json!({"name": "test_task_only", "arguments": {"behavior": "wait"}});
    let made = result(&client.request("tools/call", call).await).clone();
    client.request("tasks/cancel", json!({"taskId": made["taskId"]})).await;
    assert_eq!(task_beyond(&mut client, &made["taskId"], &["working"]).await["status"], "cancelled");
    let count = json!({"name": "test_cancelled_count"});
    let stopped = async {
        while result(&client.request("tools/call", count.clone()).await)["content"][0]["text"] != "1" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), stopped).await.expect("the server's task is cancelled");
}
