//! Detects changes of a file by polling, which works on every file system.

use std::path::PathBuf;
use std::time::Duration;

use toolway_files::owner_file::FileStamps;

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Time without changes before a change counts. The file may be half written, and half of the rules can be valid.
const SETTLE_DELAY: Duration = Duration::from_millis(300);

/// A file that is polled for changes.
#[derive(Debug)]
pub(super) struct WatchedFile {
    path: PathBuf,
    last_stamp: FileStamps,
}

impl WatchedFile {
    /// Records the current state of the file.
    pub(super) fn new(path: PathBuf) -> Self {
        let seen = FileStamps::of([&path]);
        Self { path, last_stamp: seen }
    }

    /// Waits until the file has changed and is stable.
    pub(super) async fn wait_for_change(&mut self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let mut now = FileStamps::of([&self.path]);
            if now == self.last_stamp {
                continue;
            }
            loop {
                tokio::time::sleep(SETTLE_DELAY).await;
                let later = FileStamps::of([&self.path]);
                if later == now {
                    break;
                }
                now = later;
            }
            if now != self.last_stamp {
                self.last_stamp = now;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
