//! The conversation of a chat connection: its session, its messages, and the events of its turns. Turns run
//! elsewhere and continue when the connection ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use toolway_agent::conversations::{
    AbortStatus, OpenSession, OpenSessionError, OpenedSession, StartTurnError,
};
use toolway_agent::event::TurnEvent;
use toolway_agent::turn::{ConnectionRegistration, TurnInput, TurnRequest, TurnViewer};
use toolway_core::consent::QuestionSink;
use toolway_store::StoreError;
use toolway_wire::client_message::UserMessage;
use toolway_wire::error_code;
use toolway_wire::gateway_message::{AbortAck, ErrorMessage, SessionStart};

use super::close::{CloseReason, GOING_AWAY, INTERNAL};
use super::context::{PARSE_BLOCKING_THRESHOLD, SocketContext, SocketParams};
use super::questions;
use crate::chat::frames;
use crate::chat::input::{self, BadMessage};
use crate::chat::turn_watcher::{FollowedTurn, TurnWatcher, WatcherGone, follow_turn};
use crate::outbox::Outbox;

/// Session id that clients of version 1 send if they read null as a text.
const NULL: &str = "null";

/// The conversation of a chat connection.
#[derive(Debug, Default)]
pub(crate) struct SocketConversation {
    /// The requested session; `None` for a new one.
    requested: Option<Arc<str>>,
    /// The open session; `None` if it could not be opened.
    opened: Option<OpenedSession>,
    /// The tools of the connection, for its turns.
    own_registration: ConnectionRegistration,
    /// The turns that are shown to the client: a running one, and earlier ones that may still get a title.
    shown_turns: Vec<ShownTurn>,
}

/// A turn that is shown to the client.
#[derive(Debug)]
struct ShownTurn {
    is_running: Arc<AtomicBool>,
    /// Locked while a frame of the turn is sent; false once no more may be sent.
    may_show: Arc<Mutex<bool>>,
}

/// Sends events of a turn to the client.
struct SocketTurnWatcher {
    outbox: Outbox,
    version: u32,
    is_running: Arc<AtomicBool>,
    may_show: Arc<Mutex<bool>>,
}

impl SocketConversation {
    /// Creates a conversation without a session. Its turns read the connection's tools through
    /// `registration`.
    pub(super) fn new(params: &SocketParams, registration: ConnectionRegistration) -> Self {
        let requested = params.session_id.clone().filter(|id| &**id != NULL);
        Self { requested, own_registration: registration, ..Self::default() }
    }

    /// Returns the id of the session.
    pub(super) fn session(&self) -> Option<&Arc<str>> {
        self.opened.as_ref().map(|opened| &opened.id)
    }

    /// Removes the tools of the connection from its turns, because the connection has ended. The turns
    /// continue.
    pub(super) fn detach(&mut self) {
        self.own_registration.set(None);
    }

    /// Stops sending events of turns. No frame of them is sent after this returns.
    async fn stop_showing(&mut self) {
        for shown in self.shown_turns.drain(..) {
            *shown.may_show.lock().await = false;
        }
    }

    fn is_turn_running(&self) -> bool {
        self.shown_turns.iter().any(|shown| shown.is_running.load(Ordering::SeqCst))
    }

    /// Opens the requested session or a new one, informs the client, and shows the running turn. If the
    /// session can't be opened, the client gets an error.
    pub(super) async fn open_session(&mut self, cx: &SocketContext) -> Result<(), CloseReason> {
        self.stop_showing().await;
        self.opened = None;
        let wanted = self.requested.clone();
        let open = OpenSession { id: wanted.as_deref(), agent: cx.params.persona.as_deref() };
        let opened = cx.app.chat.conversations.open(&cx.token.principal, open).await;
        match opened {
            Ok(opened) => self.begin_session(cx, opened).await,
            Err(error) => send_open_error(cx, error).await,
        }
    }

