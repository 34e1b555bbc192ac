//! Chooses the number of threads that serve connections.
//!
//! A call goes from one socket to another and back. If one thread serves both, no thread has to be woken; with two,
//! each hop may wake a sleeping thread, which costs more than the work itself under light load. So the default is half
//! of the processors, and one thread on a machine with at most two: the database writer and the callers need the rest.

use tokio::runtime::{Builder, Runtime};

use crate::error::{CliError, CliResult};

/// Maximum number of threads for blocking work: files and name resolution.
const MAX_BLOCKING_THREADS: usize = 64;

/// Returns the default for this machine.
pub(super) fn default_count() -> usize {
    count_for(std::thread::available_parallelism().map_or(1, usize::from))
}

fn count_for(processors: usize) -> usize {
    (processors / 2).max(1)
}

/// Creates a runtime with this number of threads.
pub(super) fn runtime(workers: usize) -> CliResult<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_name("toolway")
        .enable_all()
        .build()
        .map_err(|error| {
            CliError::new(format!(
                "cannot start {workers} threads: {}",
                crate::error::io_error_message(&error)
            ))
            .with_hint("set workers to a smaller number")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_machines_use_one_thread_and_large_ones_half_of_their_processors() {
        let counts: Vec<_> = [1, 2, 3, 4, 8, 64].map(count_for).to_vec();
        assert_eq!(counts, [1, 1, 1, 2, 4, 32]);
    }
}
