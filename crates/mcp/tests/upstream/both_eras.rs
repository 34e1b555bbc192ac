//! Servers of both eras: clients of the older era reach them in the older era, over a second connection.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ProtocolVersion, ReadResourceRequestParams};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_mcp::client_link::RequestingClient;
use toolway_mcp::definition::{EraMode, ServerDefinition};
use toolway_mcp::offering::{OfferingRegistry, ServerOffering, UpstreamEvent};
use toolway_mcp::upstream::{ProtocolEra, UpstreamState};

use crate::harness::{TIMEOUT, TestRequestingClient, UpstreamHarness, at, call_as, call_result, slug};
use crate::programs::{script, wait_until_dead};

const WATCHED: &str = "test://watched-resource";
/// Makes the program of the tests a server of both eras.
const DISCOVER: &str = "def discover(id): answer(id, {'resultType': 'complete', \
    'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}}})";

fn older_client() -> Arc<TestRequestingClient> {
    let answer = json!({"action": "accept", "content": {"name": "Ada", "username": "ada", "email": "a@b.c"}});
    TestRequestingClient::answering(json!({"elicitation": {"form": {}}}), answer)
}

fn newer_client() -> Arc<TestRequestingClient> {
    let mut client = Arc::into_inner(older_client()).unwrap();
    client.version = ProtocolVersion::V_2026_07_28;
    Arc::new(client)
}

fn offering(bench: &UpstreamHarness, era: ProtocolEra) -> Arc<dyn ServerOffering> {
    bench.upstreams.offering(&slug("up"), era).unwrap()
}

/// The events so far that tell of the watched resource.
fn updates(events: &mut Receiver<UpstreamEvent>) -> usize {
    let all = std::iter::from_fn(|| events.try_recv().ok());
    all.filter(|event| matches!(event, UpstreamEvent::ResourceUpdated { uri } if uri == WATCHED)).count()
}

