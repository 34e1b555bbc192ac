//! Hooks that are programs, in the path of a call.

use std::fs;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use toolway_core::{
    Call, Caller, Engine, EngineParts, HookEntry, Keep, OnFault, RawArguments, Registry, function,
};
use toolway_types::{Envelope, RawJson, SpecDocument, SystemClock, ToolOutput};

use crate::hooks::testing::Place;

#[derive(Deserialize, schemars::JsonSchema)]
struct Say {
    words: String,
}

/// The envelope of a call of a tool that says words again.
async fn call(hooks: Vec<HookEntry>, arguments: Value) -> Value {
    let registry = Registry::new();
    let lease = registry.lease("test".parse().unwrap(), Keep::Nothing);
    let say =
        function(SpecDocument::named("say"), |say: Say, _| async move { Ok(ToolOutput::text(say.words)) });
    lease.replace(vec![say.unwrap()]);
    let engine = Engine::new(EngineParts::new(registry, Arc::new(SystemClock)));
    engine.set_hooks(hooks);
    let arguments = RawArguments::Json(RawJson::from(&arguments));
    let finished = engine.call(Call::new("test__say", arguments, Caller::local_owner())).await;
    json!(Envelope(&finished.outcome))
}

/// Takes a word out of what goes in, and another out of what comes back.
const CENSOR: &str = r#"read -r question
case "$question" in
  *'"stage":"before"'*) echo '{"decision":"modify","arguments":{"words":"b and c"}}' ;;
  *'"result":"b and c"'*) echo '{"decision":"replace","result":"b"}' ;;
  *) exit 1 ;;
esac"#;

#[tokio::test]
async fn it_changes_what_goes_in_and_what_comes_back() {
    let place = Place::new();
    let told = call(vec![place.script(CENSOR)], json!({ "words": "a" })).await;
    assert_eq!(told, json!({ "status": "success", "result": "b" }));
}

#[tokio::test]
async fn what_it_makes_of_the_arguments_is_checked() {
    let place = Place::new();
    let mut hook = place.script(r#"echo '{"decision":"modify","arguments":{"words":5}}'"#);
    hook.after = false;
    assert_eq!(call(vec![hook], json!({ "words": "a" })).await["code"], "invalid_arguments");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn e7_a_hook_whose_time_is_over_is_killed_and_its_call_ends_as_the_owner_said() {
    for (on_fault, status) in [(OnFault::Open, "success"), (OnFault::Closed, "error")] {
        let place = Place::new();
        let mut hook = place.script("sleep 300 & echo $! > child; wait");
        (hook.timeout, hook.on_fault, hook.after) = (std::time::Duration::from_secs(1), on_fault, false);
        let told = call(vec![hook], json!({ "words": "a" })).await;
        assert_eq!(told["status"], status, "{told}");
        if on_fault == OnFault::Closed {
            assert_eq!(told["code"], "hook_cancelled");
            assert!(told["message"].as_str().unwrap().contains("did not answer within 1000 ms"), "{told}");
        }
        if let Ok(child) = fs::read_to_string(place.at("child")) {
            super::gone(child.trim()).await;
        }
    }
}
