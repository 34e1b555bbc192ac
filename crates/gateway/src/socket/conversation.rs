//! The conversation on a chat's connection: which session it is of, what is said in it, and its turns as they are
//! shown. The turns themselves run elsewhere and go on when the connection goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use toolway_agent::conversations::{
    AbortStatus, OpenSession, OpenSessionError, OpenedSession, StartTurnError,
};
use toolway_agent::event::TurnEvent;
use toolway_agent::turn::{ConnectionRegistration, TurnInput, TurnRequest, TurnViewer};
use toolway_store::StoreError;
use toolway_wire::client_message::UserMessage;
use toolway_wire::error_code;
use toolway_wire::gateway_message::{AbortAck, ErrorMessage, SessionStart};

use super::close::{CloseReason, GOING_AWAY, INTERNAL};
use super::peer::{PARSE_BLOCKING_THRESHOLD, SocketParams, SocketPeer};
use super::questions;
use crate::chat::frames;
use crate::chat::input::{self, BadMessage};
use crate::chat::turn_watcher::{FollowedTurn, TurnWatcher, WatcherGone, follow_turn};
use crate::outbox::Outbox;

/// What version 1 clients ask for where they have read null as a text.
const NULL: &str = "null";

/// The conversation on a chat's connection.
#[derive(Debug, Default)]
pub(crate) struct SocketConversation {
    /// The session that was asked for.
    requested: Option<Arc<str>>,
    /// The session that it is; none where it could not be opened.
    opened: Option<OpenedSession>,
    /// What the connection has registered, for its turns.
    own_registration: ConnectionRegistration,
    /// The turns that are shown: one that runs, and those before it that may still bring a title.
    shown_turns: Vec<ShownTurn>,
}

/// A turn that is shown.
#[derive(Debug)]
struct ShownTurn {
    is_running: Arc<AtomicBool>,
    /// Held while something of it is sent; false once nothing more may be.
    may_show: Arc<Mutex<bool>>,
}

/// Shows a turn to its connection.
struct SocketTurnWatcher {
    outbox: Outbox,
    version: u32,
    is_running: Arc<AtomicBool>,
    may_show: Arc<Mutex<bool>>,
}

impl SocketConversation {
    pub(super) fn new(introduction: &SocketParams) -> Self {
        let wanted = introduction.session_id.clone().filter(|id| &**id != NULL);
        Self { requested: wanted, ..Self::default() }
    }

    /// The session's id.
    pub(super) fn session(&self) -> Option<&Arc<str>> {
        self.opened.as_ref().map(|opened| &opened.id)
    }

    /// What the connection has registered; its turns see what is set here.
    pub(super) fn own_registration(&self) -> &ConnectionRegistration {
        &self.own_registration
    }

    /// The connection is over. Its turns go on, without its tools.
    pub(super) fn detach(&mut self) {
        self.own_registration.set(None);
    }

    /// Shows nothing more of the turns that are shown: when this returns, nothing of them follows.
    async fn stop_showing(&mut self) {
        for shown in self.shown_turns.drain(..) {
            *shown.may_show.lock().await = false;
        }
    }

    fn is_turn_running(&self) -> bool {
        self.shown_turns.iter().any(|shown| shown.is_running.load(Ordering::SeqCst))
    }
}

/// Opens the session that was asked for, or a new one, and says so; then shows the turn that runs in it. Where it
/// can't be opened, that is said instead.
pub(crate) async fn open_session(peer: &mut SocketPeer) -> Result<(), CloseReason> {
    peer.conversation.stop_showing().await;
    peer.conversation.opened = None;
    let wanted = peer.conversation.requested.clone();
    let open = OpenSession { id: wanted.as_deref(), agent: peer.params.persona.as_deref() };
    let opened = peer.app.chat.conversations.open(&peer.token.principal, open).await;
    match opened {
        Ok(opened) => begin_session(peer, opened).await,
        Err(error) => send_open_error(peer, error).await,
    }
}

