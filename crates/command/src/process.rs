//! Runs a program once, in a process group of its own, until it has ended or nobody wants it any more.

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

/// How long the pipes may stay open once the program has ended: somebody it started may hold them.
const PIPE_TIMEOUT: Duration = Duration::from_millis(500);
/// How much of its complaints an error tells, in bytes.
const MAX_ERROR_TEXT_BYTES: usize = 2 << 10;

/// A program that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It did not start.
    #[error("{} could not be started: {error}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It started, and the system does not say how it ended.
    #[error("its end could not be learnt: {0}")]
    End(#[source] io::Error),
}

/// How much is kept of what a program writes, in bytes: of its output the start, of its complaints the end.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Of standard output.
    pub stdout: usize,
    /// Of standard error.
    pub stderr: usize,
}

/// A program, and all that is fixed about how it runs.
#[derive(Debug, Clone)]
pub struct ProgramLaunch {
    program: PathBuf,
    /// All of the environment that it gets.
    environment: Vec<(OsString, OsString)>,
    working_dir: PathBuf,
}

/// What a run left behind.
#[derive(Debug)]
pub struct ProcessOutput {
    /// How the program ended; none where it was killed because nobody wanted it any more.
    pub status: Option<ExitStatus>,
    /// What it wrote.
    pub stdout: OutputCapture,
    /// What it complained of.
    pub stderr: OutputCapture,
}

impl ProgramLaunch {
    /// Finds a program and settles how it runs. Looks at the disk, so it may block for some milliseconds.
    ///
    /// `pass_env` names the variables that are passed through, `set_env` sets others; the environment is empty
    /// otherwise. `cwd` is where it runs: the base folder of `command_env` where it is none.
    ///
    /// # Errors
    /// [`Problem`] where the program or the folder is not there.
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

    /// The program's absolute path.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs it once with these arguments and this on its standard input. Ends when the program has ended and
    /// its pipes are closed, or when `unwanted` resolves; either way, and where the future is dropped, what is
    /// left of its process group is killed.
    ///
    /// # Errors
    /// [`RunError`]; that it failed by its own account is told by [`Ended::status`].
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
    /// How it failed; none where it ended well.
    #[must_use]
    pub fn failure_reason(&self) -> Option<String> {
        match self.status {
            None => Some("it was stopped".to_owned()),
            Some(status) if status.success() => None,
            Some(status) => Some(describe_exit_status(status)),
        }
    }

    /// How it failed and what it complained of last; none where it ended well.
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

/// Feeds, reads and waits, until the program has ended and its pipes are closed, or nobody wants it.
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
            // Reaps it, so that nothing of it is left; it is dying already.
            let _ = timeout(PIPE_TIMEOUT, child.wait()).await;
        }
        if open && timeout(PIPE_TIMEOUT, &mut pipes).await.is_err() {
            group.kill();
            // One that has left the group may still hold them; then what came so far has to do.
            let _ = timeout(PIPE_TIMEOUT, &mut pipes).await;
        }
        status
    };
    let status = status.transpose().map_err(RunError::End)?;
    Ok(ProcessOutput { status, stdout, stderr })
}

/// Writes the input and closes it. A program that does not read it has its reasons.
async fn write_stdin(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(&input).await;
    }
}

fn describe_exit_status(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("it was ended by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("it ended with exit code {code}"),
        None => "it ended without an exit code".to_owned(),
    }
}

/// The end of a text.
fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}
