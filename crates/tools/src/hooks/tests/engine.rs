//! Tests of hooks that are programs, in calls through the engine.

use std::fs;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolway_core::{
    CallRequest, Caller, Engine, EngineParts, HookEntry, HookErrorAction, RawArguments, Registry,
    SourceRetention, ToolBuilder,
};
use toolway_types::{RawJson, ResultEnvelope, SystemClock, ToolOutput};

use crate::hooks::testing::HookHarness;

#[derive(Deserialize, schemars::JsonSchema)]
struct SayArguments {
    words: String,
}

/// Calls a tool that echoes words, and returns the envelope.
async fn call(hooks: Vec<HookEntry>, arguments: Value) -> Value {
    let registry = Registry::new();
    let lease = registry.lease("test".parse().unwrap(), SourceRetention::Nothing);
    let say = ToolBuilder::new("say", "Says words")
        .build(|say: SayArguments, _| async move { Ok(ToolOutput::text(say.words)) });
    lease.replace(vec![say.unwrap()]);
    let engine = Engine::new(EngineParts::new(registry, Arc::new(SystemClock)));
    engine.set_hooks(hooks);
    let arguments = RawArguments::Json(RawJson::from(&arguments));
    let finished = engine.call(CallRequest::new("test__say", arguments, Caller::local_owner())).await;
    json!(ResultEnvelope(&finished.outcome))
}

/// Removes a word from the arguments, and another from the result.
const CENSOR: &str = r#"read -r question
case "$question" in
  *'"stage":"before"'*) echo '{"decision":"modify","arguments":{"words":"b and c"}}' ;;
  *'"result":"b and c"'*) echo '{"decision":"replace","result":"b"}' ;;
  *) exit 1 ;;
esac"#;

#[tokio::test]
async fn a_hook_changes_arguments_and_result() {
    let place = HookHarness::new();
    let told = call(vec![place.script(CENSOR)], json!({ "words": "a" })).await;
    assert_eq!(told, json!({ "status": "success", "result": "b" }));
}

#[tokio::test]
async fn modified_arguments_are_validated() {
    let place = HookHarness::new();
    let mut hook = place.script(r#"echo '{"decision":"modify","arguments":{"words":5}}'"#);
    hook.runs_after = false;
    assert_eq!(call(vec![hook], json!({ "words": "a" })).await["code"], "invalid_arguments");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_hook_past_its_timeout_is_killed_and_the_configured_failure_mode_applies_e7() {
    for (on_failure, status) in
        [(HookErrorAction::FailOpen, "success"), (HookErrorAction::FailClosed, "error")]
    {
        let place = HookHarness::new();
        let mut hook = place.script("sleep 300 & echo $! > child; wait");
        (hook.timeout, hook.on_error, hook.runs_after) =
            (std::time::Duration::from_secs(1), on_failure, false);
        let told = call(vec![hook], json!({ "words": "a" })).await;
        assert_eq!(told["status"], status, "{told}");
        if on_failure == HookErrorAction::FailClosed {
            assert_eq!(told["code"], "hook_cancelled");
            assert!(told["message"].as_str().unwrap().contains("timed out after 1000 ms"), "{told}");
        }
        if let Ok(child) = fs::read_to_string(place.at("child")) {
            super::gone(child.trim()).await;
        }
    }
}
