//! What the system tells a program that runs for long: to stop, to read its files again.

use crate::error::{CliError, CliResult};

/// Listens to them.
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
    /// From now on. Must be called within the runtime.
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

    /// From now on. Must be called within the runtime.
    #[cfg(not(unix))]
    pub(crate) fn new() -> CliResult<Self> {
        Ok::<_, CliError>(Self {})
    }

    /// Ctrl-C, or the system asks to stop or to read files again.
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

/// What was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessSignal {
    /// To stop.
    Stop,
    /// To read files again.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Unix has a signal for it"))]
    Reload,
}
