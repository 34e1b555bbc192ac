//! Fields and resources for apps of version 1, beside those of the other modules. They are deprecated, and no program of
//! Toolway uses them. docs/version-1.md lists them.

use serde::{Deserialize, Serialize};

use crate::gateway::GatewayStatus;
use crate::sessions::{SessionMessage, SessionSummary};
use crate::tools::ToolView;

/// A session, with the fields of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionRow {
    /// The session.
    #[serde(flatten)]
    pub session: SessionSummary,
    /// As `id`.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub session_id: String,
    /// Time of creation (RFC 3339).
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub created_at: String,
    /// Time of the last message (RFC 3339).
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub last_activity: String,
    /// As `title`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(deprecated, nullable = false))]
    pub name: Option<String>,
    /// As `agent`.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub persona: String,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SessionList))]
pub struct SessionRows {
    /// The most recently used first.
    pub sessions: Vec<SessionRow>,
    /// The `cursor` of the next page. Missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next_cursor: Option<String>,
}

/// A message, with the fields of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageRow {
    /// The message.
    #[serde(flatten)]
    pub message: SessionMessage,
    /// The text of the message. Empty if it has none.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub content: String,
    /// `message`, `tool_call` (only calls, no text) or `tool_result`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub kind: String,
}

/// Messages of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = MessageList))]
pub struct MessageRows {
    /// The oldest first.
    pub messages: Vec<MessageRow>,
    /// True if there are older messages.
    pub has_more: bool,
}

/// A tool, with the fields of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolRow {
    /// The tool.
    #[serde(flatten)]
    pub tool: ToolView,
    /// `builtin`, `mcp` or `remote`.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub source_type: String,
    /// Always true, because the list has only tools that the caller may call.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub enabled: bool,
}

/// The state of the gateway for apps of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CompanionStatus {
    /// The model provider of the caller's default agent. Missing if no model is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(deprecated, nullable = false))]
    pub provider: Option<String>,
    /// The model of the caller's default agent. Empty if no model is configured.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub model: String,
    /// Always true, because the caller has a token.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub paired: bool,
    /// The gateway's port.
    #[cfg_attr(feature = "openapi", schema(deprecated))]
    pub gateway_port: u16,
}

/// The state of the gateway for its owner, with the fields of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OwnerStatus {
    /// The state.
    #[serde(flatten)]
    pub status: GatewayStatus,
    /// The fields that apps of version 1 read.
    #[serde(flatten)]
    pub companion: CompanionStatus,
}

/// The state of the gateway. Only the owner sees all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StatusView {
    /// For the owner.
    Owner(Box<OwnerStatus>),
    /// For other callers.
    Companion(CompanionStatus),
}

/// The owner's state has the fields of the other one too, so both schemas may match.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for StatusView {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let of = utoipa::openapi::Ref::from_schema_name;
        let any = utoipa::openapi::schema::AnyOfBuilder::new()
            .item(of("OwnerStatus"))
            .item(of("CompanionStatus"))
            .description(Some("The state of the gateway. Only the owner sees all of it."));
        utoipa::openapi::RefOr::T(any.build().into())
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for StatusView {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
        schemas.push((OwnerStatus::name().into_owned(), <OwnerStatus as utoipa::PartialSchema>::schema()));
        schemas.push((
            CompanionStatus::name().into_owned(),
            <CompanionStatus as utoipa::PartialSchema>::schema(),
        ));
        OwnerStatus::schemas(schemas);
        CompanionStatus::schemas(schemas);
    }
}

/// Body of `PUT /api/sessions/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NameSessionRequest {
    /// The title.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::openapi::ShortTextSchema))]
    pub name: String,
}

/// Response of `PUT /api/sessions/{id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedSession {
    /// The session's id.
    pub session_id: String,
    /// Its title.
    pub name: String,
}

/// An agent in the form of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Persona {
    /// The agent's name.
    pub name: String,
    /// False for the agent `default`.
    pub is_persona: bool,
    /// Always false, because agents have no such files.
    pub has_identity: bool,
    /// True if the agent has a prompt. Only the owner sees that.
    pub has_system_prompt: bool,
    /// The prompt. Only for the owner, and only in the response for one agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub system_prompt: Option<String>,
    /// Tools of the agent. Empty if it has all, or if the caller is not the owner.
    pub allowed_tools: Vec<String>,
    /// Tools that the agent does not have. Only for the owner.
    pub denied_tools: Vec<String>,
    /// Always empty, because there are no skills.
    pub denied_skills: Vec<String>,
    /// The model, as `NAME/ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub model: Option<String>,
}

/// The agents in the form of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PersonaList {
    /// By name.
    pub personas: Vec<Persona>,
}

/// Body of `PUT /api/personas/{name}`. A missing field changes nothing. Other fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PersonaChange {
    /// The prompt.
    pub system_prompt: Option<String>,
    /// Names of the only tools that the agent has. None: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Names of tools that the agent does not have.
    pub denied_tools: Option<Vec<String>>,
    /// The model, as `NAME/ID`, or an id of the first model provider. An empty text: the first model.
    pub model: Option<String>,
}

/// Response of `PUT` and `DELETE /api/personas/{name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangedPersona {
    /// Always `ok`.
    pub status: String,
    /// The agent's name.
    pub name: String,
}

/// The models in the form of version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfiguredModels {
    /// The default model of each model provider.
    pub data: Vec<ConfiguredModel>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConfiguredModel {
    /// The model, as `NAME/ID`.
    pub id: String,
}
