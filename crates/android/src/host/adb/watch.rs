//! Word of changes: the phone tells nobody at the computer which packages change, so it is asked, at a bounded pace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Inner;
use super::packages::Installed;
use crate::host::PackageChanges;

/// How often the list of packages is looked at.
const PACE: Duration = Duration::from_secs(3);
/// How often while the phone is away: each try is one short run of `adb`.
const PACE_AWAY: Duration = Duration::from_secs(1);

/// Watches until nobody listens any more, for what is not as `known` has it.
pub(super) fn watch(
    inner: &Arc<Inner>,
    mut known: Option<BTreeMap<String, Installed>>,
    changes: &PackageChanges,
) {
    while !changes.is_over() {
        std::thread::park_timeout(if known.is_some() { PACE } else { PACE_AWAY });
        if changes.is_over() {
            return;
        }
        match (inner.installed(), &known) {
            (Ok(now), Some(before)) => {
                for package in changed(before, &now) {
                    changes.package(package);
                }
                known = Some(now);
            }
            // It is back, or another one is there: anything may be new.
            (Ok(now), None) => {
                known = Some(now);
                changes.everything();
            }
            (Err(error), Some(_)) => {
                tracing::info!(message = %error.message, "the phone is away");
                known = None;
                changes.everything();
            }
            (Err(_), None) => {}
        }
    }
}

/// The packages that came, went, or are others now: each installation has a path of its own.
fn changed<'a>(
    before: &'a BTreeMap<String, Installed>,
    now: &'a BTreeMap<String, Installed>,
) -> impl Iterator<Item = &'a String> {
    let gone = before.keys().filter(|package| !now.contains_key(*package));
    now.iter()
        .filter(|(package, it)| before.get(*package) != Some(*it))
        .map(|(package, _)| package)
        .chain(gone)
}
