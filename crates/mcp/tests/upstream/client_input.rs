//! What servers ask while they work on a call: the client behind that call is asked, and nobody else.

use std::sync::Arc;

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, FakeMcpOptions};
use toolway_mcp::definition::ServerDefinition;
use toolway_types::Code;

use crate::harness::{TestRequestingClient, UpstreamHarness, at};

const BOTH_ERAS: [&str; 2] = ["2026-07-28", "2025-11-25"];

fn all_capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

fn accepted(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

async fn asking_harness(server: &FakeMcp, is_trusted: bool) -> UpstreamHarness {
    let bench = UpstreamHarness::new();
    bench.apply([("up", ServerDefinition { sampling: is_trusted, roots: is_trusted, ..at(server.url()) })]);
    bench.wait_connected("up").await;
    bench
}

#[tokio::test]
async fn a_question_reaches_the_client_that_called_in_both_eras() {
    for version in BOTH_ERAS {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let bench = asking_harness(&server, false).await;
        let asked = TestRequestingClient::answering(
            all_capabilities(),
            accepted(json!({"username": "ada", "email": "a@b.c"})),
        );
        let other = TestRequestingClient::answering(all_capabilities(), accepted(json!({})));
        let (first, second) = tokio::join!(
            bench.call_as(&asked, "up__test_elicitation", r#"{"message":"Who?"}"#),
            bench.call_as(&other, "up__test_simple_text", "{}"),
        );
        let said = first.unwrap().joined_text();
        second.unwrap();
        assert!(said.contains("ada"), "{version}: {said}");
        assert_eq!((asked.requests.lock().len(), other.requests.lock().len()), (1, 0), "{version}");
        assert!(asked.requests.lock()[0].to_string().contains("Who?"));
    }
}

#[tokio::test]
async fn several_rounds_end_in_one_result() {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2026-07-28"])).await;
    let bench = asking_harness(&server, true).await;
    let client = TestRequestingClient::new(
        all_capabilities(),
        Box::new(|asked| {
            let answer = |key: &str| match key {
                "step1" => accepted(json!({"name": "Ada"})),
                _ => accepted(json!({"color": "green"})),
            };
            Ok(asked.into_keys().map(|key| (key.clone(), answer(&key))).collect())
        }),
    );
    let output = bench.call_as(&client, "up__test_input_required_result_multi_round", "{}").await.unwrap();
    assert_eq!(output.joined_text(), "Ada likes green");
    assert_eq!(client.requests.lock().len(), 2);
}

#[tokio::test]
async fn answers_that_come_along_are_passed_on_and_nobody_is_asked() {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2026-07-28"])).await;
    let bench = asking_harness(&server, false).await;
    let mut client = TestRequestingClient::with_capabilities(
        all_capabilities(),
        Box::new(|_| panic!("nobody should be asked")),
    );
    client.initial_responses = Some([("user_name".to_owned(), accepted(json!({"name": "Ada"})))].into());
    let output =
        bench.call_as(&Arc::new(client), "up__test_input_required_result_elicitation", "{}").await.unwrap();
    assert_eq!(output.joined_text(), "Hello, Ada!");
}

#[tokio::test]
async fn sampling_and_roots_need_the_owners_word_and_the_clients() {
    for version in BOTH_ERAS {
        let server = FakeMcp::start(FakeMcpOptions::with_versions(&[version])).await;
        let answer = json!({
            "role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"
        });
        let sampling = ("up__test_sampling", r#"{"prompt":"Capital of France?"}"#);

        let distrusting = asking_harness(&server, false).await;
        let client = TestRequestingClient::answering(all_capabilities(), answer.clone());
        let refused = distrusting.call_as(&client, sampling.0, sampling.1).await;
        assert!(refused.is_err(), "{version}: {refused:?}");
        assert!(client.requests.lock().is_empty(), "{version}: it was asked without the owner's word");

        let trusting = asking_harness(&server, true).await;
        let silent = TestRequestingClient::unaskable();
        assert!(trusting.call_as(&silent, sampling.0, sampling.1).await.is_err());
        assert!(silent.requests.lock().is_empty(), "{version}: it never said that it could");

        let output = trusting.call_as(&client, sampling.0, sampling.1).await.unwrap();
        assert!(output.joined_text().contains("Paris"), "{version}");
        let folders = TestRequestingClient::answering(
            all_capabilities(),
            json!({"roots": [{"uri": "file:///home/ada"}]}),
        );
        let output = trusting.call_as(&folders, "up__test_list_roots", "{}").await.unwrap();
        assert!(output.joined_text().contains("file:///home/ada"), "{version}: {}", output.joined_text());
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_call_ends_and_says_so() {
    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2025-11-25"])).await;
    let bench = asking_harness(&server, false).await;
    // The older era has a word for it.
    let output = bench.call("up__test_elicitation", r#"{"message":"Who?"}"#).await.unwrap();
    assert!(output.joined_text().contains("cancel"), "{}", output.joined_text());

    let server = FakeMcp::start(FakeMcpOptions::with_versions(&["2026-07-28"])).await;
    let bench = self::asking_harness(&server, false).await;
    let error = bench.call("up__test_elicitation", r#"{"message":"Who?"}"#).await.unwrap_err();
    assert!(matches!(error.code, Code::ApprovalUnavailable | Code::ToolFailed), "{error:?}");
}
