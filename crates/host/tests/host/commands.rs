//! Tests of command tools as a device offers them. The crate `toolway-command` tests how commands run.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolway_device::{CancellationToken, Code, RawJson, Tool, ToolError};
use toolway_host::commands::{self, CommandEnv};

/// Creates a tool from TOML without the required common keys.
fn command(folder: &TempDir, toml: &str) -> Tool {
    let environment = [("PATH", "/usr/bin:/bin")];
    let env = CommandEnv {
        environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
        base_dir: folder.path().to_owned(),
    };
    let text = format!("[[tool]]\nname = \"it\"\ndescription = \"\"\n{toml}");
    commands::load(&text, &env).unwrap().remove(0)
}

/// Creates a tool whose program runs for 300 seconds.
fn sleeper(folder: &TempDir, more: &str) -> Tool {
    command(folder, &format!("program = \"sleep\"\nargs = [\"300\"]\n{more}\n"))
}

async fn run(tool: &Tool, args: Value) -> Result<Value, ToolError> {
    let output = tool.run_local(&args, CancellationToken::new(), Some(Duration::from_secs(60))).await?;
    Ok(output.structured.as_ref().map(RawJson::to_value).unwrap())
}

#[tokio::test]
async fn the_result_has_exit_code_stdout_and_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(&folder, "program = \"sh\"\nargs = [\"-c\", \"echo out; echo err >&2\"]\n");
    let told = run(&tool, json!({})).await.unwrap();
    assert_eq!(told, json!({ "exit_code": 0, "stdout": "out\n", "stderr": "err\n" }));
}

#[tokio::test]
async fn arguments_are_validated_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(
        &folder,
        "program = \"touch\"\nargs = [\"{a}\"]\nparameters = { properties = { a = { type = \"string\" } } }\n",
    );
    for bad in [json!({ "a": 5 }), json!({ "a": "x", "b": "x" })] {
        assert_eq!(run(&tool, bad).await.unwrap_err().code, Code::InvalidArguments);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    run(&tool, json!({ "a": "x" })).await.unwrap();
    assert!(folder.path().join("x").exists());
}

#[tokio::test]
async fn cancelling_kills_the_command_e7() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeper(&folder, "");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = tool.run_local(&json!({}), cancel, Some(Duration::from_secs(60))).await.unwrap_err();
    assert_eq!(error.message, "it: it was cancelled");
}

#[tokio::test]
async fn the_timeout_of_the_file_applies_if_the_gateway_sends_no_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeper(&folder, "timeout_s = 0.2");
    let result = tool.run_local(&json!({}), CancellationToken::new(), None).await;
    assert_eq!(result.unwrap_err().message, "it: it was cancelled");
}

#[test]
fn the_example_in_the_documentation_is_valid() {
    let text = include_str!("../../../../docs/devices.md");
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.path().join("journalctl")).unwrap();
    let environment = [("PATH".into(), folder.path().into())].into();
    let env = CommandEnv { environment, base_dir: folder.path().to_owned() };
    assert_eq!(commands::load(example, &env).unwrap()[0].name(), "journal");
}
