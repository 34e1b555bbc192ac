//! Model providers behind one internal form: what is said to a model ([`request`]), what it answers ([`event`]),
//! and how the two cross into each provider's API and back.
//!
//! Nothing here runs a tool, keeps a conversation or reads the environment: keys and addresses are handed in.

pub mod collect;
pub mod error;
pub mod event;
pub mod message;
pub mod provider;
pub mod request;
pub mod tools;
pub mod usage;

pub use collect::{Collected, Collector};
pub use error::{ModelError, ModelErrorKind};
pub use event::{FinishReason, ModelEvent};
pub use message::{Message, MessageRole, Opaque, Part, ToolCall, ToolResult};
pub use provider::{ModelProvider, ModelStream, ProviderKind};
pub use request::{ModelOptions, ModelRequest, OutputSchema, ReasoningEffort, ToolChoice};
pub use tools::{ToolDefinition, ToolSet};
pub use usage::Usage;
