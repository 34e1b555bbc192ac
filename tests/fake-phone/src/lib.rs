//! A fake phone for the real program `adb`: the device side of adb's protocol on a free loopback port, a real
//! shell (`sh`), and in this shell the Android commands that Toolway uses: `content`, `pm`, `cmd package`,
//! `dumpsys package`, `am`, `getprop` and `id`, with the output formats of the platform's sources. `stat` and
//! `dd` are the system's own.
//!
//! It is strict: unknown options are errors, a provider is only reached through its authority, and
//! permissions and exported components are checked as in Android. The shell parses the command lines, so
//! wrong quoting is detected. It contains no JSON and reads no manifest: tests define the installed apps.

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

/// A fake phone. It is unplugged when it is dropped.
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
    /// Starts a phone.
    ///
    /// # Panics
    /// If the system has no port or folder for it.
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

    /// Returns the serial number, which is also the address for `adb connect`.
    #[must_use]
    pub fn serial(&self) -> String {
        self.address.to_string()
    }

    /// Installs an app, replacing one with the same package.
    pub fn install(&self, app: PhoneApp) {
        self.inner.android.install(app);
    }

    /// Uninstalls an app.
    pub fn uninstall(&self, package: &str) {
        self.inner.android.uninstall(package);
    }

    /// Returns the calls that providers have received.
    #[must_use]
    pub fn received_calls(&self) -> Vec<ReceivedCall> {
        self.inner.android.received_calls()
    }

    /// Returns the opened activities as `package/class`.
    #[must_use]
    pub fn opened_activities(&self) -> Vec<String> {
        self.inner.android.opened_activities()
    }

    /// Pulls the cable: everything in progress is interrupted.
    pub fn unplug(&self) {
        self.inner.plugged.store(false, Ordering::SeqCst);
        for connection in self.inner.connections.lock().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Plugs the cable in again. After `adb connect`, it must be connected again.
    pub fn plug(&self) {
        self.inner.plugged.store(true, Ordering::SeqCst);
    }
}

impl Drop for FakePhone {
    fn drop(&mut self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        self.unplug();
        // Wakes the accepting thread, so that it ends.
        let _ = TcpStream::connect(self.address);
    }
}
