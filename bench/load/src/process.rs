//! Child processes: the gateway, the relay, and the harness's helpers. Each reports on its standard output,
//! in JSON lines, when it is ready. Each is killed when dropped.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::error::{ErrorContext, LoadBenchError, Result, unexpected, with_timeout};
use crate::procfs::open_file_limit;

const END_LIMIT: Duration = Duration::from_secs(20);
const LOG_TAIL_LENGTH: usize = 2000;

/// A program to start.
#[derive(Debug, Clone)]
pub(crate) struct ChildProgram {
    /// Name for messages.
    pub(crate) name: &'static str,
    /// Path of the executable.
    pub(crate) path: PathBuf,
    /// Arguments.
    pub(crate) args: Vec<String>,
    /// Environment variables to set; all others that start with `TOOLWAY_` are removed.
    pub(crate) env: Vec<(String, String)>,
    /// Log file for its standard error.
    pub(crate) log: PathBuf,
    /// Number of files that it may open.
    pub(crate) open_files: u64,
}

impl ChildProgram {
    /// Creates a program from this harness with a hidden subcommand.
    pub(crate) fn current_harness(
        name: &'static str,
        args: &[&str],
        folder: &Path,
        open_files: u64,
    ) -> Result<Self> {
        Ok(Self {
            name,
            path: std::env::current_exe().context("finding the harness's own executable")?,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: Vec::new(),
            log: folder.join(format!("{name}.log")),
            open_files,
        })
    }
}

/// A running child.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    name: &'static str,
    log: PathBuf,
    child: Child,
    pid: u32,
    stdin: ChildStdin,
    /// Absent once its output is ignored.
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl ChildProcess {
    /// Starts the process.
    pub(crate) fn start(program: &ChildProgram) -> Result<Self> {
        let ChildProgram { name, path, args, env, log, open_files } = program;
        let what = format!("starting {name} ({})", path.display());
        let errors = std::fs::File::options().create(true).append(true).open(log).context(&what)?;
        let mut command = command(path, *open_files);
        for (key, _) in std::env::vars_os() {
            if key.to_string_lossy().starts_with("TOOLWAY_") {
                command.env_remove(key);
            }
        }
        command.args(args).envs(env.iter().map(|(key, value)| (key, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors).kill_on_drop(true);
        let mut child = command.spawn().context(&what)?;
        match (child.id(), child.stdin.take(), child.stdout.take()) {
            (Some(pid), Some(stdin), Some(stdout)) => {
                let lines = Some(BufReader::new(stdout).lines());
                Ok(Self { name, log: log.clone(), child, pid, stdin, lines })
            }
            _ => unexpected(format!("{what}: it ended at once")),
        }
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the next line of the form `T`.
    pub(crate) async fn next_event<T: DeserializeOwned>(&mut self, limit: Duration) -> Result<T> {
        let what = format!("waiting for {}", self.name);
        let next = async {
            while let Some(lines) = &mut self.lines {
                let Some(line) = lines.next_line().await.context(&what)? else { break };
                if let Ok(event) = serde_json::from_str(&line) {
                    return Ok(event);
                }
            }
            unexpected(format!("{what}: it ended"))
        };
        with_timeout(limit, &what, next).await.map_err(|failure| self.with_log_tail(&failure))
    }

    /// Discards its output, so that it never blocks.
    pub(crate) fn ignore_output(&mut self) {
        if let Some(mut lines) = self.lines.take() {
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        }
    }

    /// Sends a line to its standard input.
    pub(crate) async fn send_line(&mut self, line: &str) -> Result<()> {
        let what = format!("telling {} what to do", self.name);
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.context(&what)
    }

    /// Kills the process.
    pub(crate) async fn kill(mut self) -> Result<()> {
        let what = format!("ending {}", self.name);
        with_timeout(END_LIMIT, &what, async { self.child.kill().await.context(&what) }).await
    }

    /// Terminates the process (SIGTERM) and waits for its end.
    pub(crate) async fn terminate(mut self) -> Result<()> {
        let what = format!("ending {}", self.name);
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -TERM \"$0\"", &self.pid.to_string()]);
        kill.status().await.context(&what)?;
        with_timeout(END_LIMIT, &what, async { self.child.wait().await.context(&what) }).await?;
        Ok(())
    }

    /// Adds the end of the process's log to a failure.
    pub(crate) fn with_log_tail(&self, failure: &LoadBenchError) -> LoadBenchError {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let tail = log.get(log.len().saturating_sub(LOG_TAIL_LENGTH)..).unwrap_or_default();
        match String::from_utf8_lossy(tail).trim() {
            "" => LoadBenchError::Unexpected(format!("{failure}; it logged nothing")),
            text => LoadBenchError::Unexpected(format!("{failure}; the end of its log:\n{text}")),
        }
    }
}

/// Returns the command for `path`. If the limit of open files is too low, a shell raises it and then runs the
/// program.
fn command(path: &Path, open_files: u64) -> Command {
    if open_file_limit() >= open_files {
        return Command::new(path);
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {open_files} && exec \"$0\" \"$@\"")).arg(path);
    command
}
