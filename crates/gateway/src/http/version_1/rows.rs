//! The fields of version 1 in the responses of other resources.

use toolway_api::sessions::{MessageList, MessagePart, SessionList, SessionMessage, SessionSummary};
use toolway_api::tools::ToolView;
use toolway_api::version_1::{CompanionStatus, MessageRow, MessageRows, SessionRow, SessionRows, ToolRow};
use toolway_types::Slug;

use crate::access::TokenState;
use crate::state::AppState;

/// Adds the fields of version 1 to a list of sessions.
pub(in crate::http) fn session_rows(list: SessionList) -> SessionRows {
    SessionRows {
        sessions: list.sessions.into_iter().map(session_row).collect(),
        next_cursor: list.next_cursor,
    }
}

fn session_row(session: SessionSummary) -> SessionRow {
    SessionRow {
        session_id: session.id.clone(),
        created_at: rfc_3339(session.created_ms),
        last_activity: rfc_3339(session.updated_ms),
        name: session.title.clone(),
        persona: session.agent.clone(),
        session,
    }
}

fn rfc_3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).unwrap_or_default().to_string()
}

/// Adds the fields of version 1 to messages.
pub(in crate::http) fn message_rows(list: MessageList) -> MessageRows {
    MessageRows { messages: list.messages.into_iter().map(message_row).collect(), has_more: list.has_more }
}

fn message_row(message: SessionMessage) -> MessageRow {
    let parts = message.read_parts().unwrap_or_default();
    let texts: Vec<String> = parts.iter().filter_map(part_text).filter(|text| !text.is_empty()).collect();
    let kind = match message.role.as_str() {
        "tool" => "tool_result",
        _ if texts.is_empty() && parts.iter().any(|part| part.kind == "tool_call") => "tool_call",
        _ => "message",
    };
    MessageRow { content: texts.join("\n\n"), kind: kind.to_owned(), message }
}

/// Returns the text that a person reads; `None` for thinking, calls and pictures.
fn part_text(part: &MessagePart) -> Option<String> {
    match part.kind.as_str() {
        "text" | "summary" => part.text.clone(),
        "tool_result" => match &part.result {
            Some(result) => Some(result.to::<String>().unwrap_or_else(|_| result.get().to_owned())),
            None => part.message.clone(),
        },
        _ => None,
    }
}

/// Adds the fields of version 1 to a tool.
pub(in crate::http) fn tool_row(app: &AppState, tool: ToolView) -> ToolRow {
    let slug = tool.source.parse::<Slug>().ok();
    let source_type = match slug {
        Some(slug) if slug.is_reserved() => "builtin",
        Some(slug) if app.mcp.upstreams.get(&slug).is_some() => "mcp",
        _ => "remote",
    };
    ToolRow { tool, source_type: source_type.to_owned(), enabled: true }
}

/// Returns the state of the gateway for apps of version 1.
pub(in crate::http) fn companion_status(app: &AppState, token: &TokenState) -> CompanionStatus {
    let agent = token.principal.agent.as_deref().unwrap_or(toolway_agent::agents::DEFAULT_AGENT);
    let agent = app.chat.agents.view(agent).ok();
    let model = agent.and_then(|agent| agent.definition.model.clone());
    let model = app.chat.models.get(model.as_deref()).ok();
    CompanionStatus {
        provider: model.as_ref().map(|model| model.provider.name().to_string()),
        model: model.map(|model| model.id.to_string()).unwrap_or_default(),
        paired: true,
        gateway_port: app.address.local.port(),
    }
}

#[cfg(test)]
mod tests;
