//! Runs the real program with a new data folder and without the developer's environment.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// Timeout; no operation should ever take this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A data folder for a test.
pub(crate) struct CliHarness {
    temp: tempfile::TempDir,
}

/// Output of a finished command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// Parses standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Asserts success.
    #[track_caller]
    pub(crate) fn assert_success(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Asserts this exit code, this text in the error, and a hint.
    #[track_caller]
    pub(crate) fn assert_failure(self, code: i32, said: &str) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(self.stderr.contains(said), "{said:?} is not in {self:#?}");
        assert!(self.stderr.contains("hint"), "{self:#?}");
        self
    }
}

impl CliHarness {
    pub(crate) fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    /// Path of the data folder, which the program creates.
    pub(crate) fn path(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    /// Path of a file in the data folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Path next to the data folder.
    pub(crate) fn sibling_path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// Writes the settings.
    pub(crate) fn write_settings(&self, text: &str) {
        std::fs::create_dir_all(self.path()).unwrap();
        std::fs::write(self.file("toolway.toml"), text).unwrap();
    }

    /// Creates a command with these arguments, without starting it.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolway"));
        command.arg("--data-dir").arg(self.path()).args(arguments);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> CommandOutput {
        command_output(self.command(arguments).spawn().unwrap())
    }

    /// Runs a command with this standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> CommandOutput {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        command_output(child)
    }

    /// Adds the fake model server at this address as a provider.
    #[track_caller]
    pub(crate) fn add_models(&self, url: &str) {
        let add = [
            "models",
            "add",
            "fake",
            "--kind",
            "openai",
            "--base-url",
            url,
            "--model",
            "fake-model",
            "--key-stdin",
        ];
        self.run_with_input(&add, toolway_fake_models::KEY).assert_success();
    }

    /// Runs a command with `--json` and returns its output.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(["--json"].iter().chain(arguments)).assert_success().json()
    }

    /// Starts a gateway without its built-in and local tools.
    pub(crate) fn serve_without_event(&self, more: &[&str]) -> RunningProcess {
        let bare = ["--no-local-device", "--set", "tools.builtin=false"];
        self.serve(&[&bare, more].concat())
    }

    /// Starts a gateway on a free port and waits until it answers.
    pub(crate) fn serve(&self, more: &[&str]) -> RunningProcess {
        let mut running = self.start(["serve", "--json", "--listen", "127.0.0.1:0"].iter().chain(more));
        running.ready = running.wait_for_event("ready");
        running
    }

    /// Starts a long-running command that prints events.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> RunningProcess {
        let mut child = self.command(arguments).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, events) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let (log_sender, log) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if log_sender.send(line).is_err() {
                    return;
                }
            }
        });
        RunningProcess { child, events, log, logged: String::new(), ready: Value::Null }
    }
}

fn command_output(child: Child) -> CommandOutput {
    let output = child.wait_with_output().unwrap();
    CommandOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A running gateway or device. Dropping it kills the process.
pub(crate) struct RunningProcess {
    child: Child,
    events: mpsc::Receiver<String>,
    log: mpsc::Receiver<String>,
    logged: String,
    /// Its first event.
    pub(crate) ready: Value,
}

impl RunningProcess {
    /// Address of the gateway.
    pub(crate) fn url(&self) -> String {
        self.ready["url"].as_str().unwrap().to_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for an event with this name.
    #[track_caller]
    pub(crate) fn wait_for_event(&mut self, name: &str) -> Value {
        loop {
            match self.events.recv_timeout(TIMEOUT) {
                Ok(line) => {
                    let event: Value =
                        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
                    if event["event"] == name {
                        return event;
                    }
                }
                Err(error) => {
                    let _ = self.child.kill();
                    self.read_log();
                    panic!("no event {name} ({error}): {}", self.logged);
                }
            }
        }
    }

    /// Returns a printed line, if one arrives within a short time.
    pub(crate) fn next_line(&self, timeout: Duration) -> Option<String> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Sends a signal.
    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end of the process. Returns the exit code and standard error.
    pub(crate) fn wait_for_exit(mut self) -> (i32, String) {
        let status = self.child.wait().unwrap();
        self.read_log();
        (status.code().unwrap_or(-1), std::mem::take(&mut self.logged))
    }

    /// Waits until standard error contains this text.
    #[track_caller]
    pub(crate) fn wait_for_log(&mut self, text: &str) {
        while !self.logged.contains(text) {
            match self.log.recv_timeout(TIMEOUT) {
                Ok(line) => self.logged.extend([line.as_str(), "\n"]),
                Err(error) => panic!("{text:?} was not said ({error}): {}", self.logged),
            }
        }
    }

    /// Reads the rest of standard error after the end of the process.
    fn read_log(&mut self) {
        while let Ok(line) = self.log.recv_timeout(TIMEOUT) {
            self.logged.extend([line.as_str(), "\n"]);
        }
    }

    /// Stops the process and waits for its end.
    #[cfg(unix)]
    pub(crate) fn stop(self) -> (i32, String) {
        self.signal(rustix::process::Signal::TERM);
        self.wait_for_exit()
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until there is a value, for effects in another process.
#[track_caller]
pub(crate) fn wait_until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..200 {
        if let Some(found) = ask() {
            return found;
        }
    }
    panic!("it did not come about");
}

/// Returns the permission bits of a file or folder.
#[cfg(unix)]
pub(crate) fn file_mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
