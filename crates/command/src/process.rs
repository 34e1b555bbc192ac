//! Runs a program once, in its own process group, until it ends or the call is cancelled.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};
use tokio::time::timeout;

use crate::capture::{CaptureEnd, OutputCapture};
use crate::command_env::CommandEnv;
use crate::problem::DefinitionProblem;
use crate::process_group::ProcessGroup;
use crate::program;

/// Time for the pipes to close after the program has ended. Its child processes may keep them open.
const PIPE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum length of standard error in an error message, in bytes.
const MAX_ERROR_TEXT_BYTES: usize = 2 << 10;

/// A program that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program did not start.
    #[error("cannot start {}: {error}", program.display())]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// Error from the operating system.
        #[source]
        error: io::Error,
    },
    /// The program started, but the system does not report its exit status.
    #[error("cannot get its exit status: {0}")]
    End(#[source] io::Error),
}

/// Maximum captured output, in bytes. Keeps the start of standard output and the end of standard error.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Limit of standard output.
    pub stdout: usize,
    /// Limit of standard error.
    pub stderr: usize,
}

/// A program with its environment and folder.
#[derive(Debug, Clone)]
pub struct ProgramLaunch {
    program: PathBuf,
    /// The complete environment of the program.
    environment: Vec<(OsString, OsString)>,
    working_dir: PathBuf,
}

/// Result of a run.
#[derive(Debug)]
pub struct ProcessOutput {
    /// Exit status; `None` if the program was killed after a cancellation.
    pub status: Option<ExitStatus>,
    /// Captured standard output.
    pub stdout: OutputCapture,
    /// Captured standard error.
    pub stderr: OutputCapture,
}

impl ProgramLaunch {
    /// Finds a program and prepares its environment. Reads the disk, so it may block for some milliseconds.
    ///
    /// `pass_env` lists the variables to pass through; `set_env` sets others. Otherwise the environment is
    /// empty. `working_dir` is the folder to run in; by default the base folder of [`CommandEnv`].
    ///
    /// # Errors
    /// [`DefinitionProblem`] if the program or the folder does not exist.
    pub fn resolve(
        program: &str,
        env: &[String],
        set_env: BTreeMap<String, String>,
        working_dir: Option<&str>,
        command_env: &CommandEnv,
    ) -> Result<Self, DefinitionProblem> {
        let working_dir = command_env.base_dir.join(working_dir.unwrap_or_default());
        if !working_dir.is_dir() {
            return Err(DefinitionProblem(format!("cwd {} is not a folder", working_dir.display())));
        }
        let passed = env.iter().filter_map(|name| {
            let value = command_env.environment.get(OsString::from(name).as_os_str())?;
            Some((OsString::from(name), value.clone()))
        });
        let set = set_env.into_iter().map(|(name, value)| (name.into(), value.into()));
        let environment = passed.chain(set).collect();
        Ok(Self { program: program::find_program(program, command_env)?, environment, working_dir })
    }

    /// Absolute path of the program.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program once with these arguments and this standard input. Returns when the program has ended
    /// and its pipes are closed, or when `unwanted` resolves. In both cases, and if the future is dropped,
    /// the rest of its process group is killed.
    ///
    /// # Errors
    /// [`RunError`]. A failure of the program itself is in [`ProcessOutput::status`].
    pub async fn run(
        &self,
        argv: Vec<String>,
        input: Option<Vec<u8>>,
        limits: OutputLimits,
        unwanted: impl Future<Output = ()>,
    ) -> Result<ProcessOutput, RunError> {
        let mut child = self
            .spawn(argv, input.is_some())
            .map_err(|error| RunError::Start { program: self.program.clone(), error })?;
        let group = ProcessGroup::for_child(&child);
        wait_with_pipes(&mut child, &group, input, limits, unwanted).await
    }

    fn spawn(&self, argv: Vec<String>, with_input: bool) -> io::Result<Child> {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(argv)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.working_dir)
            .stdin(if with_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command.spawn()
    }
}

impl ProcessOutput {
    /// Reason of the failure; `None` if the program succeeded.
    #[must_use]
    pub fn failure_reason(&self) -> Option<String> {
        match self.status {
            None => Some("it was cancelled".to_owned()),
            Some(status) if status.success() => None,
            Some(status) => Some(describe_exit_status(status)),
        }
    }

    /// Reason of the failure and the end of standard error; `None` if the program succeeded.
    #[must_use]
    pub fn failure_message(&self) -> Option<String> {
        let how = self.failure_reason()?;
        if self.status.is_none() {
            return Some(how);
        }
        let complaints = self.stderr.text();
        let said = if complaints.trim().is_empty() { self.stdout.text() } else { complaints };
        let said = tail(said.trim(), MAX_ERROR_TEXT_BYTES);
        Some(if said.is_empty() { how } else { format!("{how}: {said}") })
    }
}

/// Writes input, reads output and waits, until the program has ended and its pipes are closed, or the call is
/// cancelled.
async fn wait_with_pipes(
    child: &mut Child,
    group: &ProcessGroup,
    input: Option<Vec<u8>>,
    limits: OutputLimits,
    unwanted: impl Future<Output = ()>,
) -> Result<ProcessOutput, RunError> {
    let mut stdout = OutputCapture::new(limits.stdout, CaptureEnd::Start);
    let mut stderr = OutputCapture::new(limits.stderr, CaptureEnd::End);
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let status = {
        let pipes = async {
            tokio::join!(write_stdin(stdin, input), stdout.read_from(out), stderr.read_from(err));
        };
        tokio::pin!(pipes);
        let mut open = true;
        tokio::pin!(unwanted);
        let status = loop {
            tokio::select! {
                status = child.wait() => break Some(status),
                () = &mut pipes, if open => open = false,
                () = &mut unwanted => break None,
            }
        };
        if status.is_none() {
            group.kill();
            // The process is already killed; waiting reaps it, so no zombie remains.
            let _ = timeout(PIPE_TIMEOUT, child.wait()).await;
        }
        if open && timeout(PIPE_TIMEOUT, &mut pipes).await.is_err() {
            group.kill();
            // A process that left the group may keep the pipes open; use the output read so far.
            let _ = timeout(PIPE_TIMEOUT, &mut pipes).await;
        }
        status
    };
    let status = status.transpose().map_err(RunError::End)?;
    Ok(ProcessOutput { status, stdout, stderr })
}

/// Writes the input and closes the pipe. A program may choose not to read its input, so errors are ignored.
async fn write_stdin(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(&input).await;
    }
}

fn describe_exit_status(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("it was terminated by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("it failed with exit code {code}"),
        None => "it failed without an exit code".to_owned(),
    }
}

/// The end of a text.
fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}
