//! App providers: Android apps that offer tools through a content provider, in any of the four published
//! dialects ([`dialect`]). This crate finds, names and calls them, and offers their tools to a gateway as the
//! tools of one device ([`bridge`]).
//!
//! The trait [`host::ProviderHost`] has everything that differs between a phone, a computer with `adb`, and a
//! test. The rest is the same for all of them. This crate has no JNI and no terminal code, and reads no
//! settings and no environment.

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
pub mod prefixes;
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
