//! The real program: each run is a process, each gateway or device has its own data folder.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::with_timeout;

/// Path of the program: `TOOLWAY_BIN`, or the one built next to this test.
fn program_path() -> PathBuf {
    if let Some(path) = std::env::var_os("TOOLWAY_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap().join("toolway");
    assert!(built.is_file(), "{} is not there; cargo build --workspace --bins makes it", built.display());
    built
}

/// A data folder, and a folder next to it.
#[derive(Debug)]
pub struct TestFolder {
    temp: TempDir,
}

/// Result of a completed run.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl ProgramOutput {
    /// Asserts that the run succeeded.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Asserts that the run failed with this code and message, and a hint.
    #[track_caller]
    pub fn expect_failure(self, code: i32, said: &str) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(self.stderr.contains(said), "{said:?} is not in {self:#?}");
        assert!(self.stderr.contains("hint"), "{self:#?}");
        self
    }

    /// Returns standard output as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

impl TestFolder {
    /// Creates an empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    /// Returns the data folder; the program creates it.
    #[must_use]
    pub fn data_path(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    /// Returns a path next to the data folder.
    #[must_use]
    pub fn sibling_path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Returns the owner's token of the gateway in this folder.
    #[must_use]
    pub fn owner_token(&self) -> String {
        std::fs::read_to_string(self.data_path().join("owner.token")).unwrap().trim().to_owned()
    }

    /// Creates a command for the program with these arguments.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program_path());
        command.arg("--data-dir").arg(self.data_path()).args(arguments).env_clear();
        command
    }

    /// Runs the program to its end.
    pub async fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> ProgramOutput {
        let mut command = self.command(arguments);
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
        let output = with_timeout("the end of a command", output).await.unwrap();
        ProgramOutput {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the program with `--json`. Asserts success and returns the output.
    pub async fn run_json(&self, arguments: &[&str]) -> Value {
        self.run(["--json"].iter().chain(arguments)).await.expect_success().json()
    }

    /// Starts a long-running command with `--json`.
    #[must_use]
    pub fn start(&self, arguments: &[&str]) -> RunningProgram {
        RunningProgram::start(self.command(["--json"].iter().chain(arguments)))
    }

    /// Starts a gateway on loopback without this computer's tools, and waits until it responds.
    pub async fn serve(&self, more: &[&str]) -> GatewayProcess {
        self.serve_on("127.0.0.1:0", &[&["--no-local-device"], more].concat()).await
    }

    /// Starts a gateway on this address and waits until it responds.
    pub async fn serve_on(&self, listen: &str, more: &[&str]) -> GatewayProcess {
        let mut program = self.start(&[&["serve", "--listen", listen], more].concat());
        let ready = program.wait_for_event("ready").await;
        GatewayProcess { program, token: self.owner_token(), ready }
    }
}

impl Default for TestFolder {
    fn default() -> Self {
        Self::new()
    }
}

/// A running gateway.
#[derive(Debug)]
pub struct GatewayProcess {
    /// Process of the gateway.
    pub program: RunningProgram,
    /// The owner's token at the start.
    pub token: String,
    /// The message that it printed when it was ready.
    pub ready: Value,
}

impl GatewayProcess {
    /// Returns its URL, for example `http://127.0.0.1:1234`.
    #[must_use]
    pub fn url(&self) -> String {
        self.ready["url"].as_str().unwrap().to_owned()
    }

    /// Returns its loopback address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.url().rsplit('/').next().unwrap().parse().unwrap()
    }

    /// Kills it without a shutdown.
    pub async fn kill(self) {
        self.program.kill().await;
    }
}

/// A process that prints lines. Killed when it is dropped.
#[derive(Debug)]
pub struct RunningProgram {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    stderr: Arc<Mutex<String>>,
    stderr_updates: watch::Receiver<usize>,
    read_task: JoinHandle<()>,
}

impl RunningProgram {
    /// Starts the process.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{error}: {command:?}"));
        let (sender, lines) = mpsc::unbounded_channel();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        tokio::spawn(async move {
            while let Ok(Some(line)) = stdout.next_line().await {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let said = Arc::new(Mutex::new(String::new()));
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let into = Arc::clone(&said);
        let (count, told) = watch::channel(0);
        let reading = tokio::spawn(async move {
            while let Ok(Some(line)) = stderr.next_line().await {
                into.lock().extend([line.as_str(), "\n"]);
                count.send_modify(|count| *count += 1);
            }
        });
        Self { child, lines, stderr: said, stderr_updates: told, read_task: reading }
    }

    /// Returns the next line of standard output; `None` if it has ended.
    pub async fn next_line(&mut self) -> Option<String> {
        with_timeout("a line on standard output", self.lines.recv()).await
    }

    /// Waits for an event with this name on standard output.
    pub async fn wait_for_event(&mut self, name: &str) -> Value {
        while let Some(line) = self.next_line().await {
            let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
            if event["event"] == name {
                return event;
            }
        }
        panic!("it ended without the event {name}: {}", self.stderr.lock());
    }

    /// Stops it. Returns its exit code and standard error.
    #[cfg(unix)]
    pub async fn stop(self) -> (i32, String) {
        self.signal(rustix::process::Signal::TERM);
        self.wait_for_exit().await
    }

    /// Sends it a signal.
    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        use rustix::process::{Pid, kill_process};
        let pid = i32::try_from(self.child.id().expect("a running process")).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits until standard error contains this text.
    pub async fn wait_for_stderr(&mut self, text: &str) {
        let mut lines = self.stderr_updates.clone();
        let said =
            with_timeout("a line on standard error", lines.wait_for(|_| self.stderr.lock().contains(text)))
                .await;
        assert!(said.is_ok(), "it ended without saying {text:?}: {}", self.stderr.lock());
    }

    /// Waits for its end. Returns its exit code and standard error.
    pub async fn wait_for_exit(mut self) -> (i32, String) {
        let status = with_timeout("the end of a process", self.child.wait()).await.unwrap();
        with_timeout("the end of standard error", &mut self.read_task).await.unwrap();
        let said = std::mem::take(&mut *self.stderr.lock());
        (status.code().unwrap_or(-1), said)
    }

    /// Sends SIGKILL and waits until the process has ended.
    pub async fn kill(mut self) {
        with_timeout("the end of a killed process", self.child.kill()).await.unwrap();
    }

    /// Returns its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("a running process")
    }
}
