//! Raises the limit of open files: every connection is one, and the default limit is low.

/// Limit to ask for; no setting needs more.
#[cfg(unix)]
const WANTED_OPEN_FILES: u64 = 1 << 18;

/// Raises the limit as far as the system allows.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED_OPEN_FILES, |most| most.min(WANTED_OPEN_FILES));
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return };
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    match raised {
        Ok(()) => tracing::debug!(from = current, to = wanted, "raised the limit of open files"),
        Err(error) => tracing::debug!(%error, limit = current, "cannot raise the limit of open files"),
    }
}

/// Does nothing: this system has no such limit.
#[cfg(not(unix))]
pub(super) fn raise_limit() {}
