//! All five adapters against the fake model servers, which refuse what the real ones refuse: the same conversation must
//! come to the same in each API.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use toolway_fake_models::{
    ApiKind, ApiQuirks, FakeModels, KEY, ResponseStep, ScriptedFailure, ScriptedFinish, ScriptedResponse,
};
use toolway_models::build_provider;
use toolway_models::config::ProviderConfig;
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{
    CollectedResponse, FinishReason, MessagePart, MessageRole, ModelError, ModelErrorKind, ModelMessage,
    ModelProvider, ModelRequest, ProviderKind, ReasoningEffort, ResponseCollector, ToolResult, ToolSet,
};
use toolway_types::{Code, ContentPart, Outcome, ToolError, ToolOutput};

use super::support::request;

/// A model of the fakes that wants to see its signatures again.
const THINKING_MODEL: &str = "fake-thinker";

fn api_kind(kind: ProviderKind) -> ApiKind {
    match kind {
        ProviderKind::Openai => ApiKind::Openai,
        ProviderKind::OpenaiResponses => ApiKind::OpenaiResponses,
        ProviderKind::Anthropic => ApiKind::Anthropic,
        ProviderKind::Gemini => ApiKind::Gemini,
        ProviderKind::Compatible => ApiKind::Compatible,
    }
}

fn adapter(fakes: &FakeModels, kind: ProviderKind) -> Arc<dyn ModelProvider> {
    let base_url = fakes.base_url(api_kind(kind)).parse().unwrap();
    let mut config = ProviderConfig::new("mine", kind, base_url).with_key(KEY, "the test");
    config.retries.initial_backoff = Duration::from_millis(1);
    config.retries.max_attempts = 2;
    config.compatibility.images = true;
    config.compatibility.stream_usage = true;
    build_provider(config, ProviderHttpClient::new(|| Err("there are no authorities here".to_owned())))
}

fn request_with(model: &str, messages: Vec<ModelMessage>) -> ModelRequest {
    let mut request = ModelRequest { model: model.into(), messages, ..request() };
    request.system = "Be short.".to_owned();
    request.options.max_output_tokens = Some(4_000);
    request
}

/// An answer as far as it came, how often it was asked for again, and what ended it.
async fn ask(
    adapter: &dyn ModelProvider,
    request: ModelRequest,
) -> (CollectedResponse, usize, Option<ModelError>) {
    let (mut collector, mut retries) = (ResponseCollector::default(), 0);
    let mut stream = adapter.stream(Arc::new(request));
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => {
                retries += usize::from(matches!(event, toolway_models::ModelEvent::Retrying { .. }));
                collector.add_event(&event);
            }
            Err(error) => return (collector.finish(), retries, Some(error)),
        }
    }
    (collector.finish(), retries, None)
}

fn outcome_of(name: &str) -> Outcome {
    match name {
        "time" => Outcome::Error(ToolError::new(Code::Timeout, "too slow")),
        _ => Outcome::Success(ToolOutput::new(
            vec![
                ContentPart::text("18 °C"),
                ContentPart::Image { data: "iVBORw0KGgo=".to_owned(), mime_type: "image/png".to_owned() },
            ],
            None,
        )),
    }
}

