//! Every connection is an open file. Systems let programs have few of them unless they ask for more.

/// More than this no setting asks for.
#[cfg(unix)]
const WANTED_OPEN_FILES: u64 = 1 << 18;

/// Asks for as many open files as the system lets this program have.
#[cfg(unix)]
pub(super) fn raise_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(WANTED_OPEN_FILES, |most| most.min(WANTED_OPEN_FILES));
    let Some(current) = limit.current.filter(|current| *current < wanted) else { return };
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    match raised {
        Ok(()) => tracing::debug!(from = current, to = wanted, "allowed more open files"),
        Err(error) => tracing::debug!(%error, limit = current, "the number of open files can't be raised"),
    }
}

/// Nothing to ask for.
#[cfg(not(unix))]
pub(super) fn allow_many() {}