async fn begin_session(peer: &mut SocketPeer, opened: OpenedSession) -> Result<(), CloseReason> {
    let is_newer = peer.version >= 2;
    let agent = opened.agent.to_string();
    let start = SessionStart {
        v: peer.version,
        session_id: opened.id.to_string(),
        resumed: opened.resumed,
        message_count: opened.message_count,
        name: peer.params.name.clone(),
        persona: if is_newer { Some(agent) } else { peer.params.persona.clone() },
        model: opened.model.clone().filter(|_| is_newer),
        busy: (is_newer && opened.busy).then_some(true),
    };
    let (id, busy) = (Arc::clone(&opened.id), opened.busy);
    peer.conversation.requested = Some(Arc::clone(&id));
    peer.conversation.opened = Some(opened);
    peer.send(start).await?;
    if !busy {
        return Ok(());
    }
    // It may have ended just now.
    if let Ok(Some(viewer)) = peer.app.chat.conversations.attach(&peer.token.principal, &id).await {
        show_turn(peer, Arc::clone(&id), viewer).await?;
        questions::resend_open_questions(peer, &id).await?;
    }
    Ok(())
}

async fn send_open_error(peer: &SocketPeer, error: OpenSessionError) -> Result<(), CloseReason> {
    let words = error.to_string();
    match error {
        OpenSessionError::OwnerMismatch => peer.send_error(error_code::SESSION_OWNER_MISMATCH, words).await,
        OpenSessionError::InvalidId(_) => peer.send_error(error_code::SESSION_BIND_FAILED, words).await,
        OpenSessionError::Store(error) => {
            tracing::error!(%error, "a session could not be opened");
            let text = "the session could not be opened; the gateway's log says why";
            peer.send_error(error_code::SESSION_BIND_FAILED, text).await
        }
        OpenSessionError::UnknownAgent(_) | OpenSessionError::AgentForbidden { .. } => {
            peer.send_error(error_code::AGENT_INIT_FAILED, words.clone()).await?;
            Err(CloseReason::with_code(INTERNAL, words))
        }
        OpenSessionError::ShuttingDown => Err(CloseReason::with_code(GOING_AWAY, words)),
    }
}

/// `connect` names a session: it is this one from now on.
pub(super) async fn bind_session(peer: &mut SocketPeer, id: Option<&str>) -> Result<(), CloseReason> {
    let Some(id) = id.filter(|id| !id.is_empty() && *id != NULL) else { return Ok(()) };
    if peer.conversation.session().is_some_and(|open| **open == *id) {
        return Ok(());
    }
    peer.conversation.requested = Some(Arc::from(id));
    open_session(peer).await
}

pub(super) async fn handle_message(peer: &mut SocketPeer, message: UserMessage) -> Result<(), CloseReason> {
    let UserMessage { content, debug, attachments } = message;
    let is_long =
        attachments.iter().map(toolway_types::ContentPart::size).sum::<usize>() > PARSE_BLOCKING_THRESHOLD;
    let parts = if is_long {
        let parts = tokio::task::spawn_blocking(move || input::message_parts(content, &attachments)).await;
        parts.unwrap_or(Err(BadMessage::Empty))
    } else {
        input::message_parts(content, &attachments)
    };
    match parts {
        Ok(parts) => start_turn(peer, TurnInput::Message(parts), debug).await,
        Err(bad) => {
            let code = match bad {
                BadMessage::Empty => error_code::EMPTY_CONTENT,
                BadMessage::TooLong | BadMessage::TooMany(_) => error_code::LIMIT_EXCEEDED,
                BadMessage::Attachment { .. } => error_code::INVALID_MESSAGE,
            };
            peer.send_error(code, bad.to_string()).await
        }
    }
}

pub(super) async fn regenerate(peer: &mut SocketPeer, debug: Option<bool>) -> Result<(), CloseReason> {
    start_turn(peer, TurnInput::Regenerate, debug).await
}

async fn start_turn(peer: &mut SocketPeer, input: TurnInput, debug: Option<bool>) -> Result<(), CloseReason> {
    if peer.conversation.opened.is_none() {
        // What kept it from being opened may be over.
        open_session(peer).await?;
    }
    let Some(OpenedSession { id, agent, .. }) = peer.conversation.opened.clone() else { return Ok(()) };
    let turn = TurnRequest {
        session: Arc::clone(&id),
        principal: Arc::clone(&peer.token.principal),
        agent: Some(agent),
        input,
        registration: peer.conversation.own_registration.clone(),
        questions: questions::question_sink(peer),
        debug: debug.unwrap_or_default(),
    };
    match peer.app.chat.conversations.start(turn).await {
        Ok(viewer) => show_turn(peer, id, viewer).await,
        Err(refused) => send_turn_refusal(peer, refused).await,
    }
}