#[tokio::test]
async fn a_round_with_thinking_calls_pictures_and_an_error_comes_to_the_same_in_each_api() {
    for kind in ProviderKind::ALL {
        let fakes = FakeModels::start().await;
        let adapter = adapter(&fakes, kind);
        fakes.answer(
            ScriptedResponse::new()
                .thinking("The weather, and the time.")
                .text_deltas(["One ", "moment."])
                .tool_call("phone__weather", json!({"city": "Köln"}))
                .tool_call("time", json!({"zone": "UTC"}))
                .usage(120, 30),
        );
        let mut messages = vec![ModelMessage::user("What is the weather?")];
        let mut first = request_with(THINKING_MODEL, messages.clone());
        first.options.reasoning = Some(ReasoningEffort::Low);
        let (answer, _, error) = ask(&*adapter, first).await;
        assert_eq!(error, None, "{kind}");
        assert_eq!(answer.finish, Some(FinishReason::ToolCalls), "{kind}");
        assert_eq!((answer.usage.input, answer.usage.output), (Some(120), Some(30)), "{kind}");
        let texts: String = answer.parts.iter().filter_map(MessagePart::as_text).collect();
        assert_eq!(texts, "One moment.", "{kind}");
        let message = ModelMessage { role: MessageRole::Assistant, parts: answer.parts };
        let calls: Vec<_> = message.tool_calls().cloned().collect();
        let said: Vec<_> = calls
            .iter()
            .map(|call| {
                (call.name.as_str(), serde_json::from_str::<serde_json::Value>(&call.arguments).unwrap())
            })
            .collect();
        assert_eq!(
            said,
            [("phone__weather", json!({"city": "Köln"})), ("time", json!({"zone": "UTC"}))],
            "{kind}"
        );

        // What it said goes back with the results, and is taken.
        let results = calls.iter().map(|call| {
            let outcome = Arc::new(outcome_of(&call.name));
            MessagePart::ToolResult(ToolResult::new(call.id, call.name.clone(), outcome))
        });
        messages.push(message);
        messages.push(ModelMessage { role: MessageRole::Tool, parts: results.collect() });
        fakes.answer(ScriptedResponse::text("18 °C."));
        let mut second = request_with(THINKING_MODEL, messages.clone());
        second.options.reasoning = Some(ReasoningEffort::Low);
        let (answer, _, error) = ask(&*adapter, second).await;
        assert_eq!(error, None, "{kind}");
        assert_eq!(answer.finish, Some(FinishReason::Stop), "{kind}");
        let seen = fakes.requests().pop().unwrap();
        let results = seen.said.results();
        assert_eq!(results.len(), 2, "{kind}");
        assert!(results[0].text.contains("18 °C") && results[1].text.contains("too slow"), "{kind}");
        assert_eq!(results[0].name, "phone__weather", "{kind}");
        // The picture is somewhere.
        let shown: usize = seen.said.messages.iter().map(|message| message.images).sum();
        assert_eq!(shown + results[0].images, 1, "{kind}");
        // A whole new conversation over the same history with another provider is taken as well.
        for other in ProviderKind::ALL {
            let fakes = FakeModels::start().await;
            fakes.answer(ScriptedResponse::text("Hello"));
            let mut messages = messages.clone();
            messages.push(ModelMessage::assistant("18 °C."));
            messages.push(ModelMessage::user("Thanks"));
            let (_, _, error) =
                ask(&*self::adapter(&fakes, other), request_with("fake-model", messages)).await;
            assert_eq!(error, None, "from {kind} to {other}");
        }
    }
}

