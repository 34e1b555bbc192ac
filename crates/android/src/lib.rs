//! App providers: Android apps that offer tools through a content provider, in any of the four dialects seen in
//! the wild ([`dialect`]), found, named, called and offered to a gateway as the tools of one device ([`bridge`]).
//!
//! What a phone, a computer with `adb`, or a test does to reach the apps is one trait, [`host::ProviderHost`];
//! everything else is here and the same for all of them. Nothing here knows JNI or a terminal, and nothing reads
//! settings or the environment.

pub mod authorization;
pub mod bounds;
pub mod bridge;
pub mod bundle;
pub mod cetp;
pub mod dialect;
pub mod discovery;
pub mod execution;
pub mod failure;
pub mod host;
pub mod lint;
pub mod manifest;
pub mod mcp;
pub mod naming;
pub mod note;
pub mod options;
mod ordered_json;
pub mod provider;
pub mod provider_client;
pub mod provider_tool_list;
mod report;
pub mod scan;
mod version;
pub mod worker_pool;

pub use authorization::{AuthorizationConsent, AuthorizationPrompt, AuthorizationRequest};
pub use bridge::ProviderBridge;
pub use bundle::{Bundle, BundleValue};
pub use dialect::ProviderDialect;
pub use host::{PackageChanges, ProviderHost};
pub use naming::ProviderNames;
pub use options::BridgeOptions;
pub use provider::{ProviderState, ToolProvider};
