//! Command tools with real programs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolway_device::{CancellationToken, Code, RawJson, Tool, ToolError};
use toolway_host::commands::{self, Surroundings};

/// One command, written as TOML without the parts that every one has.
fn command(folder: &TempDir, toml: &str) -> Tool {
    let environment = [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("SECRET", "hidden")];
    let surroundings = Surroundings {
        environment: environment.map(|(name, value)| (name.into(), value.into())).into(),
        folder: folder.path().to_owned(),
    };
    let text = format!("[[tool]]\nname = \"it\"\ndescription = \"\"\n{toml}");
    commands::load(&text, &surroundings).unwrap().remove(0)
}

async fn run(tool: &Tool, args: Value) -> Result<Value, ToolError> {
    let output = tool.run_here(&args, CancellationToken::new(), Some(Duration::from_secs(60))).await?;
    Ok(output.structured.as_ref().map(RawJson::to_value).unwrap())
}

/// Waits until a file has something in it, for as long as a slow machine may take.
async fn content(path: &Path) -> String {
    for _ in 0..2000 {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} stayed empty", path.display());
}

/// Waits until a process is gone. One that is dead but not yet reaped by its new parent counts as gone.
async fn gone(pid: &str) {
    for _ in 0..2000 {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = state.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {pid} lives on");
}

/// A program that starts a child, notes both pids and sleeps on.
fn sleeper(folder: &TempDir, more: &str) -> Tool {
    let script = "echo $$ > parent; (echo $BASHPID > child.new; mv child.new child; exec sleep 300) & wait";
    command(
        folder,
        &format!("program = \"/bin/bash\"\nargs = [\"-c\", '{script}']\nenv = [\"PATH\"]\n{more}\n"),
    )
}

#[tokio::test]
async fn text_comes_back_with_exit_code_and_complaints_apart() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(&folder, "program = \"sh\"\nargs = [\"-c\", \"echo out; echo err >&2\"]\n");
    let told = run(&tool, json!({})).await.unwrap();
    assert_eq!(told, json!({ "exit_code": 0, "stdout": "out\n", "stderr": "err\n" }));
}

#[tokio::test]
async fn e5_a_value_stays_one_element_and_starts_nothing() {
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
    for bad in [json!({ "a": 5 }), json!({ "b": "x" })] {
        assert_eq!(run(&tool, bad).await.unwrap_err().code, Code::InvalidArguments);
    }
}

#[tokio::test]
async fn the_environment_is_empty_but_for_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let bare = command(&folder, "program = \"env\"\n");
    assert_eq!(run(&bare, json!({})).await.unwrap()["stdout"], "");
    let some = command(
        &folder,
        "program = \"env\"\nenv = [\"LANG\", \"NOT_SET\"]\nenv_set = { TZ = \"UTC\", LANG = \"C\" }\n",
    );
    let told = run(&some, json!({})).await.unwrap();
    let mut lines: Vec<_> = told["stdout"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["LANG=C", "TZ=UTC"]);
}

#[tokio::test]
async fn arguments_can_go_to_standard_input_and_json_comes_back_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let cat = command(
        &folder,
        "program = \"cat\"\ninput = \"stdin-json\"\noutput = \"json\"\nparameters = '{\"additionalProperties\":true}'\n",
    );
    let args = json!({ "text": "a\nb", "list": [1, { "k": null }] });
    assert_eq!(run(&cat, args.clone()).await.unwrap()["stdout"], args);
    // A program that does not read what it is given, more than a pipe holds, is none the worse for it.
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
async fn a_failing_command_is_an_error_with_code_and_complaint() {
    let folder = tempfile::tempdir().unwrap();
    let tool =
        command(&folder, "program = \"sh\"\nargs = [\"-c\", \"echo half; echo no such unit >&2; exit 3\"]\n");
    let error = run(&tool, json!({})).await.unwrap_err();
    assert_eq!(error.code, Code::ToolFailed);
    assert_eq!(error.message, "it: it ended with exit code 3: no such unit");
    let killed = command(&folder, "program = \"sh\"\nargs = [\"-c\", \"kill -TERM $$\"]\n");
    assert_eq!(run(&killed, json!({})).await.unwrap_err().message, "it: it was ended by signal 15");
    let silent = command(&folder, "program = \"false\"\n");
    assert_eq!(run(&silent, json!({})).await.unwrap_err().message, "it: it ended with exit code 1");
}

