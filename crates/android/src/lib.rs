//! App providers: Android apps that offer tools through a content provider, in any of the four dialects seen in
//! the wild ([`dialect`]), found, named, called and offered to a gateway as the tools of one device ([`bridge`]).
//!
//! What a phone, a computer with `adb`, or a test does to reach the apps is one trait, [`host::ProviderHost`];
//! everything else is here and the same for all of them. Nothing here knows JNI or a terminal, and nothing reads
//! settings or the environment.

pub mod bundle;
pub mod host;

pub use bundle::{Bundle, Value};
pub use host::ProviderHost;