/// Starts a server again at its address, without its sessions.
async fn restart(server: FakeMcp) -> FakeMcp {
    let address = server.url().trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
    drop(server);
    let again = async {
        loop {
            match FakeMcp::start_at(address, FakeMcpOptions::default()).await {
                Ok(server) => return server,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(TIMEOUT, again).await.expect("the port is free again")
}

#[tokio::test]
async fn a_tool_that_asks_while_it_runs_asks_a_client_of_the_older_era() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    let (client, tools) = (older_client(), bench.tools("up"));
    let output = bench.call_as(&client, "up__test_pushed_elicitation", "{}").await.unwrap();
    assert!(output.joined_text().contains("Ada"), "{output:?}");
    assert_eq!(client.requests.lock().len(), 1);
    // A tool of the newer style works for both.
    for client in [older_client(), newer_client()] {
        let output = bench.call_as(&client, "up__test_elicitation", r#"{"message":"Who?"}"#).await.unwrap();
        assert!(output.joined_text().contains("ada"), "{output:?}");
        assert_eq!(client.requests.lock().len(), 1);
    }
    let error = bench.call_as(&newer_client(), "up__test_pushed_elicitation", "{}").await.unwrap_err();
    assert!(error.message.contains("no back-channel"), "as without a gateway: {}", error.message);
    let status = bench.status("up");
    assert_eq!((status.era, status.state), (Some(ProtocolEra::Stateless), UpstreamState::Connected));
    assert_eq!(bench.tools("up"), tools);
    assert_eq!(*bench.registered.borrow(), 1, "the tools are registered once");
}

#[tokio::test]
async fn a_server_that_could_not_ask_in_the_older_era_is_used_in_the_newer_one() {
    let no_sessions = FakeMcpOptions { sessions: false, ..FakeMcpOptions::default() };
    for options in [no_sessions, FakeMcpOptions::with_versions(&["2026-07-28"])] {
        let server = FakeMcp::start(options).await;
        let bench = UpstreamHarness::connected_at(server.url()).await;
        let client = older_client();
        let output = bench.call_as(&client, "up__test_elicitation", r#"{"message":"Who?"}"#).await.unwrap();
        assert!(output.joined_text().contains("ada"), "{output:?}");
        assert_eq!(client.requests.lock().len(), 1);
        assert_eq!(bench.status("up").problem, None);
    }
}

#[tokio::test]
async fn a_definition_pins_the_era() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::new();
    let pinned = |era| ServerDefinition { era, ..at(server.url()) };
    bench.apply([("up", pinned(EraMode::Older)), ("newer", pinned(EraMode::Newer))]);
    let status = bench.wait_connected("up").await;
    assert_eq!(status.protocol_version.as_deref(), Some("2025-11-25"));
    for client in [older_client(), newer_client()] {
        let output = bench.call_as(&client, "up__test_pushed_elicitation", "{}").await.unwrap();
        assert!(output.joined_text().contains("Ada"), "{output:?}");
    }
    let status = bench.wait_connected("newer").await;
    assert_eq!(status.protocol_version.as_deref(), Some("2026-07-28"));
    assert!(bench.call_as(&older_client(), "newer__test_pushed_elicitation", "{}").await.is_err());

    let old = FakeMcp::start(FakeMcpOptions::with_versions(&["2025-06-18"])).await;
    bench.apply([("up", ServerDefinition { era: EraMode::Newer, ..at(old.url()) })]);
    let problem = bench.wait_failed("up").await.problem.unwrap().message;
    assert_eq!(problem, "it speaks MCP 2025-06-18, and its definition requires 2026-07-28 (era = \"2026\")");
}

#[tokio::test]
async fn progress_logs_and_cancellation_pass_over_the_second_connection() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    let client = older_client();
    let reports = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let sink = Arc::clone(&reports);
    let mut progressing = call_as(&client, "up__test_tool_with_progress", "{}");
    progressing.progress = Some(Arc::new(move |report: toolway_core::ProgressReport| {
        sink.lock().push(report.progress);
    }));
    call_result(&bench.finish(progressing).await).unwrap();
    assert_eq!(*reports.lock(), [0.0, 50.0, 100.0]);

    let level = serde_json::from_value(json!("info")).unwrap();
    let older = offering(&bench, ProtocolEra::Handshake);
    let _level = older.request_log_level(level).await.unwrap();
    bench.call_as(&client, "up__test_tool_with_logging", "{}").await.unwrap();
    assert_eq!(client.logs.lock().len(), 3);

    let (begun, mut has_begun) = tokio::sync::watch::channel(false);
    let mut waiting = call_as(&client, "up__test_until_cancelled", "{}");
    let cancel = tokio_util::sync::CancellationToken::new();
    waiting.cancel = Some(cancel.clone());
    waiting.progress = Some(Arc::new(move |_| {
        let _ = begun.send(true);
    }));
    let cancelling = async {
        has_begun.wait_for(|begun| *begun).await.unwrap();
        cancel.cancel();
    };
    let (finished, ()) = tokio::join!(bench.finish(waiting), cancelling);
    assert_eq!(call_result(&finished).unwrap_err().code, toolway_types::Code::Cancelled);
    let heard = async {
        loop {
            let output = bench.call("up__test_cancelled_count", "{}").await.unwrap();
            if output.joined_text() == "1" {
                return;
            }
        }
    };
    tokio::time::timeout(TIMEOUT, heard).await.expect("the server hears of the cancellation");
}

#[tokio::test]
async fn a_watched_resource_is_told_once_to_each_client_and_again_after_a_restart() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    let (older, newer) = (offering(&bench, ProtocolEra::Handshake), offering(&bench, ProtocolEra::Stateless));
    let (mut old_events, mut new_events) = (older.events(), newer.events());
    let watches = (older.subscribe(WATCHED).await.unwrap(), newer.subscribe(WATCHED).await.unwrap());
    bench.call("up__test_trigger_resource_update", "{}").await.unwrap();
    let wait_for_update = async |events: &mut Receiver<UpstreamEvent>| {
        let told =
            async { while !matches!(events.recv().await, Ok(UpstreamEvent::ResourceUpdated { .. })) {} };
        tokio::time::timeout(TIMEOUT, told).await.expect("the update is told");
    };
    wait_for_update(&mut old_events).await;
    wait_for_update(&mut new_events).await;
    // A later message over each connection shows that no second one was on its way.
    bench.call_as(&older_client(), "up__test_simple_text", "{}").await.unwrap();
    bench.call("up__test_simple_text", "{}").await.unwrap();
    assert_eq!((updates(&mut old_events), updates(&mut new_events)), (0, 0));

    let _server = restart(server).await;
    let again = async {
        loop {
            // The calls also find out that the sessions are lost.
            let _ = bench.call_as(&older_client(), "up__test_simple_text", "{}").await;
            let _ = bench.call("up__test_trigger_resource_update", "{}").await;
            if updates(&mut old_events) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, again).await.expect("the resource is watched again");
    drop(watches);
}

#[tokio::test]
async fn a_lost_session_of_the_second_connection_is_opened_again_for_the_next_call() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    bench.call_as(&older_client(), "up__test_pushed_elicitation", "{}").await.unwrap();
    let _server = restart(server).await;
    let output = bench.call_as(&older_client(), "up__test_pushed_elicitation", "{}").await.unwrap();
    assert!(output.joined_text().contains("Ada"), "{output:?}");
}

#[tokio::test]
async fn resources_prompts_and_completion_pass_for_clients_of_the_older_era() {
    let server = FakeMcp::start(FakeMcpOptions::default()).await;
    let bench = UpstreamHarness::connected_at(server.url()).await;
    let older = offering(&bench, ProtocolEra::Handshake);
    // Before the second connection is open, and after a client has asked over it.
    for _ in 0..2 {
        let resources = older.list_resources(None).await.unwrap().resources;
        assert!(resources.iter().any(|resource| resource.uri == WATCHED));
        assert_eq!(older.list_prompts(None).await.unwrap().prompts.len(), 5);
        let request: Value = json!({"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "arg1", "value": "par"}});
        let completed = older.complete(serde_json::from_value(request).unwrap()).await.unwrap();
        assert_eq!(completed.completion.values, ["paris", "park", "party"]);
        let client = older_client();
        let request = ReadResourceRequestParams::new("test://asking");
        older.read_resource(request, Arc::clone(&client) as Arc<dyn RequestingClient>).await.unwrap();
        assert_eq!(client.requests.lock().len(), 1);
    }
}

#[tokio::test]
async fn a_program_of_both_eras_runs_twice_only_while_clients_of_the_older_era_use_it() {
    let bench = UpstreamHarness::with_deps(|parts| {
        parts.settings.probe_timeout = Duration::from_secs(10);
        parts.settings.older_idle_timeout = Duration::from_millis(50);
    });
    bench.apply([("up", script(DISCOVER))]);
    bench.wait_connected("up").await;
    let first = bench.call("up__pid", "{}").await.unwrap().joined_text();
    let second = bench.call_as(&older_client(), "up__pid", "{}").await.unwrap().joined_text();
    assert_ne!(first, second);
    // The others need no second one: newer clients, and clients that can't be asked.
    for client in [newer_client(), TestRequestingClient::unaskable()] {
        let pid = bench.call_as(&client, "up__pid", "{}").await.unwrap().joined_text();
        assert_eq!(pid, first);
    }
    wait_until_dead(&second).await;
    let third = bench.call_as(&older_client(), "up__pid", "{}").await.unwrap().joined_text();
    assert!(third != first && third != second);
    // A program that ends is started again.
    assert!(bench.call_as(&older_client(), "up__exit", "{}").await.is_err());
    let fourth = bench.call_as(&older_client(), "up__pid", "{}").await.unwrap().joined_text();
    assert!(fourth != first && fourth != third);
    bench.upstreams.shut_down(Duration::from_secs(5)).await;
    wait_until_dead(&first).await;
    wait_until_dead(&fourth).await;
}

#[tokio::test]
async fn a_program_that_can_not_run_twice_serves_all_clients_once() {
    let lock = tempfile::tempdir().unwrap();
    let behaviour = format!(
        "{DISCOVER}\ntry: os.mkdir({:?})\nexcept FileExistsError: sys.exit('it runs already')\n",
        lock.path().join("lock")
    );
    let bench = UpstreamHarness::with_deps(|parts| parts.settings.probe_timeout = Duration::from_secs(10));
    bench.apply([("up", script(&behaviour))]);
    bench.wait_connected("up").await;
    let first = bench.call("up__pid", "{}").await.unwrap().joined_text();
    for _ in 0..2 {
        let same = bench.call_as(&older_client(), "up__pid", "{}").await.unwrap().joined_text();
        assert_eq!(same, first);
    }
    assert_eq!(bench.status("up").state, UpstreamState::Connected);
}
