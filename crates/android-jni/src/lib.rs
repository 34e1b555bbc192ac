//! The library that an Android app loads to act as a bridge: access to app providers through JNI
//! ([`JniHost`]), a device that offers their tools to a gateway ([`RunningBridge`]), and the functions that
//! the app's Java side calls ([`natives`]). Nothing here is specific to Android; tests run it in any Java
//! virtual machine.
//!
//! Java finds these functions by their names, which Rust exports only with an attribute that counts as unsafe
//! code, because two libraries could define the same name. They are named after `dev.toolway.host.Natives`,
//! and this attribute is the only unsafe code in this crate. The crate `jni` wraps JNI's pointers; Java
//! refers to Rust objects by numbers that are looked up.

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
