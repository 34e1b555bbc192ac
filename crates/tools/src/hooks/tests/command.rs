//! Tests of hooks that are programs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_core::{AfterCallDecision, BeforeCallDecision, HookError, RawArguments};
use toolway_types::{Code, Outcome, ToolError, ToolOutput};

use super::expected_request_before;
use crate::hooks::testing::{HookHarness, another_call, call};

async fn before(script: &str) -> Result<BeforeCallDecision, HookError> {
    HookHarness::new().script(script).hook.before_call(&call()).await
}

#[track_caller]
fn faulty<T: std::fmt::Debug>(result: Result<T, HookError>) -> String {
    result.unwrap_err().0
}

#[tokio::test]
async fn a_program_receives_only_the_request() {
    let place = HookHarness::new();
    let entry = place.script("cat > question; pwd -P > where; echo \"$@\" > args; env > env");
    assert!(matches!(entry.hook.before_call(&call()).await, Ok(BeforeCallDecision::Continue)));
    let read = |name: &str| fs::read_to_string(place.at(name)).unwrap();
    let question = read("question");
    assert!(question.ends_with("}\n"));
    assert_eq!(serde_json::from_str::<Value>(&question).unwrap(), expected_request_before());
    assert_eq!(read("where").trim(), fs::canonicalize(place.at("")).unwrap().to_str().unwrap());
    assert_eq!(read("args"), "one\n");
    let mut env: Vec<_> =
        read("env").lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
    // Variables set by the shell itself.
    env.retain(|name| !matches!(name.as_str(), "PWD" | "SHLVL" | "_" | "OLDPWD"));
    env.sort();
    assert_eq!(env, ["MINE", "OURS", "PATH"]);
    let outcome = Outcome::Success(ToolOutput::text("done"));
    assert!(matches!(entry.hook.after_call(&call(), &outcome).await, Ok(AfterCallDecision::Keep)));
    let question: Value = serde_json::from_str(&read("question")).unwrap();
    assert_eq!((&question["stage"], &question["outcome"]["result"]), (&json!("after"), &json!("done")));
}

#[tokio::test]
async fn a_program_can_modify_and_cancel_calls() {
    match before(r#"echo '{"decision":"modify","arguments":{"flash":false}}'"#).await {
        Ok(BeforeCallDecision::Modify(RawArguments::Json(raw))) => {
            assert_eq!(raw.get(), r#"{"flash":false}"#)
        }
        other => panic!("{other:?}"),
    }
    match before(r#"echo '{"decision":"cancel","reason":"no photographs here"}'"#).await {
        Ok(BeforeCallDecision::Cancel { reason }) => assert_eq!(reason, "no photographs here"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        before(r#"echo '{"decision":"continue"}'; echo noise >&2"#).await,
        Ok(BeforeCallDecision::Continue)
    ));
}

#[tokio::test]
async fn a_program_can_replace_an_output_or_an_error() {
    let place = HookHarness::new();
    let entry = place.script(r#"echo '{"decision":"replace","result":{"seen":true}}'"#);
    for outcome in [
        Outcome::Success(ToolOutput::text("a")),
        Outcome::Error(ToolError::new(Code::ToolFailed, "it broke")),
    ] {
        match entry.hook.after_call(&call(), &outcome).await {
            Ok(AfterCallDecision::Replace(output)) => {
                assert_eq!(output.structured.unwrap().get(), r#"{"seen":true}"#)
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_failing_program_is_an_error_with_the_start_of_stderr() {
    let fault = faulty(before("echo '{\"decision\":\"continue\"}'; echo 'no such list' >&2; exit 3").await);
    assert_eq!(fault, "it failed with exit code 3: no such list");
    assert_eq!(faulty(before("exit 1").await), "it failed with exit code 1");
    assert_eq!(faulty(before("kill -KILL $$").await), "it was terminated by signal 9");
    let fault = faulty(before("echo first >&2; head -c 20000 /dev/zero | tr '\\0' x >&2; exit 1").await);
    assert!(fault.starts_with("it failed with exit code 1: first xxx") && fault.ends_with('…'), "{fault}");
    assert!(fault.len() < 600, "{}", fault.len());
    let fault = faulty(before("printf 'a\\033[31mb\\r\\nerror: c' >&2; exit 1").await);
    assert_eq!(fault, "it failed with exit code 1: a\\u{1b}[31mb error: c");
    let fault = faulty(before("echo perhaps").await);
    assert!(fault.starts_with("its response is not a decision: "), "{fault}");
    let fault = faulty(before("head -c 17000000 /dev/zero | tr '\\0' ' '").await);
    assert_eq!(fault, "its response is longer than 16777216 bytes");
}

/// The program was removed after the settings were read.
#[tokio::test]
async fn a_removed_program_is_an_error() {
    let place = HookHarness::new();
    let program = place.at("program");
    fs::copy("/bin/true", &program).unwrap();
    let entry = place.hook(&format!(
        "name = 'it'\nkind = 'command'\non_failure = 'open'\nprogram = '{}'\n",
        program.display()
    ));
    fs::remove_file(&program).unwrap();
    let fault = faulty(entry.hook.before_call(&call()).await);
    assert!(fault.contains("cannot start "), "{fault}");
}

/// A program may ignore its request, however long it is.
#[tokio::test]
async fn a_program_may_ignore_its_request() {
    let mut call = another_call();
    let arguments = json!({ "text": "x".repeat(1 << 20) });
    call.arguments =
        toolway_core::Arguments::parse(RawArguments::from(arguments.as_object().unwrap().clone())).unwrap();
    let place = HookHarness::new();
    let entry = place.script("exit 0");
    assert!(matches!(entry.hook.before_call(&call).await, Ok(BeforeCallDecision::Continue)));
}

async fn content(path: &Path) -> String {
    for _ in 0..2000 {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} stayed empty", path.display());
}

/// The engine drops a request on timeout.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_a_hook_request_kills_the_program_and_its_children_e7() {
    let place = HookHarness::new();
    let entry = place.script("sleep 300 & echo $! > child.new; mv child.new child; wait");
    let asking = tokio::spawn(async move { entry.hook.before_call(&call()).await });
    let child = content(&place.at("child")).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    super::gone(&child).await;
}
