//! How many threads serve connections.
//!
//! A call goes from one socket to another and back. Where both are served by one thread, nobody has to be woken;
//! with two, each hop may wake a sleeping thread, which costs more than the work itself as long as there is
//! little of it. So fewer threads than processors are used, and one alone where there are at most two: the rest
//! of the machine is for the database's writer and for whoever calls.

use tokio::runtime::{Builder, Runtime};

use crate::error::{CliError, CliResult};

/// Threads for work that blocks: files, look-ups of names.
const MAX_BLOCKING_THREADS: usize = 64;

/// As many as suit this machine.
pub(super) fn default_count() -> usize {
    count_for(std::thread::available_parallelism().map_or(1, usize::from))
}

fn count_for(processors: usize) -> usize {
    (processors / 2).max(1)
}

/// A runtime with this many.
pub(super) fn runtime(workers: usize) -> CliResult<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_name("toolway")
        .enable_all()
        .build()
        .map_err(|error| {
            CliError::new(format!(
                "{workers} threads can't be started: {}",
                crate::error::io_error_message(&error)
            ))
            .with_hint("set workers to a smaller number")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_on_small_machines_and_half_of_large_ones() {
        let counts: Vec<_> = [1, 2, 3, 4, 8, 64].map(count_for).to_vec();
        assert_eq!(counts, [1, 1, 1, 2, 4, 32]);
    }
}
