//! A phone for tests, as the real program `adb` sees one: the device side of adb's protocol on a loopback port of
//! the system's choosing, a real shell (`sh`) behind it, and in that shell the commands of Android that are asked:
//! `content`, `pm`, `cmd package`, `dumpsys package`, `am`, `getprop` and `id`, with the output formats of the
//! platform's sources. `stat` and `dd` are the system's own.
//!
//! It is strict: what a command does not know is an error, a provider is only reached through its authority, and
//! permissions and exported components are checked as the system does. What a line means is decided by the shell, so
//! quoting that is wrong shows. It speaks no JSON and reads no manifest: what is installed is said by the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panicking"
)]

mod adb;
mod android;
pub mod apps;
mod commands;
mod content;
mod fake_android;
mod protocol;
mod shell;

pub use adb::{AdbClientOutput, AdbServer};
pub use android::{
    ExtraEscaping, ExtraValue, PhoneApp, PhoneSetup, ProviderReply, ProviderSetup, ReceivedCall, ReplyHandler,
};

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use fake_android::FakeAndroid;

/// A phone. It is unplugged when it is dropped.
#[derive(Debug)]
pub struct FakePhone {
    address: SocketAddr,
    inner: Arc<FakePhoneState>,
}

#[derive(Debug)]
struct FakePhoneState {
    android: Arc<FakeAndroid>,
    plugged: AtomicBool,
    closed: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
}

impl FakePhone {
    /// Switches one on.
    ///
    /// # Panics
    /// Where the system has no port or no folder for it.
    #[must_use]
    pub fn start(setup: PhoneSetup) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Arc::new(FakePhoneState {
            android: FakeAndroid::start(setup),
            plugged: AtomicBool::new(true),
            closed: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let accepting = Arc::clone(&inner);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if accepting.closed.load(Ordering::SeqCst) {
                    return;
                }
                let connection = connection.unwrap();
                if !accepting.plugged.load(Ordering::SeqCst) {
                    continue;
                }
                connection.set_nodelay(true).unwrap();
                accepting.connections.lock().push(connection.try_clone().unwrap());
                let android = Arc::clone(&accepting.android);
                std::thread::spawn(move || protocol::serve(connection, &android));
            }
        });
        Self { address, inner }
    }

    /// Its serial number, which is also what `adb connect` takes.
    #[must_use]
    pub fn serial(&self) -> String {
        self.address.to_string()
    }

    /// Installs an app, in the place of one of the same package.
    pub fn install(&self, app: PhoneApp) {
        self.inner.android.install(app);
    }

    /// Takes an app away.
    pub fn uninstall(&self, package: &str) {
        self.inner.android.uninstall(package);
    }

    /// The calls that providers have had.
    #[must_use]
    pub fn received_calls(&self) -> Vec<ReceivedCall> {
        self.inner.android.received_calls()
    }

    /// The activities that were opened, as `package/class`.
    #[must_use]
    pub fn opened_activities(&self) -> Vec<String> {
        self.inner.android.opened_activities()
    }

    /// Pulls the cable: what is under way breaks off.
    pub fn unplug(&self) {
        self.inner.plugged.store(false, Ordering::SeqCst);
        for connection in self.inner.connections.lock().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Plugs it in again; where it was connected by `adb connect`, it has to be connected again.
    pub fn plug(&self) {
        self.inner.plugged.store(true, Ordering::SeqCst);
    }
}

impl Drop for FakePhone {
    fn drop(&mut self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        self.unplug();
        // Wakes the thread that accepts, so that it sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}
