//! Who listens for changed packages. Java names a listener by a number, so that a broadcast which comes late
//! finds nobody instead of something that is gone.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use toolway_android::host::PackageChanges;

static LISTENERS: LazyLock<Mutex<HashMap<i64, PackageChanges>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicI64 = AtomicI64::new(1);

/// A number for a new listener.
pub(super) fn add_listener(changes: PackageChanges) -> i64 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut listeners = LISTENERS.lock();
    listeners.retain(|_, changes| !changes.is_closed());
    listeners.insert(number, changes);
    number
}

/// This one listens no more.
pub(super) fn remove_listener(number: i64) {
    LISTENERS.lock().remove(&number);
}

/// Tells a listener of a package; of any, where none is named. Whether it listens still.
pub(crate) fn notify_listener(number: i64, package: Option<String>) -> bool {
    let mut listeners = LISTENERS.lock();
    let Some(changes) = listeners.get(&number) else { return false };
    if changes.is_closed() {
        listeners.remove(&number);
        return false;
    }
    match package {
        Some(package) => changes.add_package(package),
        None => changes.add_everything(),
    }
    true
}
