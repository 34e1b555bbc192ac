//! Runs the program `adb`: under a deadline, with bounds on what it writes, and never through a shell of this
//! computer.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tokio::time::Instant;

/// What is taken of standard error: a few lines are all that matters.
const MOST_ERRORS: usize = 256 << 10;
/// How long a process may live on after its output has ended.
const LAST_BREATH: Duration = Duration::from_secs(2);
/// How often such a process is looked at; as a rule it has ended by the first or second time.
const LOOK: Duration = Duration::from_micros(200);

/// Where the program is, and what it sees of its surroundings.
#[derive(Debug, Clone)]
pub struct AdbProgram {
    /// Path of the program, or its name where the system finds it.
    pub path: PathBuf,
    /// All of its environment: nothing else is passed on.
    pub environment: Vec<(OsString, OsString)>,
}

/// What came of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Whether it ended with 0.
    pub(super) success: bool,
}

/// Why a run came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Start(io::Error),
    #[error("it took too long")]
    Overdue,
    #[error("it wrote more than {0} bytes")]
    TooMuch(usize),
}

impl AdbProgram {
    /// Runs it to its end. Past `patience`, or `most` bytes of standard output, it is killed.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        patience: Duration,
        most: usize,
    ) -> Result<Output, RunError> {
        let until = Instant::now() + patience;
        let mut command = Command::new(&self.path);
        command.args(arguments).env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().map_err(RunError::Start)?);
        let stdout = taken(running.0.stdout.take(), most.saturating_add(1));
        let stderr = taken(running.0.stderr.take(), MOST_ERRORS);
        let left = || until.saturating_duration_since(Instant::now());
        let stdout = stdout.recv_timeout(left()).map_err(|_| RunError::Overdue)?;
        if stdout.len() > most {
            return Err(RunError::TooMuch(most));
        }
        let stderr = stderr.recv_timeout(left()).map_err(|_| RunError::Overdue)?;
        Ok(Output { stdout, stderr, success: running.ended() })
    }
}

/// A process that does not outlive this value.
struct Running(Child);

impl Running {
    /// Whether it ended with 0. One that stays although its output has ended is not waited for.
    fn ended(&mut self) -> bool {
        let until = Instant::now() + LAST_BREATH;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < until => std::thread::park_timeout(LOOK),
                Ok(None) | Err(_) => return false,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // It may have ended meanwhile; then there is nothing to do.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Up to `most` bytes of a stream, on a thread of its own, so that neither stream keeps the other waiting.
fn taken(stream: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Vec<u8>> {
    let (give, take) = mpsc::sync_channel(1);
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            // What was read before an error is what there is.
            let _ = stream.take(most).read_to_end(&mut bytes);
        }
        let _ = give.send(bytes);
    };
    // Without a thread the channel closes, and the run counts as overdue.
    let _ = std::thread::Builder::new().name("adb output".to_owned()).spawn(read);
    take
}
