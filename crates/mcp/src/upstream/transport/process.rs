//! The program of a server: started with exactly the given environment, and stopped with all its child processes.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::upstream::error::UpstreamError;
use crate::upstream::log::ServerLog;

/// Maximum length of a line of its standard error, in bytes.
const MAX_LINE_BYTES: usize = 8 << 10;
/// Time that its standard error may stay open after its exit.
const STDERR_GRACE: Duration = Duration::from_millis(200);

/// The command that starts a program.
pub(in crate::upstream) struct LaunchCommand {
    pub(in crate::upstream) command: String,
    pub(in crate::upstream) args: Vec<String>,
    /// The complete environment.
    pub(in crate::upstream) environment: Vec<(String, SecretString)>,
    pub(in crate::upstream) folder: PathBuf,
}

/// A running program. Dropping it kills its process group.
#[derive(Debug)]
pub(in crate::upstream) struct ServerProcess {
    child: Child,
    group: ProcessGroup,
    stderr: Option<ChildStderr>,
}

impl ServerProcess {
    /// Starts the program, and returns its input and output.
    pub(in crate::upstream) fn start(
        launch: &LaunchCommand,
    ) -> Result<(Self, ChildStdin, ChildStdout), UpstreamError> {
        let mut command = Command::new(&launch.command);
        command
            .args(&launch.args)
            .env_clear()
            .envs(launch.environment.iter().map(|(name, value)| (name, value.expose_secret())))
            .current_dir(&launch.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let folder = launch.folder.display();
            if !launch.folder.is_dir() {
                return UpstreamError::InvalidDefinition(format!("the folder {folder} does not exist"));
            }
            UpstreamError::InvalidDefinition(format!("{} could not be started: {error}", launch.command))
        })?;
        let group = ProcessGroup::new(&child);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(UpstreamError::InvalidDefinition("its pipes are missing".to_owned()));
        };
        Ok((Self { child, group, stderr }, stdin, stdout))
    }

    /// Takes the standard error, to read it in a task that continues while the program stops.
    pub(in crate::upstream) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// Waits for the exit.
    pub(in crate::upstream) async fn wait(&mut self) -> Option<ExitStatus> {
        self.child.wait().await.ok()
    }

    /// Stops the program after its input was closed: it has half of `within` to exit by itself, then gets SIGTERM,
    /// and after the other half its process group is killed.
    pub(in crate::upstream) async fn terminate(mut self, within: Duration) {
        let half = within / 2;
        if timeout(half, self.child.wait()).await.is_err() {
            self.group.terminate();
            // In any case the group is killed below.
            let _ = timeout(half, self.child.wait()).await;
        }
        self.group.kill();
        let _ = self.child.start_kill();
        // Reaps the process.
        let _ = timeout(STDERR_GRACE, self.child.wait()).await;
    }
}

/// Copies the standard error of a program to the log, until no process holds the pipe.
pub(in crate::upstream) async fn log_stderr(stderr: ChildStderr, log: impl AsRef<ServerLog>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        let bytes = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => bytes,
        };
        let end = memchr::memchr(b'\n', bytes);
        let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        let used = piece.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            log.as_ref().add(&line);
            line.clear();
        }
    }
    if !line.is_empty() {
        log.as_ref().add(&line);
    }
}

/// A message about the exit status.
pub(in crate::upstream) fn exit_message(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)) {
        return format!("its program was ended by signal {signal}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("its program ended with exit code {code}"),
        None => "its program ended".to_owned(),
    }
}

/// The process group of a program, because its children would survive it.
#[derive(Debug)]
struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl ProcessGroup {
    fn new(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // An error means that the group is empty.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn terminate(&self) {}

    fn kill(&self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
