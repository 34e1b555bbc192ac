//! Runs a command once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};
use tokio::time::timeout;
use toolway_device::{Code, JsonObject, ToolContext, ToolError};

use super::capture::{Capture, Keep};
use super::file::{Input, Output};
use super::group::Group;
use super::template::Template;

/// Most of a command's output that is kept, in bytes.
const STDOUT: usize = 1 << 20;
/// Most of what it complains that is kept, in bytes.
const STDERR: usize = 64 << 10;
/// How much of its complaints an error tells, in bytes.
const TOLD: usize = 2 << 10;
/// How long the pipes may stay open once the program has ended: somebody it started may hold them.
const LINGER: Duration = Duration::from_millis(500);

/// A command, ready to run.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) template: Template,
    pub(super) input: Input,
    pub(super) output: Output,
    /// All of the environment that it gets.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) working_dir: PathBuf,
    /// Only for a gateway that does not say how much time there is; any other cancels what is late.
    pub(super) timeout: Duration,
}

/// What a run left behind.
struct Run {
    /// None where it was killed for being late or unwanted.
    status: Option<ExitStatus>,
    stdout: Capture,
    stderr: Capture,
}

impl Command {
    pub(super) async fn run(&self, args: JsonObject, cx: ToolContext) -> Result<Value, ToolError> {
        let input = match self.input {
            Input::Argv => None,
            Input::StdinJson => Some(Value::Object(args.clone()).to_string()),
        };
        let mut child = self.start(self.template.fill(&args)?, input.is_some())?;
        let group = Group::of(&child);
        let own_limit = if cx.remaining().is_none() { self.timeout } else { Duration::MAX };
        let run = follow(&mut child, &group, input, own_limit, &cx).await?;
        drop(group);
        self.result(run)
    }

    fn start(&self, argv: Vec<String>, with_input: bool) -> Result<Child, ToolError> {
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
        command.spawn().map_err(|error| {
            ToolError::new(
                Code::ToolFailed,
                format!("{} could not be started: {error}", self.program.display()),
            )
        })
    }

    fn result(&self, run: Run) -> Result<Value, ToolError> {
        let Run { status, stdout, stderr } = run;
        let failed = |what: String| Err(ToolError::new(Code::ToolFailed, format!("{}: {what}", self.name)));
        let Some(status) = status else { return failed("it was stopped".to_owned()) };
        if !status.success() {
            let complaints = stderr.text();
            let said = if complaints.trim().is_empty() { stdout.text() } else { complaints };
            let said = tail(said.trim(), TOLD);
            let how = how_it_ended(status);
            return failed(if said.is_empty() { how } else { format!("{how}: {said}") });
        }
        let output = match self.output {
            Output::Text => Value::String(stdout.text()),
            Output::Json if stdout.is_cut() => {
                return failed(format!("its output is longer than {STDOUT} bytes, so it is no whole JSON"));
            }
            Output::Json => match serde_json::from_str(&stdout.text()) {
                Ok(value) => value,
                Err(error) => return failed(format!("its output is not JSON: {error}")),
            },
        };
        Ok(json!({ "exit_code": status.code(), "stdout": output, "stderr": stderr.text() }))
    }
}

/// Feeds, reads and waits, until the program has ended and its pipes are closed, or nobody wants it.
async fn follow(
    child: &mut Child,
    group: &Group,
    input: Option<String>,
    own_limit: Duration,
    cx: &ToolContext,
) -> Result<Run, ToolError> {
    let mut stdout = Capture::new(STDOUT, Keep::Start);
    let mut stderr = Capture::new(STDERR, Keep::End);
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let status = {
        let pipes = async {
            tokio::join!(feed(stdin, input), stdout.fill(out), stderr.fill(err));
        };
        tokio::pin!(pipes);
        let mut open = true;
        let unwanted = async {
            // A duration without end is no timer that could go off.
            let _ = timeout(own_limit, cx.cancelled()).await;
        };
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
            let _ = timeout(LINGER, child.wait()).await;
        }
        if open && timeout(LINGER, &mut pipes).await.is_err() {
            group.kill();
            // One that has left the group may still hold them; then what came so far has to do.
            let _ = timeout(LINGER, &mut pipes).await;
        }
        status
    };
    let status = status
        .transpose()
        .map_err(|error| ToolError::new(Code::ToolFailed, format!("its end could not be learnt: {error}")))?;
    Ok(Run { status, stdout, stderr })
}

/// Writes the input and closes it. A program that does not read it has its reasons.
async fn feed(stdin: Option<ChildStdin>, input: Option<String>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        let _ = stdin.write_all(input.as_bytes()).await;
    }
}

fn how_it_ended(status: ExitStatus) -> String {
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
