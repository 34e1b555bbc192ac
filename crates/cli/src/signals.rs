//! Listens for signals to stop or to reload.

use crate::error::{CliError, CliResult};

/// Listener for signals.
#[derive(Debug)]
pub(crate) struct SignalListener {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
}

impl SignalListener {
    /// Starts to listen. Must be called within a runtime.
    #[cfg(unix)]
    pub(crate) fn new() -> CliResult<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen =
            |kind| signal(kind).map_err(|error| CliError::new(format!("cannot listen to signals: {error}")));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Starts to listen. Must be called within a runtime.
    #[cfg(not(unix))]
    pub(crate) fn new() -> CliResult<Self> {
        Ok::<_, CliError>(Self {})
    }

    /// Waits for the next signal (Ctrl-C, SIGTERM or SIGHUP).
    pub(crate) async fn next_signal(&mut self) -> ProcessSignal {
        #[cfg(unix)]
        {
            tokio::select! {
                _ = self.terminate.recv() => ProcessSignal::Stop,
                _ = self.interrupt.recv() => ProcessSignal::Stop,
                _ = self.hangup.recv() => ProcessSignal::Reload,
            }
        }
        #[cfg(not(unix))]
        {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            ProcessSignal::Stop
        }
    }
}

/// Action that a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessSignal {
    /// Stop the program.
    Stop,
    /// Reload files.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix has a signal for it"))]
    Reload,
}
