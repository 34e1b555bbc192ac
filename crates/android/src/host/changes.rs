//! Word of packages that changed, from a host to whoever keeps the list of tools. Words that nobody has heard
//! yet are put together, so that any number of broadcasts takes bounded room.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// More packages than this are put together as "any of them".
const MOST_NAMED: usize = 256;

/// Which packages changed since somebody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// These.
    Packages(BTreeSet<String>),
    /// Any of them.
    Everything,
}

#[derive(Debug)]
struct Inner {
    changed: Mutex<Changed>,
    heard: Notify,
    over: AtomicBool,
}

/// Both ends of it. Cheap to clone; may be told from any thread.
#[derive(Debug, Clone)]
pub struct PackageChanges(Arc<Inner>);

impl Default for PackageChanges {
    fn default() -> Self {
        Self(Arc::new(Inner {
            changed: Mutex::new(Changed::Packages(BTreeSet::new())),
            heard: Notify::new(),
            over: AtomicBool::new(false),
        }))
    }
}

impl PackageChanges {
    /// A package was added, replaced, removed or changed.
    pub fn package(&self, package: impl Into<String>) {
        {
            let mut changed = self.0.changed.lock();
            if let Changed::Packages(packages) = &mut *changed {
                packages.insert(package.into());
                if packages.len() > MOST_NAMED {
                    *changed = Changed::Everything;
                }
            }
        }
        self.0.heard.notify_one();
    }

    /// Anything may have changed: the phone was away, say.
    pub fn everything(&self) {
        *self.0.changed.lock() = Changed::Everything;
        self.0.heard.notify_one();
    }

    /// Whether nobody listens any more; then a host stops watching.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Acquire)
    }

    /// Nobody listens any more.
    pub fn end(&self) {
        self.0.over.store(true, Ordering::Release);
    }

    /// Waits until something has changed. It is still there for [`Self::take`] afterwards.
    pub(crate) async fn heard(&self) {
        self.0.heard.notified().await;
    }

    /// What has changed since it was last asked; nothing where nothing has.
    #[must_use]
    pub fn take(&self) -> Option<Changed> {
        let mut changed = self.0.changed.lock();
        match std::mem::replace(&mut *changed, Changed::Packages(BTreeSet::new())) {
            Changed::Packages(packages) if packages.is_empty() => None,
            changed => Some(changed),
        }
    }
}