async fn send_turn_refusal(peer: &SocketPeer, refused: StartTurnError) -> Result<(), CloseReason> {
    let words = refused.to_string();
    let (code, hint) = match &refused {
        StartTurnError::Busy => (error_code::SESSION_BUSY, Some("wait for its end, or send abort")),
        StartTurnError::NoUserMessage => (error_code::NO_USER_MESSAGE, None),
        StartTurnError::EmptyContent => (error_code::EMPTY_CONTENT, None),
        StartTurnError::OwnerMismatch => (error_code::SESSION_OWNER_MISMATCH, None),
        StartTurnError::InvalidId(_) => (error_code::SESSION_BIND_FAILED, None),
        StartTurnError::AgentForbidden { .. } => (error_code::FORBIDDEN, None),
        StartTurnError::TooMany(_) => (error_code::LIMIT_EXCEEDED, Some("try again in a moment")),
        StartTurnError::UnknownAgent(_) | StartTurnError::ShuttingDown => (error_code::AGENT_ERROR, None),
        StartTurnError::Store(StoreError::MessageTooLarge { .. }) => (error_code::LIMIT_EXCEEDED, None),
        StartTurnError::Store(StoreError::SessionFull { .. }) => {
            (error_code::LIMIT_EXCEEDED, Some("begin another conversation"))
        }
        StartTurnError::Store(error) => {
            tracing::error!(%error, "a message could not be kept");
            let text = "the message could not be kept; the gateway's log says why";
            return peer.send_error(error_code::AGENT_ERROR, text).await;
        }
    };
    peer.app.metrics.record_refusal(code);
    peer.send(ErrorMessage {
        message: words,
        code: Some(code.to_owned()),
        hint: hint.filter(|_| peer.version >= 2).map(str::to_owned),
        reason: None,
    })
    .await
}

/// Ends the turn that runs in the session, whoever started it.
pub(super) async fn abort_turn(peer: &SocketPeer) -> Result<(), CloseReason> {
    let acknowledge = |status: &str| peer.send(AbortAck { status: status.to_owned() });
    let Some(session) = peer.conversation.session() else { return acknowledge("idle").await };
    let abort = peer.app.chat.conversations.abort(&peer.token.principal, session);
    if peer.conversation.is_turn_running() {
        // Said first, so that it stands before what ends the turn.
        acknowledge("aborting").await?;
        let _ = abort.await;
        return Ok(());
    }
    match abort.await {
        Ok(AbortStatus::Aborting) => acknowledge("aborting").await,
        Ok(AbortStatus::Idle) | Err(_) => acknowledge("idle").await,
    }
}

/// Shows a turn to its end, in a task of its own, which outlives the connection.
async fn show_turn(peer: &mut SocketPeer, session: Arc<str>, viewer: TurnViewer) -> Result<(), CloseReason> {
    let TurnViewer { text_so_far, running_calls: calls_so_far, events, turn: _ } = viewer;
    for frame in frames::catch_up_frames(text_so_far, calls_so_far) {
        peer.outbox.send(frame.text).await.map_err(|_| CloseReason::PeerGone)?;
    }
    let (is_running, may_show) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(true)));
    let screen = SocketTurnWatcher {
        outbox: peer.outbox.clone(),
        version: peer.version,
        is_running: Arc::clone(&is_running),
        may_show: Arc::clone(&may_show),
    };
    let (chat, token) = (Arc::clone(&peer.app.chat), Arc::clone(&peer.token));
    tokio::spawn(follow_turn(FollowedTurn { chat, token, session, events }, screen));
    // A turn is over once its screen is gone.
    peer.conversation.shown_turns.retain(|shown| Arc::strong_count(&shown.may_show) > 1);
    peer.conversation.shown_turns.push(ShownTurn { is_running, may_show });
    Ok(())
}

impl TurnWatcher for SocketTurnWatcher {
    async fn handle_event(&mut self, event: TurnEvent) -> Result<(), WatcherGone> {
        if matches!(event, TurnEvent::Ended(_)) {
            self.is_running.store(false, Ordering::SeqCst);
        }
        let Some(frame) = frames::event_frame(event, self.version) else { return Ok(()) };
        let may_show = self.may_show.lock().await;
        if !*may_show {
            return Err(WatcherGone);
        }
        self.outbox.send(frame.text).await.map_err(|_| WatcherGone)
    }
}

impl Drop for SocketTurnWatcher {
    fn drop(&mut self) {
        self.is_running.store(false, Ordering::SeqCst);
    }
}
