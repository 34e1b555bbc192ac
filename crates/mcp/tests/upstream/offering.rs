//! Resources, prompts, completion, subscriptions and levels, through to the server.

use std::sync::Arc;

use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, GetPromptResponse, LoggingLevel,
    ReadResourceRequestParams, ReadResourceResponse, Reference,
};
use serde_json::json;
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_mcp::client_link::RequestingClient;
use toolway_mcp::offering::{OfferingRegistry, ServerOffering, UpstreamEvent};
use toolway_mcp::upstream::ProtocolEra;

use crate::harness::{TIMEOUT, TestRequestingClient, UpstreamHarness, slug};

async fn start_servers() -> Vec<(FakeMcp, UpstreamHarness, Arc<dyn ServerOffering>)> {
    let mut all = Vec::new();
    for version in ["2026-07-28", "2025-11-25"] {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let bench = UpstreamHarness::connected_at(server.url()).await;
        let offering = bench.upstreams.offering(&slug("up"), ProtocolEra::Stateless).unwrap();
        all.push((server, bench, offering));
    }
    all
}

fn client() -> Arc<dyn RequestingClient> {
    TestRequestingClient::unaskable()
}

/// Waits for an event.
async fn wait_for_event(
    events: &mut tokio::sync::broadcast::Receiver<UpstreamEvent>,
    is_it: impl Fn(&UpstreamEvent) -> bool,
) {
    let wait = async { while !is_it(&events.recv().await.unwrap()) {} };
    tokio::time::timeout(TIMEOUT, wait).await.expect("the event");
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read() {
    for (_server, bench, offering) in start_servers().await {
        let resources = offering.list_resources(None).await.unwrap().resources;
        assert!(resources.iter().any(|resource| resource.uri == "test://static-text"));
        let templates = offering.list_resource_templates(None).await.unwrap().resource_templates;
        assert_eq!(templates[0].uri_template, "test://template/{id}/data");
        let request = ReadResourceRequestParams::new("test://static-text");
        let ReadResourceResponse::Complete(read) = offering.read_resource(request, client()).await.unwrap()
        else {
            panic!("it is not complete");
        };
        assert_eq!(read.contents.len(), 1);
        let prompts = offering.list_prompts(None).await.unwrap().prompts;
        assert!(!prompts.is_empty());
        let simple = GetPromptRequestParams::new("test_simple_prompt");
        let GetPromptResponse::Complete(got) = offering.get_prompt(simple, client()).await.unwrap() else {
            panic!("it is not complete");
        };
        assert!(!got.messages.is_empty());
        let status = bench
            .wait_until("up", "counted", |status| status.resources == resources.len() && status.prompts > 0)
            .await;
        assert_eq!(status.prompts, prompts.len());
        let missing = ReadResourceRequestParams::new("test://nothing");
        let error = offering.read_resource(missing, client()).await.unwrap_err();
        assert!(matches!(error.code.0, -32002 | -32602), "the server's own error: {error:?}");
        assert!(offering.facts().unwrap().capabilities.resources.is_some());
    }
}

#[tokio::test]
async fn a_resource_that_asks_asks_the_client_that_reads_it() {
    for (_server, _bench, offering) in start_servers().await {
        let answer = json!({"action": "accept", "content": {"password": "xyzzy"}});
        let client = TestRequestingClient::answering(json!({"elicitation": {"form": {}}}), answer);
        let request = ReadResourceRequestParams::new("test://asking");
        let read =
            offering.read_resource(request, Arc::clone(&client) as Arc<dyn RequestingClient>).await.unwrap();
        assert!(matches!(read, ReadResourceResponse::Complete(_)), "{read:?}");
        assert_eq!(client.requests.lock().len(), 1);
    }
}

#[tokio::test]
async fn completion_comes_from_the_server() {
    for (_server, _bench, offering) in start_servers().await {
        let request = CompleteRequestParams::new(
            Reference::for_prompt("test_prompt_with_arguments"),
            serde_json::from_value::<ArgumentInfo>(json!({"name": "arg1", "value": "par"})).unwrap(),
        );
        let completed = offering.complete(request).await.unwrap();
        assert!(!completed.completion.values.is_empty());
    }
}

#[tokio::test]
async fn watched_resources_are_told_of_while_somebody_watches() {
    for (_server, bench, offering) in start_servers().await {
        let mut events = offering.events();
        let uri = "test://watched-resource";
        let first = offering.subscribe(uri).await.unwrap();
        let second = offering.subscribe(uri).await.unwrap();
        let is_it =
            |event: &UpstreamEvent| matches!(event, UpstreamEvent::ResourceUpdated { uri: of } if of == uri);
        bench.call("up__test_trigger_resource_update", "{}").await.unwrap();
        wait_for_event(&mut events, is_it).await;
        drop(first);
        bench.call("up__test_trigger_resource_update", "{}").await.unwrap();
        wait_for_event(&mut events, is_it).await;
        drop(second);
        assert!(offering.subscribe(uri).await.is_ok(), "it can be watched again");
    }
}

#[tokio::test]
async fn changed_lists_are_told_of_and_tools_follow() {
    for (_server, bench, offering) in start_servers().await {
        let mut events = offering.events();
        assert!(!bench.tools("up").contains(&"test_sometimes".to_owned()));
        bench.call("up__test_trigger_tool_change", "{}").await.unwrap();
        let tools = bench.status("up").tools;
        bench.wait_until("up", "listed anew", |status| status.tools == tools + 1).await;
        assert!(bench.tools("up").contains(&"test_sometimes".to_owned()));
        bench.call("up__test_sometimes", "{}").await.unwrap();
        bench.call("up__test_trigger_prompt_change", "{}").await.unwrap();
        wait_for_event(&mut events, |event| matches!(event, UpstreamEvent::PromptListChanged)).await;
        bench.call("up__test_trigger_resource_change", "{}").await.unwrap();
        wait_for_event(&mut events, |event| matches!(event, UpstreamEvent::ResourceListChanged)).await;
    }
}

#[tokio::test]
async fn the_lowest_level_that_anybody_wants_is_asked_for() {
    for (_server, bench, offering) in start_servers().await {
        let client = TestRequestingClient::unaskable();
        let errors = offering.request_log_level(LoggingLevel::Error).await.unwrap();
        bench.call_as(&client, "up__test_logging_tool", "{}").await.unwrap();
        // In the older era messages may come after the answer, which takes another way.
        let logged = async |last: LoggingLevel| {
            let all = async {
                while client.logs.lock().last().is_none_or(|message| message.level != last) {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(TIMEOUT, all).await.unwrap();
            std::mem::take(&mut *client.logs.lock()).len()
        };
        assert_eq!(logged(LoggingLevel::Emergency).await, 4, "error, critical, alert, emergency");
        let all = offering.request_log_level(LoggingLevel::Debug).await.unwrap();
        bench.call_as(&client, "up__test_logging_tool", "{}").await.unwrap();
        assert_eq!(logged(LoggingLevel::Emergency).await, 8);
        drop((errors, all));
    }
}
