//! Model providers behind one internal form: what is said to a model ([`request`]), what it answers ([`event`]),
//! and how the two cross into each provider's API and back.
//!
//! Nothing here runs a tool, keeps a conversation or reads the environment: keys and addresses are handed in.

mod anthropic;
pub mod collector;
pub mod config;
pub mod error;
pub mod event;
mod exchange;
mod failure;
mod gemini;
mod lenient;
pub mod message;
mod opaque;
mod openai;
mod openai_responses;
pub mod presets;
pub mod provider;
pub mod replay;
pub mod request;
mod request_body;
mod response;
mod retry;
pub mod schema;
pub mod tool_names;
mod tool_result;
pub mod tools;
pub mod transport;
pub mod usage;

pub use anthropic::VERSION as ANTHROPIC_VERSION;
pub use collector::{CollectedResponse, ResponseCollector};
pub use error::{ModelError, ModelErrorKind};
pub use event::{FinishReason, ModelEvent};
pub use message::{MessagePart, MessageRole, ModelMessage, OpaqueState, ToolCall, ToolResult};
pub use provider::{ModelProvider, ModelStream, ProviderKind};
pub use request::{ModelOptions, ModelRequest, OutputSchema, ReasoningEffort, ToolChoice};
pub use tools::{ToolDefinition, ToolSet};
pub use usage::ModelUsage;
