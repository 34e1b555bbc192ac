//! The library that an Android app loads to be a bridge: app providers reached through JNI ([`JniHost`]), a device
//! that offers their tools to a gateway ([`Running`]), and the functions that the app's Java side calls
//! ([`natives`]). Nothing in here is Android's alone; tests run it in any Java virtual machine.
//!
//! Java finds those functions by the spelling of their names, which Rust keeps only with an attribute that counts
//! as unsafe code: two libraries could define one name. They are named after `dev.toolway.host.Natives`, and that
//! attribute is the only unsafe code in this crate. Pointers are JNI's own, wrapped by the crate `jni`; what Java
//! holds of Rust's are numbers that are looked up.

mod app_channel;
mod bridge_runtime;
pub mod codec;
mod host;
pub mod natives;
mod settings;

pub use app_channel::AppChannel;
pub use bridge_runtime::{BridgeStartError, RunningBridge};
pub use host::JniHost;
pub use settings::{BadBridgeSettings, BridgeSettings};
