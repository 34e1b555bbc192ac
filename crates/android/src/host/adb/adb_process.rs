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
const MAX_ERRORS: usize = 256 << 10;
/// How long a process may live on after its output has ended.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// How often such a process is looked at; as a rule it has ended by the first or second time.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Where the program is, and what it sees of its env.
#[derive(Debug, Clone)]
pub struct AdbProgram {
    /// Path of the program, or its name where the system finds it.
    pub path: PathBuf,
    /// All of its environment: nothing else is passed on.
    pub environment: Vec<(OsString, OsString)>,
}

/// What came of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AdbOutput {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// Whether it ended with 0.
    pub(super) success: bool,
}

/// Why a run came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdbRunError {
    #[error(transparent)]
    Start(io::Error),
    #[error("it took too long")]
    TimedOut,
    #[error("it wrote more than {0} bytes")]
    OutputTooLarge(usize),
}

impl AdbProgram {
    /// Runs it to its end. Past `timeout`, or `most` bytes of standard output, it is killed.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
        timeout: Duration,
        most: usize,
    ) -> Result<AdbOutput, AdbRunError> {
        let until = Instant::now() + timeout;
        let mut command = Command::new(&self.path);
        command.args(arguments).env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = AdbChild(command.spawn().map_err(AdbRunError::Start)?);
        let stdout = read_up_to(running.0.stdout.take(), most.saturating_add(1));
        let stderr = read_up_to(running.0.stderr.take(), MAX_ERRORS);
        let left = || until.saturating_duration_since(Instant::now());
        let stdout = stdout.recv_timeout(left()).map_err(|_| AdbRunError::TimedOut)?;
        if stdout.len() > most {
            return Err(AdbRunError::OutputTooLarge(most));
        }
        let stderr = stderr.recv_timeout(left()).map_err(|_| AdbRunError::TimedOut)?;
        Ok(AdbOutput { stdout, stderr, success: running.wait_success() })
    }
}

/// A process that does not outlive this value.
struct AdbChild(Child);

impl AdbChild {
    /// Whether it ended with 0. One that stays although its output has ended is not waited for.
    fn wait_success(&mut self) -> bool {
        let until = Instant::now() + EXIT_GRACE;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < until => std::thread::park_timeout(POLL_INTERVAL),
                Ok(None) | Err(_) => return false,
            }
        }
    }
}

impl Drop for AdbChild {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // It may have ended meanwhile; then there is nothing to do.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Up to `most` bytes of a stream, on a thread of its own, so that neither stream keeps the other waiting.
fn read_up_to(stream: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Vec<u8>> {
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
