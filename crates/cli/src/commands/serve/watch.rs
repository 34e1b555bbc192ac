//! Notices that a file was changed, without the operating system's help: it is looked at now and then.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(2);
/// How long it must stand still to count. Whoever writes it may be in the middle of it, or about to put another file
/// in its place, and half of the rules can be as right as all of them.
const STILL: Duration = Duration::from_millis(300);

/// What tells one state of a file from another; none where there is no file.
type Mark = Option<(Option<SystemTime>, u64)>;

/// A file that is looked at now and then.
#[derive(Debug)]
pub(super) struct WatchedFile {
    path: PathBuf,
    seen: Mark,
}

impl WatchedFile {
    /// Looks at it for the first time.
    pub(super) fn new(path: PathBuf) -> Self {
        let seen = mark(&path);
        Self { path, seen }
    }

    /// Waits until the file is another than when it was last looked at, and stands still.
    pub(super) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(EVERY).await;
            let mut now = mark(&self.path);
            if now == self.seen {
                continue;
            }
            loop {
                tokio::time::sleep(STILL).await;
                let later = mark(&self.path);
                if later == now {
                    break;
                }
                now = later;
            }
            if now != self.seen {
                self.seen = now;
                return;
            }
        }
    }
}

fn mark(path: &std::path::Path) -> Mark {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok(), found.len()))
}

#[cfg(test)]
mod tests;
