//! Notices that a file was changed, without the operating system's help: it is looked at now and then.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How often it is looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long it must stand still to count. Whoever writes it may be in the middle of it, or about to put another file
/// in its place, and half of the rules can be as right as all of them.
const SETTLE_DELAY: Duration = Duration::from_millis(300);

/// What tells one state of a file from another; none where there is no file.
type FileStamp = Option<(Option<SystemTime>, u64)>;

/// A file that is looked at now and then.
#[derive(Debug)]
pub(super) struct WatchedFile {
    path: PathBuf,
    last_stamp: FileStamp,
}

impl WatchedFile {
    /// Looks at it for the first time.
    pub(super) fn new(path: PathBuf) -> Self {
        let seen = file_stamp(&path);
        Self { path, last_stamp: seen }
    }

    /// Waits until the file is another than when it was last looked at, and stands still.
    pub(super) async fn wait_for_change(&mut self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let mut now = file_stamp(&self.path);
            if now == self.last_stamp {
                continue;
            }
            loop {
                tokio::time::sleep(SETTLE_DELAY).await;
                let later = file_stamp(&self.path);
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

fn file_stamp(path: &std::path::Path) -> FileStamp {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok(), found.len()))
}

#[cfg(test)]
mod tests;
