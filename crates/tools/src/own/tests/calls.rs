//! Tests of calls of owner-defined commands through the engine.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolway_core::{CallRequest, Caller, RawArguments};
use toolway_types::ResultEnvelope;

use crate::own::testing::{OwnToolHarness, command, content, gone};

/// A tool that runs a script.
fn shell(place: &OwnToolHarness, script: &str, more: &str) -> String {
    let path = place.script("script", script);
    command("it", &format!("program = 'bash'\nargs = ['{}']\npass_env = ['PATH']\n{more}", path.display()))
}

#[tokio::test]
async fn a_command_runs_in_its_folder_with_only_its_arguments() {
    let mut place = OwnToolHarness::new();
    place.define("a.toml", &command("where_it_is", "program = 'pwd'\nargs = ['-P']"));
    place.define("b.toml", &command("what_it_has", "program = 'env'\npass_env = ['LANG']"));
    place.list("c.toml", &command("elsewhere", "program = 'pwd'\nargs = ['-P']"));
    let calls = place.engine();
    let run = fs::canonicalize(&place.sources.working_dir).unwrap();
    let told = calls.call("where_it_is", json!({})).await;
    let result = json!({ "exit_code": 0, "stdout": format!("{}\n", run.display()), "stderr": "" });
    assert_eq!(told, json!({ "status": "success", "result": result }));
    assert_eq!(calls.call("what_it_has", json!({})).await["result"]["stdout"], "LANG=C.UTF-8\n");
    let elsewhere = fs::canonicalize(place.at("elsewhere")).unwrap();
    let told = calls.call("elsewhere", json!({})).await;
    assert_eq!(told["result"]["stdout"], format!("{}\n", elsewhere.display()));
}

