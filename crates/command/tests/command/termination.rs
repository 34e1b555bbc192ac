//! Tests of the end of a run: the whole process group ends, and in time.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use toolway_command::ToolCommand;

use crate::fixtures::{command, run};

/// Waits until a file has content. A slow machine may take long.
async fn wait_for_content(path: &Path) -> String {
    for _ in 0..2000 {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} stayed empty", path.display());
}

/// Waits until a process is gone. A zombie that its new parent has not yet reaped counts as gone.
async fn wait_until_gone(pid: &str) {
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

/// A program that starts a child, writes both pids and sleeps.
fn sleeping_command(folder: &TempDir) -> ToolCommand {
    let script = "echo $$ > parent; (echo $BASHPID > child.new; mv child.new child; exec sleep 300) & wait";
    command(folder, &format!("program = \"/bin/bash\"\nargs = [\"-c\", '{script}']\npass_env = [\"PATH\"]\n"))
}

#[tokio::test]
async fn cancelling_kills_the_whole_process_group_e7() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeping_command(&folder);
    let (cancel, cancelled) = oneshot::channel::<()>();
    let running = tokio::spawn(async move {
        let unwanted = async {
            let _ = cancelled.await;
        };
        tool.run(json!({}).as_object().unwrap(), unwanted).await
    });
    let child = wait_for_content(&folder.path().join("child")).await;
    let parent = wait_for_content(&folder.path().join("parent")).await;
    cancel.send(()).unwrap();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.message, "it: it was cancelled");
    wait_until_gone(&parent).await;
    wait_until_gone(&child).await;
}

#[tokio::test]
async fn dropping_the_future_kills_the_whole_process_group_e7() {
    let folder = tempfile::tempdir().unwrap();
    let tool = sleeping_command(&folder);
    let running = tokio::spawn(async move { run(&tool, json!({})).await });
    let child = wait_for_content(&folder.path().join("child")).await;
    let parent = wait_for_content(&folder.path().join("parent")).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    wait_until_gone(&parent).await;
    wait_until_gone(&child).await;
}

/// The program ignores SIGTERM, and its children keep its pipes open.
#[tokio::test]
async fn the_deadline_ends_a_program_that_ignores_signals_e7() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap \"\" TERM INT HUP; sleep 300 & echo $! > child; while :; do sleep 1; done";
    let tool = command(
        &folder,
        &format!("program = \"/bin/bash\"\nargs = [\"-c\", '{script}']\npass_env = [\"PATH\"]\n"),
    );
    let started = Instant::now();
    let error =
        tool.run(json!({}).as_object().unwrap(), sleep(Duration::from_millis(700))).await.unwrap_err();
    assert_eq!(error.message, "it: it was cancelled");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    if let Ok(child) = fs::read_to_string(folder.path().join("child")) {
        wait_until_gone(child.trim()).await;
    }
}

/// The grandchild's parent has ended: the grandchild belongs to process 1 and to the group.
#[tokio::test]
async fn a_daemonized_grandchild_is_killed_with_its_process_group_e7() {
    let folder = tempfile::tempdir().unwrap();
    let script = "(sleep 300 <&- >&- 2>&- & echo $! > daemon); echo done";
    let tool = command(
        &folder,
        &format!("program = \"/bin/bash\"\nargs = [\"-c\", '{script}']\npass_env = [\"PATH\"]\n"),
    );
    assert_eq!(run(&tool, json!({})).await.unwrap()["stdout"], "done\n");
    wait_until_gone(&wait_for_content(&folder.path().join("daemon")).await).await;
}

#[tokio::test]
async fn a_grandchild_that_keeps_the_pipes_open_delays_nothing_e7() {
    let folder = tempfile::tempdir().unwrap();
    let within = command(
        &folder,
        "program = \"/bin/bash\"\npass_env = [\"PATH\"]\n\
         args = [\"-c\", \"sleep 300 & echo $! > child; echo done\"]\n",
    );
    assert_eq!(run(&within, json!({})).await.unwrap()["stdout"], "done\n");
    wait_until_gone(&wait_for_content(&folder.path().join("child")).await).await;
    // A process that left the group survives, but the call ends.
    let outside = command(
        &folder,
        "program = \"/bin/bash\"\npass_env = [\"PATH\"]\n\
         args = [\"-c\", \"setsid sleep 20 & echo $! > outside; echo done\"]\n",
    );
    assert_eq!(run(&outside, json!({})).await.unwrap()["stdout"], "done\n");
    let pid: i32 = wait_for_content(&folder.path().join("outside")).await.parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}
