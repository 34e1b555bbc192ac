//! Command tools as a device offers them. How commands run is tested where that is (`toolway-command`).

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolway_device::{CancellationToken, Code, RawJson, Tool, ToolError};
use toolway_host::commands::{self, CommandEnv};

/// One command, written as TOML without the parts that every one has.
fn command(folder: &TempDir, toml: &str) -> Tool {
    let environment = [("PATH", "/usr/bin:/bin")];
    let env = CommandEnv {
        environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
        base_dir: folder.path().to_owned(),
    };
    let text = format!("[[tool]]\nname = \"it\"\ndescription = \"\"\n{toml}");
    commands::load(&text, &env).unwrap().remove(0)
}

/// A command that nobody ends.
fn sleeper(folder: &TempDir, more: &str) -> Tool {
    command(folder, &format!("program = \"sleep\"\nargs = [\"300\"]\n{more}\n"))
}

async fn run(tool: &Tool, args: Value) -> Result<Value, ToolError> {
    let output = tool.run_local(&args, CancellationToken::new(), Some(Duration::from_secs(60))).await?;
    Ok(output.structured.as_ref().map(RawJson::to_value).unwrap())
}

#[tokio::test]
async fn the_result_tells_exit_code_output_and_complaints() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(&folder, "program = \"sh\"\nargs = [\"-c\", \"echo out; echo err >&2\"]\n");
    let told = run(&tool, json!({})).await.unwrap();
    assert_eq!(told, json!({ "exit_code": 0, "stdout": "out\n", "stderr": "err\n" }));
}

#[tokio::test]
async fn arguments_are_checked_before_anything_runs() {
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
async fn a_gateway_that_tells_no_time_leaves_it_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeper(&folder, "timeout_s = 0.2");
    let result = tool.run_local(&json!({}), CancellationToken::new(), None).await;
    assert_eq!(result.unwrap_err().message, "it: it was cancelled");
}

#[test]
fn the_example_of_the_documentation_can_be_read() {
    let text = include_str!("../../../../docs/devices.md");
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.path().join("journalctl")).unwrap();
    let environment = [("PATH".into(), folder.path().into())].into();
    let env = CommandEnv { environment, base_dir: folder.path().to_owned() };
    assert_eq!(commands::load(example, &env).unwrap()[0].name(), "journal");
}
