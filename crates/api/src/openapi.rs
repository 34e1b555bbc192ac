//! Schemas that no derive can express, for the OpenAPI document.

mod agent_definition;
mod builder;
mod call_status;
mod chat_request;
mod mcp_server_definition;
mod persona_change;
mod policy_rule;
mod text;
mod variants;

pub use agent_definition::{AgentDefinitionSchema, AgentNameSchema};
pub use call_status::CallStatusSchema;
pub use chat_request::ChatRequestSchema;
pub use mcp_server_definition::{McpServerDefinitionSchema, McpServerNameSchema};
pub use persona_change::PersonaChangeSchema;
pub use policy_rule::PolicyRuleSchema;
pub use text::{ShortTextSchema, ToolPatternSchema};
pub(crate) use variants::{described_by_role, exclude_each_other, split_by_role};
