//! What servers ask while they work on a call: the client behind that call is asked, and nobody else.

use std::sync::Arc;

use serde_json::{Value, json};
use toolway_fake_mcp::{FakeMcp, Options};
use toolway_mcp::definition::ServerDefinition;
use toolway_types::Code;

use crate::support::{Bench, TestClient, at};

const BOTH: [&str; 2] = ["2026-07-28", "2025-11-25"];

fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

fn accepted(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

async fn bench(server: &FakeMcp, is_trusted: bool) -> Bench {
    let bench = Bench::new();
    bench.apply([("up", ServerDefinition { sampling: is_trusted, roots: is_trusted, ..at(server.url()) })]);
    bench.connected("up").await;
    bench
}

#[tokio::test]
async fn a_question_reaches_the_client_that_called_in_both_eras() {
    for version in BOTH {
        let server = FakeMcp::start(Options::speaking(&[version])).await;
        let bench = bench(&server, false).await;
        let asked = TestClient::saying(all(), accepted(json!({"username": "ada", "email": "a@b.c"})));
        let other = TestClient::saying(all(), accepted(json!({})));
        let (first, second) = tokio::join!(
            bench.call_as(&asked, "up__test_elicitation", r#"{"message":"Who?"}"#),
            bench.call_as(&other, "up__test_simple_text", "{}"),
        );
        let said = first.unwrap().joined_text();
        second.unwrap();
        assert!(said.contains("ada"), "{version}: {said}");
        assert_eq!((asked.asked.lock().len(), other.asked.lock().len()), (1, 0), "{version}");
        assert!(asked.asked.lock()[0].to_string().contains("Who?"));
    }
}

#[tokio::test]
async fn several_rounds_end_in_one_result() {
    let server = FakeMcp::start(Options::speaking(&["2026-07-28"])).await;
    let bench = bench(&server, true).await;
    let client = TestClient::new(
        all(),
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
    assert_eq!(client.asked.lock().len(), 2);
}

#[tokio::test]
async fn answers_that_come_along_are_passed_on_and_nobody_is_asked() {
    let server = FakeMcp::start(Options::speaking(&["2026-07-28"])).await;
    let bench = bench(&server, false).await;
    let mut client = TestClient::of(all(), Box::new(|_| panic!("nobody should be asked")));
    client.early = Some([("user_name".to_owned(), accepted(json!({"name": "Ada"})))].into());
    let output =
        bench.call_as(&Arc::new(client), "up__test_input_required_result_elicitation", "{}").await.unwrap();
    assert_eq!(output.joined_text(), "Hello, Ada!");
}

#[tokio::test]
async fn sampling_and_roots_need_the_owners_word_and_the_clients() {
    for version in BOTH {
        let server = FakeMcp::start(Options::speaking(&[version])).await;
        let answer = json!({
            "role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"
        });
        let sampling = ("up__test_sampling", r#"{"prompt":"Capital of France?"}"#);

        let distrusting = bench(&server, false).await;
        let client = TestClient::saying(all(), answer.clone());
        let refused = distrusting.call_as(&client, sampling.0, sampling.1).await;
        assert!(refused.is_err(), "{version}: {refused:?}");
        assert!(client.asked.lock().is_empty(), "{version}: it was asked without the owner's word");

        let trusting = bench(&server, true).await;
        let silent = TestClient::silent();
        assert!(trusting.call_as(&silent, sampling.0, sampling.1).await.is_err());
        assert!(silent.asked.lock().is_empty(), "{version}: it never said that it could");

        let output = trusting.call_as(&client, sampling.0, sampling.1).await.unwrap();
        assert!(output.joined_text().contains("Paris"), "{version}");
        let folders = TestClient::saying(all(), json!({"roots": [{"uri": "file:///home/ada"}]}));
        let output = trusting.call_as(&folders, "up__test_list_roots", "{}").await.unwrap();
        assert!(output.joined_text().contains("file:///home/ada"), "{version}: {}", output.joined_text());
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_call_ends_and_says_so() {
    let server = FakeMcp::start(Options::speaking(&["2025-11-25"])).await;
    let bench = bench(&server, false).await;
    // The older era has a word for it.
    let output = bench.call("up__test_elicitation", r#"{"message":"Who?"}"#).await.unwrap();
    assert!(output.joined_text().contains("cancel"), "{}", output.joined_text());

    let server = FakeMcp::start(Options::speaking(&["2026-07-28"])).await;
    let bench = self::bench(&server, false).await;
    let error = bench.call("up__test_elicitation", r#"{"message":"Who?"}"#).await.unwrap_err();
    assert!(matches!(error.code, Code::ApprovalUnavailable | Code::ToolFailed), "{error:?}");
}
