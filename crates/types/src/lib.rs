//! Types shared by all parts of Toolway: tool specs ([`spec`]), call outcomes ([`outcome`], [`error`],
//! [`envelope`]), names and ids ([`name`], [`id`]) and callers ([`principal`]).
//!
//! This crate depends on no other crate of Toolway, does no I/O, and is small enough for a phone.

pub mod clock;
pub mod content;
pub mod envelope;
pub mod error;
pub mod foreign_json;
pub mod id;
pub mod json;
pub mod name;
pub mod original_error;
pub mod outcome;
pub mod pattern;
pub mod picture;
pub mod principal;
mod renamed_field;
#[cfg(feature = "schema")]
pub mod schema;
pub mod spec;
pub mod text;

pub use clock::{Clock, SystemClock};
pub use content::ContentPart;
pub use envelope::ResultEnvelope;
pub use error::{Code, ErrorKind, ToolError};
pub use id::CallId;
pub use json::{JsonObject, RawJson};
pub use name::{ExposedName, NameError, Slug, ToolId, ToolName};
pub use original_error::{JsonRpcError, OriginalError};
pub use outcome::{Outcome, ToolOutput};
pub use principal::{Principal, PrincipalId, Role};
pub use renamed_field::describe_renamed_field;
pub use spec::{SpecDocument, ToolAnnotations};
