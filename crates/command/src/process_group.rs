//! Process group of a command. It is killed as a whole, because child processes keep the pipes open and would
//! survive (pitfall E7).

/// Kills the group on drop, unless it is already gone.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Process group of a child that was started as its leader.
    #[cfg(unix)]
    pub(crate) fn for_child(child: &tokio::process::Child) -> Self {
        let leader =
            child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { leader }
    }

    /// Other systems kill only the child itself, through its own handle.
    #[cfg(not(unix))]
    pub(crate) fn of(_child: &tokio::process::Child) -> Self {
        Self {}
    }

    /// Kills the remaining processes.
    pub(crate) fn kill(&self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // An error means that no process is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
