//! Model providers behind one internal form: requests ([`request`]), events of responses ([`event`]), and their
//! conversion to and from each provider's API.
//!
//! This crate does not run tools, store conversations or read the environment. The caller passes in keys and addresses.

mod adapters;
mod api_provider;
mod call_arguments;
pub mod collector;
pub mod config;
pub mod error;
pub mod event;
mod exchange;
mod failure;
mod inline_thinking;
mod lenient;
pub mod message;
mod model_list;
mod opaque;
pub mod presets;
pub mod provider;
mod provider_api;
pub mod provider_kind;
mod raw_fields;
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

pub use adapters::{ANTHROPIC_VERSION, build_provider};
pub use collector::{CollectedResponse, ResponseCollector};
pub use error::{ModelError, ModelErrorKind};
pub use event::{FinishReason, ModelEvent};
pub use message::{MessagePart, MessageRole, ModelMessage, OpaqueState, ToolCall, ToolResult};
pub use provider::{ModelProvider, ModelStream};
pub use provider_kind::ProviderKind;
pub use request::{ModelOptions, ModelRequest, OutputSchema, ReasoningEffort, ToolChoice};
pub use tools::{ToolDefinition, ToolSet};
pub use usage::ModelUsage;