    async fn begin_session(&mut self, cx: &SocketContext, opened: OpenedSession) -> Result<(), CloseReason> {
        let is_newer = cx.version >= 2;
        let agent = opened.agent.to_string();
        let start = SessionStart {
            v: cx.version,
            session_id: opened.id.to_string(),
            resumed: opened.resumed,
            message_count: opened.message_count,
            name: cx.params.name.clone(),
            persona: if is_newer { Some(agent) } else { cx.params.persona.clone() },
            model: opened.model.clone().filter(|_| is_newer),
            busy: (is_newer && opened.busy).then_some(true),
        };
        let (id, busy) = (Arc::clone(&opened.id), opened.busy);
        self.requested = Some(Arc::clone(&id));
        self.opened = Some(opened);
        cx.send(start).await?;
        if !busy {
            return Ok(());
        }
        // The turn may have ended since the session was opened.
        if let Ok(Some(viewer)) = cx.app.chat.conversations.attach(&cx.token.principal, &id).await {
            self.show_turn(cx, Arc::clone(&id), viewer).await?;
            questions::resend_open_questions(cx, &id).await?;
        }
        Ok(())
    }

    /// Changes to the session in `connect`.
    pub(super) async fn bind_session(
        &mut self,
        cx: &SocketContext,
        id: Option<&str>,
    ) -> Result<(), CloseReason> {
        let Some(id) = id.filter(|id| !id.is_empty() && *id != NULL) else { return Ok(()) };
        if self.session().is_some_and(|open| **open == *id) {
            return Ok(());
        }
        self.requested = Some(Arc::from(id));
        self.open_session(cx).await
    }

    pub(super) async fn handle_message(
        &mut self,
        cx: &SocketContext,
        questions: Option<QuestionSink>,
        message: UserMessage,
    ) -> Result<(), CloseReason> {
        let UserMessage { content, debug, attachments } = message;
        let is_long = attachments.iter().map(toolway_types::ContentPart::size).sum::<usize>()
            > PARSE_BLOCKING_THRESHOLD;
        let parts = if is_long {
            let parts =
                tokio::task::spawn_blocking(move || input::message_parts(content, &attachments)).await;
            parts.unwrap_or(Err(BadMessage::Empty))
        } else {
            input::message_parts(content, &attachments)
        };
        match parts {
            Ok(parts) => self.start_turn(cx, questions, TurnInput::Message(parts), debug).await,
            Err(bad) => {
                let code = match bad {
                    BadMessage::Empty => error_code::EMPTY_CONTENT,
                    BadMessage::TooLong | BadMessage::TooMany(_) => error_code::LIMIT_EXCEEDED,
                    BadMessage::Attachment { .. } => error_code::INVALID_MESSAGE,
                };
                cx.send_error(code, bad.to_string()).await
            }
        }
    }

    pub(super) async fn regenerate(
        &mut self,
        cx: &SocketContext,
        questions: Option<QuestionSink>,
        debug: Option<bool>,
    ) -> Result<(), CloseReason> {
        self.start_turn(cx, questions, TurnInput::Regenerate, debug).await
    }

    async fn start_turn(
        &mut self,
        cx: &SocketContext,
        questions: Option<QuestionSink>,
        input: TurnInput,
        debug: Option<bool>,
    ) -> Result<(), CloseReason> {
        if self.opened.is_none() {
            // The reason why it could not be opened may no longer apply.
            self.open_session(cx).await?;
        }
        let Some(OpenedSession { id, agent, .. }) = self.opened.clone() else { return Ok(()) };
        let turn = TurnRequest {
            session: Arc::clone(&id),
            principal: Arc::clone(&cx.token.principal),
            agent: Some(agent),
            input,
            registration: self.own_registration.clone(),
            questions,
            debug: debug.unwrap_or_default(),
            time_zone: cx.time_zone.clone(),
        };
        match cx.app.chat.conversations.start(turn).await {
            Ok(viewer) => self.show_turn(cx, id, viewer).await,
            Err(refused) => send_turn_refusal(cx, refused).await,
        }
    }

    /// Aborts the turn that runs in the session, regardless of who started it.
    pub(super) async fn abort_turn(&self, cx: &SocketContext) -> Result<(), CloseReason> {
        let acknowledge = |status: &str| cx.send(AbortAck { status: status.to_owned() });
        let Some(session) = self.session() else { return acknowledge("idle").await };
        let abort = cx.app.chat.conversations.abort(&cx.token.principal, session);
        if self.is_turn_running() {
            // Sent first, so that it precedes the frames that end the turn.
            acknowledge("aborting").await?;
            let _ = abort.await;
            return Ok(());
        }
        match abort.await {
            Ok(AbortStatus::Aborting) => acknowledge("aborting").await,
            Ok(AbortStatus::Idle) | Err(_) => acknowledge("idle").await,
        }
    }