#[tokio::test]
async fn a_failure_reported_by_a_script_fails_the_call_e4() {
    for (script, output, message) in [
        ("echo half; echo no such unit >&2; exit 3", "text", "it: it failed with exit code 3: no such unit"),
        ("kill -TERM $$", "text", "it: it was terminated by signal 15"),
        (r#"echo '{"error":"no such city"}'"#, "json", "it: no such city"),
        (r#"echo '{"error":"no such city","cities":[]}'"#, "json", "it: no such city"),
        (r#"echo '{"error":{"message":"no such city"}}'; exit 1"#, "json", "it: no such city"),
        ("echo oops", "json", "it: its output is not JSON: expected value at line 1 column 1"),
    ] {
        let place = OwnToolHarness::new();
        place.define("a.toml", &shell(&place, script, &format!("output = '{output}'")));
        let told = place.engine().call("it", json!({})).await;
        let expected = json!({
            "status": "error", "error_type": "execution_error", "code": "tool_failed",
            "message": message, "dispatched": true, "retryable": false,
        });
        assert_eq!(told, expected, "{script}");
    }
    let place = OwnToolHarness::new();
    place.define("a.toml", &shell(&place, r#"echo '{"error":null,"data":[1]}'"#, "output = 'json'"));
    let told = place.engine().call("it", json!({})).await;
    assert_eq!(told["result"]["stdout"], json!({ "error": null, "data": [1] }), "{told}");
}

#[tokio::test]
async fn argument_values_with_shell_syntax_are_passed_as_plain_text_e5() {
    let place = OwnToolHarness::new();
    let parameters = "parameters = { properties = { a = { type = 'string' }, b = { type = 'array' } } }";
    place.define(
        "a.toml",
        &command("it", &format!("program = 'printf'\nargs = ['[%s]', '{{a}}', 'x={{b}}']\n{parameters}")),
    );
    let calls = place.engine();
    for value in [
        "ls && rm -rf .",
        "; touch made",
        "$(touch made) `touch made` ${HOME} | tee made > made < made &",
        "a\nb\r\n\t\"'\\ *?[a-z]~!#",
        "%s%n\\x41",
        "--help",
        "{a}{b}{{",
    ] {
        let told = calls.call("it", json!({ "a": value, "b": [value] })).await;
        let list = serde_json::to_string(&[value]).unwrap();
        assert_eq!(told["result"]["stdout"], format!("[{value}][x={list}]"), "{told}");
    }
    assert_eq!(fs::read_dir(&place.sources.working_dir).unwrap().count(), 0, "nothing was made");
    for bad in [json!({ "a": 5 }), json!({ "c": "" }), json!({ "a": "x\0y" })] {
        assert_eq!(calls.call("it", bad.clone()).await["code"], "invalid_arguments", "{bad}");
    }
}

/// Children of the script: one that keeps the pipes open, and one whose parent has ended.
const FAMILY: &str = "trap '' TERM INT HUP
sleep 300 & echo $! > child.new
(sleep 300 <&- >&- 2>&- & echo $! > daemon.new)
mv daemon.new daemon; mv child.new child
wait";

async fn family(place: &OwnToolHarness) -> [String; 2] {
    let run = &place.sources.working_dir;
    [content(&run.join("daemon")).await, content(&run.join("child")).await]
}

#[tokio::test]
async fn the_deadline_kills_a_command_and_all_its_children_e7() {
    let place = OwnToolHarness::new();
    place.define("a.toml", &shell(&place, FAMILY, "timeout_s = 4"));
    let calls = place.engine();
    let calling = tokio::spawn({
        let calls = calls.clone();
        async move { calls.call("it", json!({})).await }
    });
    let family = family(&place).await;
    let told = tokio::time::timeout(Duration::from_secs(30), calling).await.unwrap().unwrap();
    assert_eq!((&told["error_type"], &told["code"]), (&json!("timeout"), &json!("timeout")), "{told}");
    for pid in &family {
        gone(pid).await;
    }
    assert_eq!(calls.engine.abandoned_runs(), 0);
}

#[tokio::test]
async fn cancelling_or_disconnecting_kills_the_command_e7() {
    for hang_up in [false, true] {
        let place = OwnToolHarness::new();
        place.define("a.toml", &shell(&place, FAMILY, "timeout_s = 300"));
        let calls = place.engine();
        let cancel = CancellationToken::new();
        let calling = tokio::spawn({
            let mut call = CallRequest::new("own__it", RawArguments::None, Caller::local_owner());
            call.cancel = Some(cancel.clone());
            async move { json!(ResultEnvelope(&calls.engine.call(call).await.outcome)) }
        });
        let family = family(&place).await;
        if hang_up {
            calling.abort();
            assert!(calling.await.unwrap_err().is_cancelled());
        } else {
            cancel.cancel();
            assert_eq!(calling.await.unwrap()["code"], "cancelled");
        }
        for pid in &family {
            gone(pid).await;
        }
    }
}

#[tokio::test]
async fn leftover_child_processes_do_not_delay_the_call_e7() {
    let place = OwnToolHarness::new();
    let script = "sleep 300 & echo $! > child; (sleep 300 <&- >&- 2>&- & echo $! > daemon); echo done";
    place.define("a.toml", &shell(&place, script, ""));
    let told = place.engine().call("it", json!({})).await;
    assert_eq!(told["result"]["stdout"], "done\n", "{told}");
    for pid in &family(&place).await {
        gone(pid).await;
    }
}

#[tokio::test]
async fn arguments_can_be_passed_on_standard_input() {
    let place = OwnToolHarness::new();
    let more = "program = 'cat'\ninput = 'stdin-json'\noutput = 'json'\nparameters = '{\"additionalProperties\":true}'";
    place.define("a.toml", &command("it", more));
    let arguments = json!({ "text": "x".repeat(1 << 18), "list": [1, { "k": null }] });
    let told = place.engine().call("it", arguments.clone()).await;
    assert_eq!(told["result"]["stdout"], arguments);
}

/// Policy and models rely on the spec.
#[test]
fn the_spec_has_the_fields_of_the_definition() {
    let place = OwnToolHarness::new();
    place.define(
        "a.toml",
        &command(
            "it",
            "title = 'It'\nprogram = 'true'\ntimeout_s = 2.5\nsequential = true\nread_only = true\n\
             destructive = false\npermissions = ['location.read']",
        ),
    );
    let loaded = place.load();
    let spec = loaded.get("it").unwrap().tool.spec().clone();
    let document: Value = serde_json::to_value(&**spec.document()).unwrap();
    assert_eq!(
        document,
        json!({
            "name": "it", "title": "It", "description": "Made for a test", "timeout_ms": 2500,
            "sequential": true, "permissions": ["location.read"],
            "annotations": { "readOnlyHint": true, "destructiveHint": false },
            "parameters": { "type": "object", "additionalProperties": false },
        })
    );
}