#[tokio::test]
async fn failures_of_every_api_have_the_same_kinds() {
    for kind in ProviderKind::ALL {
        let fakes = FakeModels::start().await;
        let adapter = adapter(&fakes, kind);
        for (answer, expected, asked) in [
            (ScriptedResponse::status(401), ModelErrorKind::Auth, 1),
            (ScriptedResponse::status(403), ModelErrorKind::Auth, 1),
            (ScriptedResponse::status(400), ModelErrorKind::InvalidRequest, 1),
            (ScriptedResponse::status(429).retry_after(0.01), ModelErrorKind::RateLimited, 2),
            (ScriptedResponse::status(500), ModelErrorKind::Overloaded, 2),
            (ScriptedResponse::status(503), ModelErrorKind::Overloaded, 2),
            (
                ScriptedResponse::from_failure(ScriptedFailure::context_too_long()),
                ModelErrorKind::ContextTooLong,
                1,
            ),
        ] {
            fakes.forget_requests();
            fakes.answers(vec![answer; asked]);
            let (_, retries, error) =
                ask(&*adapter, request_with("fake-model", vec![ModelMessage::user("Hi")])).await;
            let error = error.unwrap();
            assert_eq!((error.kind, retries), (expected, asked - 1), "{kind}: {error}");
            assert_eq!(fakes.request_count(), asked, "{kind}: {error}");
        }
        let (_, _, error) = ask(&*adapter, request_with("fake-modell", vec![ModelMessage::user("Hi")])).await;
        let error = error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::ModelNotFound, "{kind}: {error}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("fake-model")), "{kind}: {error:?}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_refused_by_every_api_and_shown_by_none() {
    for kind in ProviderKind::ALL.into_iter().filter(|kind| *kind != ProviderKind::Compatible) {
        let fakes = FakeModels::start().await;
        let base_url = fakes.base_url(api_kind(kind)).parse().unwrap();
        let config =
            ProviderConfig::new("mine", kind, base_url).with_key("sk-wrong-key-0123456789", "the test");
        let adapter = build_provider(config, ProviderHttpClient::new(|| Err("none".to_owned())));
        let (_, _, error) = ask(&*adapter, request_with("fake-model", vec![ModelMessage::user("Hi")])).await;
        let error = error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Auth, "{kind}: {error}");
        assert!(!format!("{error:?}").contains("sk-wrong-key-0123456789"), "{kind}: {error:?}");
        assert!(error.hint.unwrap().contains("the test"), "{kind}");
    }
}

#[tokio::test]
async fn a_mid_stream_error_is_an_error_in_every_api_m12() {
    for kind in ProviderKind::ALL {
        let fakes = FakeModels::start().await;
        fakes.answer(
            ScriptedResponse::new()
                .text_deltas(["Half of "])
                .then(ResponseStep::Error(ScriptedFailure::status(500))),
        );
        let (said, retries, error) =
            ask(&*adapter(&fakes, kind), request_with("fake-model", vec![ModelMessage::user("Hi")])).await;
        assert_eq!((said.finish, retries), (None, 0), "{kind}");
        assert_eq!(said.parts[0].as_text(), Some("Half of "), "{kind}");
        assert_eq!(error.map(|error| error.kind), Some(ModelErrorKind::Overloaded), "{kind}");
    }
}

#[tokio::test]
async fn the_token_limit_inside_a_call_leaves_no_complete_call_m10() {
    for kind in ProviderKind::ALL {
        let fakes = FakeModels::start().await;
        let answer = ScriptedResponse::new()
            .text_deltas(["I write."])
            .tool_call_in_fragments("files__write", ["{\"path\":", "\"/tm"]);
        fakes.answer(answer.finish(ScriptedFinish::Length));
        let (said, _, error) =
            ask(&*adapter(&fakes, kind), request_with("fake-model", vec![ModelMessage::user("Hi")])).await;
        assert_eq!(error, None, "{kind}");
        assert_ne!(said.finish, Some(FinishReason::ToolCalls), "{kind}");
        let message = ModelMessage { role: MessageRole::Assistant, parts: said.parts };
        assert!(message.tool_calls().all(|call| call.is_cut), "{kind}");
    }
}

/// Names that none of the APIs takes as they are.
const ODD_NAMES: [&str; 5] = [
    "1st",
    "take a photo",
    "ö.é",
    "phone/camera",
    "a_name_that_is_longer_than_the_sixty_four_characters_that_each_of_them_takes",
];

#[tokio::test]
async fn a_name_that_no_api_accepts_is_sent_as_an_alias_and_restored_m4() {
    for kind in ProviderKind::ALL {
        let fakes = FakeModels::start().await;
        let adapter = adapter(&fakes, kind);
        let parameters = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
        let tools = ODD_NAMES.map(|name| super::support::tool(name, parameters));
        let tools = Arc::new(ToolSet::new(tools.to_vec()));
        let ask_with = async |messages: &[ModelMessage]| {
            let request =
                ModelRequest { tools: tools.clone(), ..request_with("fake-model", messages.to_vec()) };
            let (said, _, error) = ask(&*adapter, request).await;
            assert_eq!(error, None, "{kind}");
            ModelMessage { role: MessageRole::Assistant, parts: said.parts }
        };
        let mut messages = vec![ModelMessage::user("Go.")];
        fakes.answer(ScriptedResponse::text("With what?"));
        messages.push(ask_with(&messages).await);
        messages.push(ModelMessage::user("With all of it."));
        let sent = fakes.requests().pop().unwrap().said.tools;
        assert_eq!(sent.len(), ODD_NAMES.len(), "{kind}: {sent:?}");
        for name in &sent {
            assert!(!ODD_NAMES.contains(&name.as_str()) && name.len() <= 64, "{kind}: {name}");
            let mut characters = name.chars();
            assert!(
                characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_'),
                "{name}"
            );
            assert!(characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{kind}: {name}");
        }

        // The model calls them by the names that it knows.
        let calls = sent.iter().enumerate();
        let answer =
            calls.fold(ScriptedResponse::new(), |answer, (n, name)| answer.tool_call(name, json!({"n": n})));
        fakes.answer(answer);
        let called = ask_with(&messages).await;
        let calls: Vec<_> = called.tool_calls().cloned().collect();
        let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
        let own: Vec<_> = tools.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, own, "{kind}");
        let results = calls.iter().map(|call| {
            let outcome = Arc::new(Outcome::Success(ToolOutput::text(format!("ran {}", call.arguments))));
            MessagePart::ToolResult(ToolResult::new(call.id, call.name.clone(), outcome))
        });
        let results = ModelMessage { role: MessageRole::Tool, parts: results.collect() };
        messages.extend([called, results]);

        // And reads of what it called by those names as well.
        fakes.answer(ScriptedResponse::text("All done."));
        assert_eq!(ask_with(&messages).await.text(), "All done.", "{kind}");
        let said = fakes.requests().pop().unwrap().said;
        let called: Vec<_> =
            said.messages.iter().flat_map(|message| &message.calls).map(|call| call.name.clone()).collect();
        let answered: Vec<_> = said.results().iter().map(|result| result.name.clone()).collect();
        assert_eq!((&called, &answered, &said.tools), (&sent, &sent, &sent), "{kind}");
    }
}

#[tokio::test]
async fn servers_that_call_themselves_compatible_are_understood_with_all_their_quirks() {
    for quirks in [
        ApiQuirks { no_call_ids: true, ..ApiQuirks::default() },
        ApiQuirks { no_call_index: true, ..ApiQuirks::default() },
        ApiQuirks {
            no_call_ids: true,
            no_call_index: true,
            arguments_as_object: true,
            ..ApiQuirks::default()
        },
        ApiQuirks { index_always_zero: true, ..ApiQuirks::default() },
        ApiQuirks { arguments_as_object: true, ..ApiQuirks::default() },
        ApiQuirks { finish_stop_for_calls: true, ..ApiQuirks::default() },
        ApiQuirks { thinking_field: Some("reasoning".to_owned()), ..ApiQuirks::default() },
        ApiQuirks { usage_in_each_chunk: true, no_done: true, comments: true, ..ApiQuirks::default() },
    ] {
        let fakes = FakeModels::start().await;
        fakes.quirks(quirks.clone());
        let answer = ScriptedResponse::new()
            .thinking("Two.")
            .tool_call_in_fragments("time", ["{\"zone\":", "\"UTC\"}"])
            .tool_call_in_fragments("time", ["{\"zone\":", "\"CET\"}"])
            .usage(7, 3);
        fakes.answer(answer.bytes_at_once(5));
        let adapter = adapter(&fakes, ProviderKind::Compatible);
        let (said, _, error) =
            ask(&*adapter, request_with("fake-model", vec![ModelMessage::user("Hi")])).await;
        assert_eq!(error, None, "{quirks:?}");
        assert_eq!(said.finish, Some(FinishReason::ToolCalls), "{quirks:?}");
        assert!(matches!(&said.parts[0], MessagePart::Thinking { text, .. } if text == "Two."), "{quirks:?}");
        let message = ModelMessage { role: MessageRole::Assistant, parts: said.parts };
        let arguments: Vec<_> = message
            .tool_calls()
            .map(|call| serde_json::from_str::<serde_json::Value>(&call.arguments).unwrap())
            .collect();
        assert_eq!(arguments, [json!({"zone": "UTC"}), json!({"zone": "CET"})], "{quirks:?}");
    }
}

#[tokio::test]
async fn every_api_lists_its_models() {
    let fakes = FakeModels::start().await;
    for kind in ProviderKind::ALL {
        let models = adapter(&fakes, kind).list_models().await.unwrap();
        assert!(models.iter().any(|model| model.id == "fake-model"), "{kind}: {models:?}");
    }
}