    /// Shows a turn to its end, in a task that may outlive the connection.
    async fn show_turn(
        &mut self,
        cx: &SocketContext,
        session: Arc<str>,
        viewer: TurnViewer,
    ) -> Result<(), CloseReason> {
        let TurnViewer { text_so_far, running_calls: calls_so_far, events, turn: _ } = viewer;
        for frame in frames::catch_up_frames(text_so_far, calls_so_far) {
            cx.outbox.send(frame.text).await.map_err(|_| CloseReason::PeerGone)?;
        }
        let (is_running, may_show) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(true)));
        let watcher = SocketTurnWatcher {
            outbox: cx.outbox.clone(),
            version: cx.version,
            is_running: Arc::clone(&is_running),
            may_show: Arc::clone(&may_show),
        };
        let (chat, token) = (Arc::clone(&cx.app.chat), Arc::clone(&cx.token));
        tokio::spawn(follow_turn(FollowedTurn { chat, token, session, events }, watcher));
        // The watcher holds the other reference; without it, the turn has ended.
        self.shown_turns.retain(|shown| Arc::strong_count(&shown.may_show) > 1);
        self.shown_turns.push(ShownTurn { is_running, may_show });
        Ok(())
    }
}

async fn send_open_error(cx: &SocketContext, error: OpenSessionError) -> Result<(), CloseReason> {
    let words = error.to_string();
    match error {
        OpenSessionError::OwnerMismatch => cx.send_error(error_code::SESSION_OWNER_MISMATCH, words).await,
        OpenSessionError::InvalidId(_) => cx.send_error(error_code::SESSION_BIND_FAILED, words).await,
        OpenSessionError::Store(error) => {
            tracing::error!(%error, "cannot open a session");
            let text = "the session could not be opened; see the gateway's log";
            cx.send_error(error_code::SESSION_BIND_FAILED, text).await
        }
        OpenSessionError::UnknownAgent(_) | OpenSessionError::AgentForbidden { .. } => {
            cx.send_error(error_code::AGENT_INIT_FAILED, words.clone()).await?;
            Err(CloseReason::with_code(INTERNAL, words))
        }
        OpenSessionError::ShuttingDown => Err(CloseReason::with_code(GOING_AWAY, words)),
    }
}

async fn send_turn_refusal(cx: &SocketContext, refused: StartTurnError) -> Result<(), CloseReason> {
    let words = refused.to_string();
    let (code, hint) = match &refused {
        StartTurnError::Busy => (error_code::SESSION_BUSY, Some("wait until it ends, or send abort")),
        StartTurnError::NoUserMessage => (error_code::NO_USER_MESSAGE, None),
        StartTurnError::EmptyContent => (error_code::EMPTY_CONTENT, None),
        StartTurnError::OwnerMismatch => (error_code::SESSION_OWNER_MISMATCH, None),
        StartTurnError::InvalidId(_) => (error_code::SESSION_BIND_FAILED, None),
        StartTurnError::AgentForbidden { .. } => (error_code::FORBIDDEN, None),
        StartTurnError::TooMany(_) => (error_code::LIMIT_EXCEEDED, Some("try again in a moment")),
        StartTurnError::UnknownAgent(_) | StartTurnError::ShuttingDown => (error_code::AGENT_ERROR, None),
        StartTurnError::Store(StoreError::MessageTooLarge { .. }) => (error_code::LIMIT_EXCEEDED, None),
        StartTurnError::Store(StoreError::SessionFull { .. }) => {
            (error_code::LIMIT_EXCEEDED, Some("start another conversation"))
        }
        StartTurnError::Store(error) => {
            tracing::error!(%error, "cannot store a message");
            let text = "the message could not be stored; see the gateway's log";
            return cx.send_error(error_code::AGENT_ERROR, text).await;
        }
    };
    cx.app.metrics.record_refusal(code);
    cx.send(ErrorMessage {
        message: words,
        code: Some(code.to_owned()),
        hint: hint.filter(|_| cx.version >= 2).map(str::to_owned),
        reason: None,
    })
    .await
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
