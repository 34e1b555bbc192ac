//! Converts sessions, messages and turns to REST types.

use toolway_agent::conversations as agent;
use toolway_api::sessions::{
    MessageList, SessionDetail, SessionList, SessionMessage, SessionSummary, TurnSummary,
};
use toolway_api::token_usage::TokenUsage;
use toolway_models::ModelUsage;

pub(super) fn session_list(list: agent::SessionList) -> SessionList {
    SessionList { sessions: list.sessions.into_iter().map(session_summary).collect(), next_cursor: list.next }
}

pub(super) fn session_summary(session: agent::SessionSummary) -> SessionSummary {
    SessionSummary {
        id: session.id,
        title: session.title,
        title_by: session.title_by.as_str().to_owned(),
        agent: session.agent,
        principal: session.principal,
        created_ms: session.created_ms,
        updated_ms: session.updated_ms,
        message_count: session.messages,
        running: session.running,
    }
}

pub(super) fn session_detail(detail: agent::SessionDetail) -> SessionDetail {
    SessionDetail {
        summary: session_summary(detail.summary),
        messages: detail.history.into_iter().map(message).collect(),
        has_more: detail.has_more,
        turns: detail.turns.into_iter().map(turn_summary).collect(),
    }
}

pub(super) fn message_list(list: agent::MessageList) -> MessageList {
    MessageList { messages: list.messages.into_iter().map(message).collect(), has_more: list.has_more }
}

fn message(message: agent::MessageView) -> SessionMessage {
    SessionMessage {
        seq: message.seq,
        turn_id: Some(message.turn),
        role: message.role.as_str().to_owned(),
        created_ms: message.created_ms,
        truncated: message.is_cut,
        parts: message.parts,
    }
}

fn turn_summary(turn: agent::TurnSummary) -> TurnSummary {
    TurnSummary {
        id: turn.id,
        user_message_seq: turn.answers,
        status: turn.state.as_str().to_owned(),
        replaced: turn.is_replaced,
        started_ms: turn.started_ms,
        ended_ms: turn.ended_ms,
        code: turn.code,
        message: turn.message,
        finish_reason: turn.finish,
        rounds: turn.rounds,
        calls: turn.calls,
        usage: token_usage(turn.usage),
        cost: turn.cost,
        currency: turn.currency,
    }
}

/// Converts the token usage of model requests.
pub(in crate::http) fn token_usage(usage: ModelUsage) -> TokenUsage {
    TokenUsage {
        input: usage.input,
        output: usage.output,
        cached: usage.cached,
        cache_written: usage.cache_written,
        reasoning: usage.reasoning,
    }
}
