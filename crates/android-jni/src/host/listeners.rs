//! Listeners for changed packages. Java refers to a listener by a number, so that a late broadcast finds
//! nothing instead of a freed object.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use toolway_android::host::PackageChanges;

static LISTENERS: LazyLock<Mutex<HashMap<i64, PackageChanges>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Registers a listener and returns its number.
pub(super) fn add_listener(changes: PackageChanges) -> i64 {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut listeners = LISTENERS.lock();
    listeners.retain(|_, changes| !changes.is_closed());
    listeners.insert(number, changes);
    number
}

/// Removes a listener.
pub(super) fn remove_listener(number: i64) {
    LISTENERS.lock().remove(&number);
}

/// Notifies a listener about a package, or about all packages if `package` is `None`. Returns true if it is
/// still registered.
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
