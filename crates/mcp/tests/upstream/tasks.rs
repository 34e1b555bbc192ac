//! Tools that run only as tasks of their server: they are offered like others, and their tasks are followed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::StatusCode;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, InputRequests, InputResponses, LoggingMessageNotificationParam, ProtocolVersion,
    RequestMetaObject,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolway_core::ProgressReport;
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_mcp::client_link::{ClientLink, InputRequestError, RequestingClient};
use toolway_types::Code;

use crate::harness::{TIMEOUT, TestRequestingClient, UpstreamHarness, call, call_as, call_result};
use crate::task_server::{RESULT, TaskServer};

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"name": "Ada", "confirm": true}})
}

#[tokio::test]
async fn a_tool_that_runs_only_as_a_task_is_offered_and_its_result_is_that_of_the_call() {
    for is_modern in [false, true] {
        let (server, url) = TaskServer { is_modern, ..TaskServer::new() }.start().await;
        let bench = UpstreamHarness::connected_at(url).await;
        assert_eq!(bench.tools("up"), ["job"]);
        for number in 1..=2 {
            let finished = bench.finish(call("up__job", "{}")).await;
            assert_eq!(finished.outcome.original_result().map(|raw| raw.get()), Some(RESULT), "{is_modern}");
            // A server of 2026-07-28 refuses only the first call, which then becomes a task.
            let calls = server.sent("tools/call").len();
            assert_eq!(calls, if is_modern { number + 1 } else { number });
        }
        assert!(server.sent("tasks/cancel").is_empty());
        if is_modern {
            assert!(server.mcp_names.lock().iter().all(|name| name == "task-1"));
            let meta = &server.sent("tasks/get")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
            assert_eq!(meta["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
        } else {
            let ttl = server.sent("tools/call")[0]["task"]["ttl"].as_u64().unwrap();
            assert!(ttl > 3_600_000, "{ttl}");
            assert_eq!(server.sent("tasks/result"), vec![json!({"taskId": "task-1"}); 2]);
        }
    }
}

#[tokio::test]
async fn both_questions_of_an_older_servers_task_reach_the_client_of_the_call() {
    let (server, url) = TaskServer { asks: true, ..TaskServer::new() }.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    let client = TestRequestingClient::answering(forms(), accepted());
    let output = bench.call_as(&client, "up__job", "{}").await.unwrap();
    assert_eq!(output.joined_text(), "done");
    let asked = client.requests.lock().iter().map(Value::to_string).collect::<String>();
    assert!(asked.contains("one") && asked.contains("two"), "{asked}");
    assert!(!asked.contains("related-task"), "the client does not know the server's task: {asked}");
    let answers = server.answers.lock().clone();
    for question in ["one", "two"] {
        assert_eq!(answers[question]["content"], accepted()["content"]);
        let task = &answers[question]["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(task, &json!({"taskId": "task-1"}));
    }
}

#[tokio::test]
async fn nobody_is_asked_for_a_call_without_a_client() {
    let (server, url) = TaskServer { asks: true, ..TaskServer::new() }.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    assert_eq!(bench.call("up__job", "{}").await.unwrap().joined_text(), "done");
    assert_eq!(server.answers.lock()["one"]["action"], "cancel");
}

#[tokio::test]
async fn the_end_of_a_call_cancels_its_task() {
    for is_modern in [false, true] {
        let unending = TaskServer { is_modern, polls: usize::MAX, ..TaskServer::new() };
        let (server, url) = unending.start().await;
        let bench = UpstreamHarness::connected_at(url).await;
        let cancel = CancellationToken::new();
        let mut request = call("up__job", "{}");
        request.cancel = Some(cancel.clone());
        let (finished, ()) = tokio::join!(bench.finish(request), async {
            server.wait_for("tasks/get").await;
            cancel.cancel();
        });
        assert_eq!(call_result(&finished).unwrap_err().code, Code::Cancelled);
        assert_eq!(server.wait_for("tasks/cancel").await["taskId"], "task-1");

        server.requests.lock().clear();
        let mut request = call("up__job", "{}");
        request.timeout = Some(Duration::from_millis(300));
        let error = call_result(&bench.finish(request).await).unwrap_err();
        assert_eq!(error.code, Code::Timeout, "{error:?}");
        assert_eq!(server.wait_for("tasks/cancel").await["taskId"], "task-1");
    }
}

#[tokio::test]
async fn a_task_outlives_its_session_and_an_outage() {
    for (is_modern, status) in [
        (false, StatusCode::NOT_FOUND),
        (false, StatusCode::BAD_GATEWAY),
        (true, StatusCode::SERVICE_UNAVAILABLE),
    ] {
        let refusals = Mutex::new(vec![status]);
        let (server, url) = TaskServer { is_modern, refusals, ..TaskServer::new() }.start().await;
        let bench = UpstreamHarness::connected_at(url).await;
        assert_eq!(bench.call("up__job", "{}").await.unwrap().joined_text(), "done", "{status}");
        let sessions = server.sent("initialize").len();
        assert_eq!(sessions, if status == StatusCode::NOT_FOUND { 2 } else { usize::from(!is_modern) });
    }
}

#[tokio::test]
async fn a_task_of_a_server_of_both_eras_is_followed_in_the_era_that_created_it() {
    for status in [None, Some(StatusCode::NOT_FOUND), Some(StatusCode::BAD_GATEWAY)] {
        let refusals = Mutex::new(status.into_iter().collect());
        let both = TaskServer { has_both: true, asks: true, polls: 3, refusals, ..TaskServer::new() };
        let (server, url) = both.start().await;
        let bench = UpstreamHarness::connected_at(url).await;
        let client = TestRequestingClient::answering(forms(), accepted());
        let output = bench.call_as(&client, "up__job", "{}").await.unwrap();
        assert_eq!(output.joined_text(), "done", "{status:?}");
        assert_eq!(server.answers.lock()["two"]["content"], accepted()["content"]);
        // Only requests of 2026-07-28 tell their version.
        let sent = [server.sent("tools/call"), server.sent("tasks/get")].concat();
        assert!(
            sent.iter().all(|params| params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null())
        );
        let sessions = server.sent("initialize").len();
        assert_eq!(sessions, if status == Some(StatusCode::NOT_FOUND) { 2 } else { 1 });

        server.requests.lock().clear();
        assert_eq!(bench.call("up__job", "{}").await.unwrap().joined_text(), "done");
        let polls = server.sent("tasks/get");
        let version = &polls[0]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(version, "2026-07-28");
    }
}

#[tokio::test]
async fn the_end_of_a_call_cancels_its_task_in_the_era_that_created_it() {
    let unending = TaskServer { has_both: true, polls: usize::MAX, ..TaskServer::new() };
    let (server, url) = unending.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    let cancel = CancellationToken::new();
    let client = TestRequestingClient::answering(forms(), accepted());
    let mut request = call_as(&client, "up__job", "{}");
    request.cancel = Some(cancel.clone());
    let (finished, ()) = tokio::join!(bench.finish(request), async {
        server.wait_for("tasks/get").await;
        cancel.cancel();
    });
    assert_eq!(call_result(&finished).unwrap_err().code, Code::Cancelled);
    assert_eq!(server.wait_for("tasks/cancel").await, json!({"taskId": "task-1"}));
}

#[tokio::test]
async fn a_task_that_the_server_has_forgotten_ends_the_call() {
    let (server, url) = TaskServer { forgets: true, ..TaskServer::new() }.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    let error = bench.call("up__job", "{}").await.unwrap_err();
    assert_eq!(error.code, Code::ToolFailed);
    assert!(error.message.contains("does not know the task"), "{error:?}");
    assert!(server.sent("tasks/cancel").is_empty());
}

#[tokio::test]
async fn an_announced_change_is_polled_before_the_interval_is_over() {
    let (server, url) = TaskServer { poll_interval: 60_000, ..TaskServer::new() }.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    let announcing = async {
        server.wait_for("tools/call").await;
        loop {
            server
                .announce("notifications/tasks/status", &json!({"taskId": "task-1", "status": "completed"}));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let output = tokio::select! {
        output = bench.call("up__job", "{}") => output.unwrap(),
        () = announcing => unreachable!("it never ends"),
    };
    assert_eq!(output.joined_text(), "done");
}

#[tokio::test]
async fn status_messages_and_progress_of_a_task_are_reported() {
    let (server, url) = TaskServer { polls: 10, ..TaskServer::new() }.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    let reports = Arc::new(Mutex::new(Vec::<ProgressReport>::new()));
    let sink = Arc::clone(&reports);
    let mut request = call("up__job", "{}");
    request.progress = Some(Arc::new(move |report| sink.lock().push(report)));
    let announcing = async {
        let token = server.wait_for("tools/call").await["_meta"]["progressToken"].clone();
        // After the response to the call.
        server.wait_for("tasks/get").await;
        loop {
            let params = json!({"progressToken": token, "progress": 0.5, "message": "half"});
            server.announce("notifications/progress", &params);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        finished = bench.finish(request) => call_result(&finished).map(drop).unwrap(),
        () = announcing => unreachable!("it never ends"),
    }
    let reports = reports.lock();
    let messages: Vec<_> = reports.iter().filter_map(|report| report.message.as_deref()).collect();
    for message in ["It is working", "half", "It is completed"] {
        assert!(messages.contains(&message), "{messages:?}");
    }
    assert_eq!(messages.iter().filter(|message| **message == "It is working").count(), 1, "{messages:?}");
}

/// A client whose person answers the question "two" later than the others.
struct SlowPerson {
    client: Arc<TestRequestingClient>,
    delay: Duration,
}

#[async_trait]
impl RequestingClient for SlowPerson {
    fn capabilities(&self) -> &ClientCapabilities {
        self.client.capabilities()
    }

    fn protocol_version(&self) -> ProtocolVersion {
        self.client.protocol_version()
    }

    fn meta(&self) -> &RequestMetaObject {
        self.client.meta()
    }

    fn initial_responses(&self) -> Option<InputResponses> {
        None
    }

    async fn request_input(&self, requests: InputRequests) -> Result<InputResponses, InputRequestError> {
        if serde_json::to_string(&requests).unwrap().contains("two") {
            tokio::time::sleep(self.delay).await;
        }
        self.client.request_input(requests).await
    }

    fn send_log(&self, _: LoggingMessageNotificationParam) {}
}

#[tokio::test]
async fn the_clock_of_a_call_stands_still_until_its_last_question_has_an_answer() {
    let (_server, url) = TaskServer { asks: true, ..TaskServer::new() }.start().await;
    let bench = UpstreamHarness::connected_at(url).await;
    let client = TestRequestingClient::answering(forms(), accepted());
    let person = SlowPerson { client, delay: Duration::from_secs(4) };
    let mut request = call("up__job", "{}");
    request.timeout = Some(Duration::from_secs(3));
    request.extension = Some(Arc::new(ClientLink(Arc::new(person))));
    assert_eq!(call_result(&bench.finish(request).await).unwrap().joined_text(), "done");
}

async fn modern_harness() -> (FakeMcp, UpstreamHarness) {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2026-07-28"])).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    (server, bench)
}

#[tokio::test]
async fn results_and_errors_of_tasks_are_those_of_ordinary_calls() {
    let (_server, bench) = modern_harness().await;
    let output = bench.call("up__test_task_only", r#"{"behavior":"succeed"}"#).await.unwrap();
    assert_eq!(output.joined_text(), "Done.");
    let error = bench.call("up__failing_job", "{}").await.unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (Code::ToolFailed, "The job failed, as it was meant to.")
    );
    let error = bench.call("up__test_task_only", r#"{"behavior":"fail"}"#).await.unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (Code::ToolFailed, "It broke (MCP error -32050)"));
}

#[tokio::test]
async fn questions_before_and_within_a_task_reach_the_client_of_the_call() {
    let (_server, bench) = modern_harness().await;
    let client = TestRequestingClient::answering(forms(), accepted());
    let output = bench.call_as(&client, "up__test_tool_with_task", "{}").await.unwrap();
    assert_eq!(output.joined_text(), "Done for Ada.");
    let output = bench.call_as(&client, "up__test_task_only", r#"{"behavior":"ask"}"#).await.unwrap();
    assert_eq!(output.joined_text().matches("Ada").count(), 2, "{}", output.joined_text());
    let asked: usize = client.requests.lock().iter().map(|asked| asked.as_object().unwrap().len()).sum();
    assert_eq!(asked, 3, "each question is asked once");
}

#[tokio::test]
async fn a_task_ends_if_its_client_cannot_be_asked() {
    let (_server, bench) = modern_harness().await;
    let error = bench.call("up__test_task_only", r#"{"behavior":"ask"}"#).await.unwrap_err();
    assert_eq!(error.code, Code::ApprovalUnavailable, "{error:?}");
    let silent = TestRequestingClient::new(forms(), Box::new(|_| Err(InputRequestError::TimedOut)));
    let error = bench.call_as(&silent, "up__test_task_only", r#"{"behavior":"ask"}"#).await.unwrap_err();
    assert_eq!(error.code, Code::ApprovalUnavailable, "{error:?}");
}

#[tokio::test]
async fn a_question_without_an_answer_is_asked_again_and_not_for_ever() {
    let (_server, bench) = modern_harness().await;
    let forgetful = TestRequestingClient::new(forms(), Box::new(|_| Ok(Default::default())));
    let finished = bench.finish(call_as(&forgetful, "up__test_task_only", r#"{"behavior":"ask"}"#)).await;
    let error = call_result(&finished).unwrap_err();
    assert!(error.message.contains("too many questions"), "{error:?}");
    let asked = forgetful.requests.lock().len();
    assert!((16..=32).contains(&asked), "{asked}");
}

#[tokio::test]
async fn the_deadline_of_a_call_ends_the_work_of_its_task() {
    let (_server, bench) = modern_harness().await;
    let mut request = call("up__test_task_only", r#"{"behavior":"wait"}"#);
    request.timeout = Some(Duration::from_millis(500));
    let error = call_result(&bench.finish(request).await).unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error:?}");
    let stopped = async {
        while bench.call("up__test_cancelled_count", "{}").await.unwrap().joined_text() != "1" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, stopped).await.expect("the task is cancelled");
}
