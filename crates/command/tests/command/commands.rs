//! Tests of a command's input and output.

use std::fs;

use serde_json::json;
use toolway_command::CommandEnv;
use toolway_types::Code;

use crate::fixtures::{command, prepare_all, run};

#[tokio::test]
async fn the_result_has_exit_code_stdout_and_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(&folder, "program = \"sh\"\nargs = [\"-c\", \"echo out; echo err >&2\"]\n");
    let told = run(&tool, json!({})).await.unwrap();
    assert_eq!(told, json!({ "exit_code": 0, "stdout": "out\n", "stderr": "err\n" }));
}

#[tokio::test]
async fn an_argument_value_stays_one_argv_element_and_runs_no_shell_e5() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(
        &folder,
        "program = \"printf\"\nargs = [\"[%s]\", \"{a}\", \"--n={n}\"]\n\
         parameters = { properties = { a = { type = \"string\" }, n = { type = \"integer\" } } }\n",
    );
    for value in
        ["; rm -rf ~", "$(touch x) `touch x` && touch x | touch x > x", "a\nb\t\"'\\", "-n", "--help", "*"]
    {
        let told = run(&tool, json!({ "a": value, "n": 3 })).await.unwrap();
        assert_eq!(told["stdout"], format!("[{value}][--n=3]"));
    }
    assert_eq!(run(&tool, json!({ "n": 3 })).await.unwrap()["stdout"], "[--n=3]");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    assert_eq!(run(&tool, json!({ "a": "x\0y" })).await.unwrap_err().code, Code::InvalidArguments);
}

#[tokio::test]
async fn the_environment_has_only_listed_variables() {
    let folder = tempfile::tempdir().unwrap();
    let bare = command(&folder, "program = \"env\"\n");
    assert_eq!(run(&bare, json!({})).await.unwrap()["stdout"], "");
    let some = command(
        &folder,
        "program = \"env\"\npass_env = [\"LANG\", \"NOT_SET\"]\nset_env = { TZ = \"UTC\", LANG = \"C\" }\n",
    );
    let told = run(&some, json!({})).await.unwrap();
    let mut lines: Vec<_> = told["stdout"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["LANG=C", "TZ=UTC"]);
}

#[tokio::test]
async fn json_can_be_passed_on_standard_input_and_parsed_from_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let cat = command(
        &folder,
        "program = \"cat\"\ninput = \"stdin-json\"\noutput = \"json\"\nparameters = '{\"additionalProperties\":true}'\n",
    );
    let args = json!({ "text": "a\nb", "list": [1, { "k": null }] });
    assert_eq!(run(&cat, args.clone()).await.unwrap()["stdout"], args);
    // A program that does not read its input, larger than a pipe's buffer, still succeeds.
    let deaf = command(
        &folder,
        "program = \"true\"\ninput = \"stdin-json\"\nparameters = { properties = { text = {} } }\n",
    );
    assert_eq!(run(&deaf, json!({ "text": "x".repeat(300_000) })).await.unwrap()["exit_code"], 0);
    let broken = command(&folder, "program = \"echo\"\nargs = [\"{{\"]\noutput = \"json\"\n");
    let error = run(&broken, json!({})).await.unwrap_err();
    assert!(error.message.contains("its output is not JSON"), "{error}");
}

#[tokio::test]
async fn long_program_outputs_are_truncated_and_marked_without_delay_r19() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(
        &folder,
        "program = \"sh\"\npass_env = [\"PATH\"]\n\
         args = [\"-c\", \"head -c 3000000 /dev/zero | tr '\\\\0' x; head -c 100000 /dev/zero | tr '\\\\0' y >&2\"]\n",
    );
    let told = run(&tool, json!({})).await.unwrap();
    let (stdout, stderr) = (told["stdout"].as_str().unwrap(), told["stderr"].as_str().unwrap());
    assert!(stdout.ends_with(&format!("x\n[{} bytes cut]", 3_000_000 - (1 << 20))), "{}", stdout.len());
    assert!(stderr.starts_with(&format!("[{} bytes cut]\ny", 100_000 - (64 << 10))), "{}", stderr.len());
}

#[tokio::test]
async fn the_program_runs_in_the_configured_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    let here = command(&folder, "program = \"pwd\"\nargs = [\"-P\"]\n");
    assert_eq!(run(&here, json!({})).await.unwrap()["stdout"], format!("{}\n", real.display()));
    let sub = command(&folder, "program = \"pwd\"\nargs = [\"-P\"]\ncwd = \"sub\"\n");
    assert_eq!(run(&sub, json!({})).await.unwrap()["stdout"], format!("{}/sub\n", real.display()));
}

#[tokio::test]
async fn arguments_that_are_too_long_fail_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(
        &folder,
        "program = \"echo\"\nargs = [\"{a}\"]\nparameters = { properties = { a = { type = \"string\" } } }\n",
    );
    let error = run(&tool, json!({ "a": "x".repeat(4 << 20) })).await.unwrap_err();
    assert_eq!(error.code, Code::ToolFailed);
    assert!(error.message.contains("cannot start /usr/bin/echo: Argument list too long"), "{error}");
    assert!(error.hint.unwrap().contains("stdin-json"));
}

#[test]
fn annotations_and_permissions_are_in_the_spec() {
    let folder = tempfile::tempdir().unwrap();
    let env =
        CommandEnv { environment: [("PATH".into(), "/bin".into())].into(), base_dir: folder.path().into() };
    let spec = |more: &str| {
        let text = format!("[[tool]]\nname = \"a\"\ndescription = \"b\"\nprogram = \"true\"\n{more}\n");
        serde_json::to_value(prepare_all(&text, &env).remove(0).spec).unwrap()
    };
    let plain = spec("");
    assert_eq!((plain.get("annotations"), plain.get("permissions")), (None, None));
    let told =
        spec("read_only = true\ndestructive = false\nopen_world = true\npermissions = [\"files.write\"]");
    let hints = json!({ "readOnlyHint": true, "destructiveHint": false, "openWorldHint": true });
    assert_eq!(told["annotations"], hints);
    assert_eq!(told["permissions"], json!(["files.write"]));
}

#[test]
fn the_example_of_the_documentation_can_be_read() {
    let source = include_str!("../../src/lib.rs").lines().filter_map(|line| line.strip_prefix("//!"));
    let source: Vec<_> = source.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let text = source.join("\n");
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", folder.path().join("journalctl")).unwrap();
    let environment = [("PATH".into(), folder.path().into())].into();
    let env = CommandEnv { environment, base_dir: folder.path().to_owned() };
    assert_eq!(prepare_all(example, &env)[0].spec.name, "journal");
}
