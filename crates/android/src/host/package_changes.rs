//! Notifications about changed packages, from a host to the bridge. Unread notifications are merged, so that
//! any number of broadcasts needs bounded memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Number of packages above which all count as changed.
const MAX_NAMED: usize = 256;

/// The packages that have changed since the last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedPackages {
    /// These packages.
    Packages(BTreeSet<String>),
    /// Any package.
    Everything,
}

#[derive(Debug)]
struct PackageChangesState {
    changed: Mutex<ChangedPackages>,
    notify: Notify,
    closed: AtomicBool,
}

/// Both ends of the notifications. Cheap to clone; may be used from any thread.
#[derive(Debug, Clone)]
pub struct PackageChanges(Arc<PackageChangesState>);

impl Default for PackageChanges {
    fn default() -> Self {
        Self(Arc::new(PackageChangesState {
            changed: Mutex::new(ChangedPackages::Packages(BTreeSet::new())),
            notify: Notify::new(),
            closed: AtomicBool::new(false),
        }))
    }
}

impl PackageChanges {
    /// Reports that a package was added, replaced, removed or changed.
    pub fn add_package(&self, package: impl Into<String>) {
        {
            let mut changed = self.0.changed.lock();
            if let ChangedPackages::Packages(packages) = &mut *changed {
                packages.insert(package.into());
                if packages.len() > MAX_NAMED {
                    *changed = ChangedPackages::Everything;
                }
            }
        }
        self.0.notify.notify_one();
    }

    /// Reports that any package may have changed, for example because the phone was disconnected.
    pub fn add_everything(&self) {
        *self.0.changed.lock() = ChangedPackages::Everything;
        self.0.notify.notify_one();
    }

    /// Returns true if there is no listener any more; then a host stops watching.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Closes the receiving end.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    /// Waits for a change, without consuming it (see [`Self::take`]).
    pub(crate) async fn wait_for_change(&self) {
        self.0.notify.notified().await;
    }

    /// Returns the changes since the last call, if any.
    #[must_use]
    pub fn take(&self) -> Option<ChangedPackages> {
        let mut changed = self.0.changed.lock();
        match std::mem::replace(&mut *changed, ChangedPackages::Packages(BTreeSet::new())) {
            ChangedPackages::Packages(packages) if packages.is_empty() => None,
            changed => Some(changed),
        }
    }
}
