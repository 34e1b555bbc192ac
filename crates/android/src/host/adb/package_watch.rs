//! Watches for changed packages. The phone sends no notifications to the computer, so it is polled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::AdbHostState;
use super::packages::InstalledApp;
use crate::host::PackageChanges;

/// Interval between reads of the list of packages.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// Interval while the phone is disconnected: each attempt is a short run of `adb`.
const DISCONNECTED_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reports differences from `known` until the receiver is closed.
pub(super) fn watch(
    inner: &Arc<AdbHostState>,
    mut known: Option<BTreeMap<String, InstalledApp>>,
    changes: &PackageChanges,
) {
    while !changes.is_closed() {
        std::thread::park_timeout(if known.is_some() { POLL_INTERVAL } else { DISCONNECTED_POLL_INTERVAL });
        if changes.is_closed() {
            return;
        }
        match (inner.installed(), &known) {
            (Ok(now), Some(before)) => {
                for package in changed(before, &now) {
                    changes.add_package(package);
                }
                known = Some(now);
            }
            // The phone is back, or another one is connected: anything may have changed.
            (Ok(now), None) => {
                known = Some(now);
                changes.add_everything();
            }
            (Err(error), Some(_)) => {
                tracing::info!(message = %error.message, "the phone is away");
                known = None;
                changes.add_everything();
            }
            (Err(_), None) => {}
        }
    }
}

/// Returns the packages that were added, removed or replaced. Each installation has its own path.
fn changed<'a>(
    before: &'a BTreeMap<String, InstalledApp>,
    now: &'a BTreeMap<String, InstalledApp>,
) -> impl Iterator<Item = &'a String> {
    let gone = before.keys().filter(|package| !now.contains_key(*package));
    now.iter()
        .filter(|(package, it)| before.get(*package) != Some(*it))
        .map(|(package, _)| package)
        .chain(gone)
}
