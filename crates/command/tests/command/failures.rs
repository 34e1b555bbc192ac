//! Tests of output that reports a failure (pitfall E4).

use std::fs;

use serde_json::{Value, json};
use toolway_types::Code;

use crate::fixtures::{command, run};

#[tokio::test]
async fn a_failing_command_is_an_error_with_code_and_complaint() {
    let folder = tempfile::tempdir().unwrap();
    let tool =
        command(&folder, "program = \"sh\"\nargs = [\"-c\", \"echo half; echo no such unit >&2; exit 3\"]\n");
    let error = run(&tool, json!({})).await.unwrap_err();
    assert_eq!(error.code, Code::ToolFailed);
    assert_eq!(error.message, "it: it failed with exit code 3: no such unit");
    let killed = command(&folder, "program = \"sh\"\nargs = [\"-c\", \"kill -TERM $$\"]\n");
    assert_eq!(run(&killed, json!({})).await.unwrap_err().message, "it: it was terminated by signal 15");
    let silent = command(&folder, "program = \"false\"\n");
    assert_eq!(run(&silent, json!({})).await.unwrap_err().message, "it: it failed with exit code 1");
}

/// Covers error reports as scripts write them, and similar output that is not a failure.
#[tokio::test]
async fn script_output_with_an_error_member_is_a_failure_e4() {
    let folder = tempfile::tempdir().unwrap();
    let says = |output: &str, code: i32, form: &str| {
        let script = format!("echo complaint >&2; cat <<E\n{output}\nE\nexit {code}");
        fs::write(folder.path().join("script"), script).unwrap();
        command(
            &folder,
            &format!(
                "program = \"sh\"\nargs = [\"script\"]\npass_env = [\"PATH\"]\noutput = \"{form}\"\ncwd = \"{}\"\n",
                folder.path().display()
            ),
        )
    };
    for (output, code, message) in [
        (r#"{"error":"no such city"}"#, 0, "it: no such city"),
        (r#"{"error":"no such city"}"#, 2, "it: no such city"),
        (r#"{"ok":1,"error":"no such city","data":[]}"#, 0, "it: no such city"),
        (r#"{"error":{"message":"no such city","at":3}}"#, 0, "it: no such city"),
        (r#"{"error":{"at":3}}"#, 0, r#"it: {"at":3}"#),
        (r#"{"error":true}"#, 0, "it: true"),
        (r#"{"error":17}"#, 0, "it: 17"),
        (r#"{"error":["a","b"]}"#, 0, r#"it: ["a","b"]"#),
        (r#"{"error":null}"#, 3, "it: it failed with exit code 3: complaint"),
        (r#"{"a":1}"#, 3, "it: it failed with exit code 3: complaint"),
        ("not json", 3, "it: it failed with exit code 3: complaint"),
        ("not json", 0, "it: its output is not JSON: expected ident at line 1 column 2"),
    ] {
        let error = run(&says(output, code, "json"), json!({})).await.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (Code::ToolFailed, message), "{output}");
    }
    for output in [
        r#"{"error":null}"#,
        r#"{"error":false,"data":1}"#,
        r#"{"error":""}"#,
        r#"{"error":0}"#,
        r#"{"error":[]}"#,
        r#"{"error":{}}"#,
        r#"{"errors":"not a member error"}"#,
        r#"{"inner":{"error":"of one of many"}}"#,
        r#"["error"]"#,
        r#""error""#,
    ] {
        let told = run(&says(output, 0, "json"), json!({})).await.unwrap();
        assert_eq!(told["stdout"], serde_json::from_str::<Value>(output).unwrap(), "{output}");
    }
    // Text output is not searched for errors.
    let text = r#"{"error":"no such city"}"#;
    assert_eq!(run(&says(text, 0, "text"), json!({})).await.unwrap()["stdout"], format!("{text}\n"));
    let coded = r#"{"error":{"message":"no such file","code":"file_not_found","hint":"list them first"}}"#;
    let error = run(&says(coded, 1, "json"), json!({})).await.unwrap_err();
    assert_eq!(error.code, Code::FileNotFound);
    assert_eq!(error.hint.as_deref(), Some("list them first"));
    // A program cannot use codes that are reserved for the gateway.
    let coded = r#"{"error":{"message":"x","code":"hook_cancelled"}}"#;
    assert_eq!(run(&says(coded, 1, "json"), json!({})).await.unwrap_err().code, Code::ToolFailed);
}
