//! Requests, responses, queries and events of the REST API, one module for each resource.
//!
//! The gateway writes these types, and the command line and tests read them. Reading is tolerant: unknown fields are
//! ignored, and fields that other versions may leave out have a default. Values that newer gateways may extend, such
//! as `status`, are texts. Request bodies and queries are strict, because the gateway rejects unknown fields in them.
//!
//! The feature `openapi` adds the schemas for the OpenAPI document.

pub mod agents;
pub mod approvals;
pub mod calls;
pub mod chat;
pub mod devices;
pub mod error;
pub mod event_stream;
pub mod gateway;
pub mod grants;
pub mod mcp_servers;
pub mod models;
pub mod number;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod origin;
pub mod pairing;
pub mod policy;
pub mod sessions;
pub mod token_usage;
pub mod tokens;
pub mod tool_changes;
pub mod tools;
pub mod usage;
pub mod version_1;

pub use error::{ErrorDetail, ErrorResponse};
pub use origin::{DefinitionOrigin, FileProblem};
