//! Sends questions about the calls of a chat connection to its client, and handles the answers.

use std::sync::Arc;

use toolway_core::consent::{ConsentDecision, ConsentScope, Question, QuestionEvent, QuestionSink};
use toolway_types::Clock;
use toolway_wire::client_message::{self, Decision, PermissionAnswer};
use toolway_wire::gateway_message::PermissionRequest;
use toolway_wire::{GatewayMessage, error_code};

use super::close::CloseReason;
use super::context::SocketContext;
use crate::outbox::Outbox;

/// Sends the questions of a connection's calls and turns to its client.
#[derive(Default)]
pub(super) struct ClientQuestions {
    /// Created at the first call, for all calls.
    sink: Option<QuestionSink>,
}

impl ClientQuestions {
    /// Returns the sink of questions; `None` for a client of version 1, which has no message for them.
    pub(super) fn sink(&mut self, cx: &SocketContext) -> Option<QuestionSink> {
        if cx.version < 2 {
            return None;
        }
        Some(self.sink.get_or_insert_with(|| build_sink(cx)).clone())
    }
}

fn build_sink(cx: &SocketContext) -> QuestionSink {
    let (outbox, clock): (Outbox, Arc<dyn Clock>) = (cx.outbox.clone(), cx.app.clock.clone());
    Arc::new(move |event: &QuestionEvent| {
        if let QuestionEvent::Asked(question) = event {
            // A client that does not read is closed, which withdraws the question.
            outbox.try_send(GatewayMessage::from(permission_request(question, clock.now_ms())).encode());
        }
    })
}

fn permission_request(question: &Question, now_ms: i64) -> PermissionRequest {
    PermissionRequest {
        id: question.id.to_string(),
        kind: question.kind.as_str().to_owned(),
        tool: question.tool.full_name().to_string(),
        permission: question.kind.permission().map(ToString::to_string),
        reason: question.reason.clone(),
        args_preview: question.arguments.get().to_owned(),
        expires_ms: u64::try_from(question.expires_ms.saturating_sub(now_ms)).unwrap_or(0),
    }
}

/// Sends the open questions of a session again, for a client that comes back.
pub(super) async fn resend_open_questions(cx: &SocketContext, session: &Arc<str>) -> Result<(), CloseReason> {
    if cx.version < 2 {
        return Ok(());
    }
    let principal = &cx.token.principal;
    let open = cx.app.engine.questions().visible_to(principal);
    let of_session = open.into_iter().filter(|question| question.session.as_ref() == Some(session));
    let mine = of_session.filter(|question| question.check_answer(principal, ConsentScope::Once).is_ok());
    for question in mine {
        cx.send(permission_request(&question, cx.app.clock.now_ms())).await?;
    }
    Ok(())
}

pub(super) async fn answer_question(cx: &SocketContext, answer: PermissionAnswer) -> Result<(), CloseReason> {
    let choice = match answer.decision {
        Decision::Granted => ConsentDecision::Granted,
        Decision::Denied => ConsentDecision::Denied,
        Decision::DeniedAlways => ConsentDecision::DeniedAlways,
    };
    let scope = match answer.scope.unwrap_or_default() {
        client_message::Scope::Once => ConsentScope::Once,
        client_message::Scope::Session => ConsentScope::Session,
        client_message::Scope::Agent => ConsentScope::Agent,
        client_message::Scope::Always => ConsentScope::Always,
    };
    match cx.app.answer(&answer.id, &cx.token.principal, choice, scope).await {
        Ok(_) => Ok(()),
        Err(refused) => {
            let text = format!("the answer to {:?} was refused: {refused}", answer.id);
            cx.send_error(error_code::INVALID_MESSAGE, text).await
        }
    }
}