#[tokio::test]
async fn r19_long_outputs_are_cut_and_marked_and_hold_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let tool = command(
        &folder,
        "program = \"sh\"\nenv = [\"PATH\"]\n\
         args = [\"-c\", \"head -c 3000000 /dev/zero | tr '\\\\0' x; head -c 100000 /dev/zero | tr '\\\\0' y >&2\"]\n",
    );
    let told = run(&tool, json!({})).await.unwrap();
    let (stdout, stderr) = (told["stdout"].as_str().unwrap(), told["stderr"].as_str().unwrap());
    assert!(stdout.ends_with(&format!("x\n[{} bytes cut]", 3_000_000 - (1 << 20))), "{}", stdout.len());
    assert!(stderr.starts_with(&format!("[{} bytes cut]\ny", 100_000 - (64 << 10))), "{}", stderr.len());
}

#[tokio::test]
async fn e7_cancelling_kills_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeper(&folder, "");
    let cancel = CancellationToken::new();
    let running = {
        let (tool, cancel) = (tool.clone(), cancel.clone());
        tokio::spawn(async move { tool.run_here(&json!({}), cancel, Some(Duration::from_secs(60))).await })
    };
    let child = content(&folder.path().join("child")).await;
    let parent = content(&folder.path().join("parent")).await;
    cancel.cancel();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.message, "it: it was stopped");
    gone(&parent).await;
    gone(&child).await;
}

#[tokio::test]
async fn e7_dropping_kills_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeper(&folder, "");
    let running = tokio::spawn(async move {
        tool.run_here(&json!({}), CancellationToken::new(), Some(Duration::from_secs(60))).await
    });
    let child = content(&folder.path().join("child")).await;
    let parent = content(&folder.path().join("parent")).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    gone(&parent).await;
    gone(&child).await;
}

#[tokio::test]
async fn a_gateway_that_tells_no_time_leaves_it_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeper(&folder, "timeout_s = 0.2");
    let result = tool.run_here(&json!({}), CancellationToken::new(), None).await;
    assert_eq!(result.unwrap_err().message, "it: it was stopped");
    if let Ok(child) = fs::read_to_string(folder.path().join("child")) {
        gone(child.trim()).await;
    }
}

#[tokio::test]
async fn e7_a_grandchild_that_holds_the_pipes_holds_up_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let within = command(
        &folder,
        "program = \"/bin/bash\"\nenv = [\"PATH\"]\n\
         args = [\"-c\", \"sleep 300 & echo $! > child; echo done\"]\n",
    );
    assert_eq!(run(&within, json!({})).await.unwrap()["stdout"], "done\n");
    gone(&content(&folder.path().join("child")).await).await;
    // One that has left the group lives on, as it wants to, but the call ends all the same.
    let outside = command(
        &folder,
        "program = \"/bin/bash\"\nenv = [\"PATH\"]\n\
         args = [\"-c\", \"setsid sleep 20 & echo $! > outside; echo done\"]\n",
    );
    assert_eq!(run(&outside, json!({})).await.unwrap()["stdout"], "done\n");
    let pid: i32 = content(&folder.path().join("outside")).await.parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

#[tokio::test]
async fn it_runs_where_the_file_says() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let real = fs::canonicalize(folder.path()).unwrap();
    let here = command(&folder, "program = \"pwd\"\nargs = [\"-P\"]\n");
    assert_eq!(run(&here, json!({})).await.unwrap()["stdout"], format!("{}\n", real.display()));
    let sub = command(&folder, "program = \"pwd\"\nargs = [\"-P\"]\nworking_dir = \"sub\"\n");
    assert_eq!(run(&sub, json!({})).await.unwrap()["stdout"], format!("{}/sub\n", real.display()));
}

/// The examples of the documentation, each with a program of that name to be found.
#[test]
fn the_examples_of_the_documentation_can_be_read() {
    let source = include_str!("../../src/commands.rs").lines().filter_map(|line| line.strip_prefix("//!"));
    let source: Vec<_> = source.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    for text in [include_str!("../../../../docs/devices.md").to_owned(), source.join("\n")] {
        let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/true", folder.path().join("journalctl")).unwrap();
        let environment = [("PATH".into(), folder.path().into())].into();
        let surroundings = Surroundings { environment, folder: folder.path().to_owned() };
        let tools = commands::load(example, &surroundings).unwrap();
        assert_eq!(tools[0].name(), "journal");
    }
}
