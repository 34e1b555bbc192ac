//! Questions to whoever made a call over a chat's connection, and the answers.

use std::sync::Arc;

use toolway_core::consent::{ConsentDecision, ConsentScope, Question, QuestionEvent, QuestionSink};
use toolway_types::Clock;
use toolway_wire::client_message::{self, Decision, PermissionAnswer};
use toolway_wire::gateway_message::PermissionRequest;
use toolway_wire::{GatewayMessage, error_code};

use super::close::CloseReason;
use super::peer::SocketPeer;
use crate::outbox::Outbox;

/// Sends the questions of a connection's calls to its client, which must know them: there were none in version 1.
/// Made at the first call, for all of them.
pub(super) fn question_sink(peer: &mut SocketPeer) -> Option<QuestionSink> {
    if peer.version < 2 {
        return None;
    }
    if let Some(sink) = &peer.questions {
        return Some(sink.clone());
    }
    let sink = build_sink(peer);
    peer.questions = Some(sink.clone());
    Some(sink)
}

fn build_sink(peer: &SocketPeer) -> QuestionSink {
    let (outbox, clock): (Outbox, Arc<dyn Clock>) = (peer.outbox.clone(), peer.app.clock.clone());
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

/// Asks again what is open in a session, for a client that comes back to it.
pub(super) async fn resend_open_questions(peer: &SocketPeer, session: &Arc<str>) -> Result<(), CloseReason> {
    if peer.version < 2 {
        return Ok(());
    }
    let principal = &peer.token.principal;
    let open = peer.app.engine.questions().visible_to(principal);
    let of_session = open.into_iter().filter(|question| question.session.as_ref() == Some(session));
    let mine = of_session.filter(|question| question.check_answer(principal, ConsentScope::Once).is_ok());
    for question in mine {
        peer.send(permission_request(&question, peer.app.clock.now_ms())).await?;
    }
    Ok(())
}

pub(super) async fn answer_question(peer: &SocketPeer, answer: PermissionAnswer) -> Result<(), CloseReason> {
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
    match peer.app.answer(&answer.id, &peer.token.principal, choice, scope).await {
        Ok(_) => Ok(()),
        Err(refused) => {
            let text = format!("the answer to {:?} was not taken: {refused}", answer.id);
            peer.send_error(error_code::INVALID_MESSAGE, text).await
        }
    }
}
