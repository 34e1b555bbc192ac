//! Runs the program `adb` with a timeout and limits on its output, and never through a shell of this
//! computer.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tokio::time::Instant;

/// Maximum size of standard error; only a few lines are used.
const MAX_ERRORS: usize = 256 << 10;
/// Maximum time from the end of the output to the end of the process.
const EXIT_GRACE: Duration = Duration::from_secs(2);
/// Interval between checks for the end of the process. Usually it has ended at the first or second one.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// The program and its environment.
#[derive(Debug, Clone)]
pub struct AdbProgram {
    /// Path of the program, or its name if it is on the PATH.
    pub path: PathBuf,
    /// The complete environment; nothing else is passed.
    pub environment: Vec<(OsString, OsString)>,
}

/// Output of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct AdbOutput {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// True if the exit code was 0.
    pub(super) success: bool,
}

/// Reason why a run failed.
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
    /// Runs the program to its end. Kills it after `timeout` or `most` bytes of standard output.
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

/// A process that is killed when this value is dropped.
struct AdbChild(Child);

impl AdbChild {
    /// Returns true if the exit code is 0. Does not wait long for a process whose output has ended.
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
            // The process may have ended already.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Reads up to `most` bytes of a stream on a separate thread, so that neither stream blocks the other.
fn read_up_to(stream: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Vec<u8>> {
    let (give, take) = mpsc::sync_channel(1);
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            // The bytes before an error are used.
            let _ = stream.take(most).read_to_end(&mut bytes);
        }
        let _ = give.send(bytes);
    };
    // Without a thread, the channel closes, and the run counts as timed out.
    let _ = std::thread::Builder::new().name("adb output".to_owned()).spawn(read);
    take
}
