//! Word of changes: the phone tells nobody at the computer which packages change, so it is asked, at a bounded pace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::AdbHostState;
use super::packages::InstalledApp;
use crate::host::PackageChanges;

/// How often the list of packages is looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// How often while the phone is away: each try is one short run of `adb`.
const DISCONNECTED_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Watches until nobody listens any more, for what is not as `known` has it.
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
            // It is back, or another one is there: anything may be new.
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

/// The packages that came, went, or are others now: each installation has a path of its own.
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
