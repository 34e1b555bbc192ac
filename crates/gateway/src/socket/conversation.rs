//! The conversation of a chat connection: its session, its messages, and the events of its turns. Turns run
//! elsewhere and continue when the connection ends.

use std::sync::Arc;

use toolway_agent::conversations::{AbortStatus, OpenSession, OpenSessionError, OpenedSession};
use toolway_agent::turn::{ConnectionRegistration, TurnInput, TurnRequest};
use toolway_core::consent::QuestionSink;
use toolway_wire::client_message::UserMessage;
use toolway_wire::error_code;
use toolway_wire::gateway_message::{AbortAck, SessionStart};

use super::close::{CloseReason, GOING_AWAY, INTERNAL};
use super::context::{PARSE_BLOCKING_THRESHOLD, SocketContext, SocketParams};
use super::questions;
use super::shown_turns::{ShownTurns, TurnOrigin};
use super::turn_refusal::send_turn_refusal;
use super::waiting_message::WaitingMessage;
use crate::chat::input::{self, BadMessage};
use crate::outbox::PeerGone;

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
    shown_turns: ShownTurns,
    waiting_message: WaitingMessage,
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

    /// Opens the requested session or a new one, informs the client, and shows the running turn. If the
    /// session can't be opened, the client gets an error.
    pub(super) async fn open_session(&mut self, cx: &SocketContext) -> Result<(), CloseReason> {
        self.shown_turns.stop_showing().await;
        self.opened = None;
        let wanted = self.requested.clone();
        let open = OpenSession {
            id: wanted.as_deref(),
            agent: cx.params.persona.as_deref(),
            // A client of version 1 names the agent of its first connection for ever, and would reconnect for ever.
            falls_back: cx.version < 2,
        };
        let opened = cx.app.chat.conversations.open(&cx.token.principal, open).await;
        match opened {
            Ok(opened) => self.begin_session(cx, opened).await,
            Err(error) => send_open_error(cx, error).await,
        }
    }

    async fn begin_session(&mut self, cx: &SocketContext, opened: OpenedSession) -> Result<(), CloseReason> {
        let is_newer = cx.version >= 2;
        let names_agent = is_newer || opened.resumed || cx.params.persona.is_some();
        let title = opened.title.clone().filter(|_| !is_newer);
        let start = SessionStart {
            v: cx.version,
            session_id: opened.id.to_string(),
            resumed: opened.resumed,
            message_count: opened.message_count,
            name: title.or_else(|| cx.params.name.clone()),
            persona: names_agent.then(|| opened.agent.to_string()),
            model: opened.model.clone().filter(|_| is_newer),
            busy: (is_newer && opened.busy).then_some(true),
        };
        let (id, busy) = (Arc::clone(&opened.id), opened.busy);
        let missing =
            opened.missing_agent.as_ref().map(|missing| (missing.clone(), Arc::clone(&opened.agent)));
        self.requested = Some(Arc::clone(&id));
        self.opened = Some(opened);
        cx.send(start).await?;
        if let Some((missing, agent)) = missing {
            let text = format!("There is no agent {missing:?}. The agent {agent:?} answers instead.");
            cx.send_error(error_code::AGENT_INIT_FAILED, text).await?;
        }
        if !busy {
            return Ok(());
        }
        // The turn may have ended since the session was opened.
        if let Ok(Some(viewer)) = cx.app.chat.conversations.attach(&cx.token.principal, &id).await {
            let origin = TurnOrigin::EarlierConnection;
            let shown = self.shown_turns.show(&cx.audience(), Arc::clone(&id), viewer, origin).await;
            shown.map_err(|PeerGone| CloseReason::PeerGone)?;
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
            // In version 1, the name is the title. In version 2, it is the name of the client.
            title: cx.params.name.clone().filter(|_| cx.version < 2),
            principal: Arc::clone(&cx.token.principal),
            agent: Some(agent),
            input,
            registration: self.own_registration.clone(),
            questions,
            debug: debug.unwrap_or_default(),
            time_zone: cx.time_zone.clone(),
        };
        let audience = cx.audience();
        let waits = cx.version < 2 && self.shown_turns.is_earlier_running();
        if waits
            && self.waiting_message.start_when_free(audience.clone(), self.shown_turns.clone(), turn.clone())
        {
            return Ok(());
        }
        let sent = match cx.app.chat.conversations.start(turn).await {
            Ok(viewer) => self.shown_turns.show(&audience, id, viewer, TurnOrigin::ThisConnection).await,
            Err(refused) => send_turn_refusal(&audience, refused).await,
        };
        sent.map_err(|PeerGone| CloseReason::PeerGone)
    }

    /// Aborts the turn that runs in the session, regardless of who started it.
    pub(super) async fn abort_turn(&self, cx: &SocketContext) -> Result<(), CloseReason> {
        let acknowledge = |status: &str| cx.send(AbortAck { status: status.to_owned() });
        let Some(session) = self.session() else { return acknowledge("idle").await };
        let abort = || cx.app.chat.conversations.abort(&cx.token.principal, session);
        if self.shown_turns.is_running() {
            // Clients of version 1 show both messages as the end of the turn, so they get only `aborted`.
            if cx.version >= 2 {
                // Sent first, so that it precedes the frames that end the turn.
                acknowledge("aborting").await?;
            }
            abort();
            return Ok(());
        }
        match abort() {
            AbortStatus::Aborting => acknowledge("aborting").await,
            AbortStatus::Idle => acknowledge("idle").await,
        }
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
