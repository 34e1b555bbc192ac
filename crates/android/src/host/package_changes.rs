//! Word of packages that changed, from a host to whoever keeps the list of tools. Words that nobody has heard
//! yet are put together, so that any number of broadcasts takes bounded room.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// More packages than this are put together as "any of them".
const MAX_NAMED: usize = 256;

/// Which packages changed since somebody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedPackages {
    /// These.
    Packages(BTreeSet<String>),
    /// Any of them.
    Everything,
}

#[derive(Debug)]
struct PackageChangesState {
    changed: Mutex<ChangedPackages>,
    notify: Notify,
    closed: AtomicBool,
}

/// Both ends of it. Cheap to clone; may be told from any thread.
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
    /// A package was added, replaced, removed or changed.
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

    /// Anything may have changed: the phone was away, say.
    pub fn add_everything(&self) {
        *self.0.changed.lock() = ChangedPackages::Everything;
        self.0.notify.notify_one();
    }

    /// Whether nobody listens any more; then a host stops watching.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Nobody listens any more.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    /// Waits until something has changed. It is still there for [`Self::take`] afterwards.
    pub(crate) async fn wait_for_change(&self) {
        self.0.notify.notified().await;
    }

    /// What has changed since it was last asked; nothing where nothing has.
    #[must_use]
    pub fn take(&self) -> Option<ChangedPackages> {
        let mut changed = self.0.changed.lock();
        match std::mem::replace(&mut *changed, ChangedPackages::Packages(BTreeSet::new())) {
            ChangedPackages::Packages(packages) if packages.is_empty() => None,
            changed => Some(changed),
        }
    }
}
