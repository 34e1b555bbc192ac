//! The process group of a command. It is killed as a whole: child processes keep the pipes open and would survive (pitfall E7).

/// Kills the group when it is dropped, unless nothing of it is left.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// The group of a child that was started as its leader.
    #[cfg(unix)]
    pub(crate) fn for_child(child: &tokio::process::Child) -> Self {
        let leader =
            child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { leader }
    }

    /// Elsewhere only the child itself is killed, by its own handle.
    #[cfg(not(unix))]
    pub(crate) fn of(_child: &tokio::process::Child) -> Self {
        Self {}
    }

    /// Kills whatever is left of it.
    pub(crate) fn kill(&self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            // An error means that nobody is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
