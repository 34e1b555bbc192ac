//! The conversation on a chat's connection: which session it is of, what is said in it, and its turns as they are
//! shown. The turns themselves run elsewhere and go on when the connection goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use toolway_agent::conversations::{AbortStatus, OpenError, OpenSession, Opened, TurnRefused};
use toolway_agent::event::TurnEvent;
use toolway_agent::turn::{OwnRegistration, TurnInput, TurnRequest, TurnViewer};
use toolway_store::StoreError;
use toolway_wire::error_code;
use toolway_wire::from_client::UserMessage;
use toolway_wire::from_gateway::{AbortAck, ErrorMessage, SessionStart};

use super::close::{Close, GOING_AWAY, INTERNAL};
use super::outbox::Outbox;
use super::peer::{Introduction, PARSE_APART, Peer};
use super::questions;
use crate::chat::follow::{Followed, Gone, Watcher, follow};
use crate::chat::frames;
use crate::chat::input::{self, BadMessage};

/// What version 1 clients ask for where they have read null as a text.
const NULL: &str = "null";

/// The conversation on a chat's connection.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// The session that was asked for.
    wanted: Option<Arc<str>>,
    /// The session that it is; none where it could not be opened.
    opened: Option<Opened>,
    /// What the connection has registered, for its turns.
    own: OwnRegistration,
    /// The turns that are shown: one that runs, and those before it that may still bring a title.
    shown: Vec<Shown>,
}

/// A turn that is shown.
#[derive(Debug)]
struct Shown {
    is_running: Arc<AtomicBool>,
    /// Held while something of it is sent; false once nothing more may be.
    may_show: Arc<Mutex<bool>>,
}

/// Shows a turn to its connection.
struct Screen {
    outbox: Outbox,
    version: u32,
    is_running: Arc<AtomicBool>,
    may_show: Arc<Mutex<bool>>,
}

impl Talk {
    pub(super) fn new(introduction: &Introduction) -> Self {
        let wanted = introduction.session_id.clone().filter(|id| &**id != NULL);
        Self { wanted, ..Self::default() }
    }

    /// The session's id.
    pub(super) fn session(&self) -> Option<&Arc<str>> {
        self.opened.as_ref().map(|opened| &opened.id)
    }

    /// What the connection has registered; its turns see what is set here.
    pub(super) fn own(&self) -> &OwnRegistration {
        &self.own
    }

    /// The connection is over. Its turns go on, without its tools.
    pub(super) fn leave(&mut self) {
        self.own.set(None);
    }

    /// Shows nothing more of the turns that are shown: when this returns, nothing of them follows.
    async fn clear(&mut self) {
        for shown in self.shown.drain(..) {
            *shown.may_show.lock().await = false;
        }
    }

    fn is_turn_running(&self) -> bool {
        self.shown.iter().any(|shown| shown.is_running.load(Ordering::SeqCst))
    }
}

/// Opens the session that was asked for, or a new one, and says so; then shows the turn that runs in it. Where it
/// can't be opened, that is said instead.
pub(crate) async fn open(peer: &mut Peer) -> Result<(), Close> {
    peer.talk.clear().await;
    peer.talk.opened = None;
    let wanted = peer.talk.wanted.clone();
    let open = OpenSession { id: wanted.as_deref(), agent: peer.introduction.persona.as_deref() };
    let opened = peer.app.chat.conversations.open(&peer.token.principal, open).await;
    match opened {
        Ok(opened) => begin(peer, opened).await,
        Err(error) => refuse(peer, error).await,
    }
}

async fn begin(peer: &mut Peer, opened: Opened) -> Result<(), Close> {
    let is_newer = peer.version >= 2;
    let agent = opened.agent.to_string();
    let start = SessionStart {
        v: peer.version,
        session_id: opened.id.to_string(),
        resumed: opened.resumed,
        message_count: opened.message_count,
        name: peer.introduction.name.clone(),
        persona: if is_newer { Some(agent) } else { peer.introduction.persona.clone() },
        model: opened.model.clone().filter(|_| is_newer),
        busy: (is_newer && opened.busy).then_some(true),
    };
    let (id, busy) = (Arc::clone(&opened.id), opened.busy);
    peer.talk.wanted = Some(Arc::clone(&id));
    peer.talk.opened = Some(opened);
    peer.say(start).await?;
    if !busy {
        return Ok(());
    }
    // It may have ended just now.
    if let Ok(Some(viewer)) = peer.app.chat.conversations.attach(&peer.token.principal, &id).await {
        show(peer, Arc::clone(&id), viewer).await?;
        questions::ask_again(peer, &id).await?;
    }
    Ok(())
}

async fn refuse(peer: &Peer, error: OpenError) -> Result<(), Close> {
    let words = error.to_string();
    match error {
        OpenError::OwnerMismatch => peer.complain(error_code::SESSION_OWNER_MISMATCH, words).await,
        OpenError::BadId(_) => peer.complain(error_code::SESSION_BIND_FAILED, words).await,
        OpenError::Store(error) => {
            tracing::error!(%error, "a session could not be opened");
            let text = "the session could not be opened; the gateway's log says why";
            peer.complain(error_code::SESSION_BIND_FAILED, text).await
        }
        OpenError::UnknownAgent(_) | OpenError::AgentForbidden { .. } => {
            peer.complain(error_code::AGENT_INIT_FAILED, words.clone()).await?;
            Err(Close::with(INTERNAL, words))
        }
        OpenError::ShuttingDown => Err(Close::with(GOING_AWAY, words)),
    }
}

/// `connect` names a session: it is this one from now on.
pub(super) async fn bind(peer: &mut Peer, id: Option<&str>) -> Result<(), Close> {
    let Some(id) = id.filter(|id| !id.is_empty() && *id != NULL) else { return Ok(()) };
    if peer.talk.session().is_some_and(|open| **open == *id) {
        return Ok(());
    }
    peer.talk.wanted = Some(Arc::from(id));
    open(peer).await
}

pub(super) async fn message(peer: &mut Peer, message: UserMessage) -> Result<(), Close> {
    let UserMessage { content, debug, attachments } = message;
    let is_long = attachments.iter().map(toolway_types::ContentPart::size).sum::<usize>() > PARSE_APART;
    let parts = if is_long {
        let parts = tokio::task::spawn_blocking(move || input::parts(content, &attachments)).await;
        parts.unwrap_or(Err(BadMessage::Empty))
    } else {
        input::parts(content, &attachments)
    };
    match parts {
        Ok(parts) => start(peer, TurnInput::Message(parts), debug).await,
        Err(bad) => {
            let code = match bad {
                BadMessage::Empty => error_code::EMPTY_CONTENT,
                BadMessage::TooLong | BadMessage::TooMany(_) => error_code::LIMIT_EXCEEDED,
                BadMessage::Attachment { .. } => error_code::INVALID_MESSAGE,
            };
            peer.complain(code, bad.to_string()).await
        }
    }
}

pub(super) async fn regenerate(peer: &mut Peer, debug: Option<bool>) -> Result<(), Close> {
    start(peer, TurnInput::Regenerate, debug).await
}

async fn start(peer: &mut Peer, input: TurnInput, debug: Option<bool>) -> Result<(), Close> {
    if peer.talk.opened.is_none() {
        // What kept it from being opened may be over.
        open(peer).await?;
    }
    let Some(Opened { id, agent, .. }) = peer.talk.opened.clone() else { return Ok(()) };
    let turn = TurnRequest {
        session: Arc::clone(&id),
        principal: Arc::clone(&peer.token.principal),
        agent: Some(agent),
        input,
        own: peer.talk.own.clone(),
        questions: questions::sink(peer),
        debug: debug.unwrap_or_default(),
    };
    match peer.app.chat.conversations.start(turn).await {
        Ok(viewer) => show(peer, id, viewer).await,
        Err(refused) => not_started(peer, refused).await,
    }
}

async fn not_started(peer: &Peer, refused: TurnRefused) -> Result<(), Close> {
    let words = refused.to_string();
    let (code, hint) = match &refused {
        TurnRefused::Busy => (error_code::SESSION_BUSY, Some("wait for its end, or send abort")),
        TurnRefused::NoUserMessage => (error_code::NO_USER_MESSAGE, None),
        TurnRefused::Empty => (error_code::EMPTY_CONTENT, None),
        TurnRefused::OwnerMismatch => (error_code::SESSION_OWNER_MISMATCH, None),
        TurnRefused::BadId(_) => (error_code::SESSION_BIND_FAILED, None),
        TurnRefused::AgentForbidden { .. } => (error_code::FORBIDDEN, None),
        TurnRefused::TooMany(_) => (error_code::LIMIT_EXCEEDED, Some("try again in a moment")),
        TurnRefused::UnknownAgent(_) | TurnRefused::ShuttingDown => (error_code::AGENT_ERROR, None),
        TurnRefused::Store(StoreError::MessageTooLarge { .. }) => (error_code::LIMIT_EXCEEDED, None),
        TurnRefused::Store(StoreError::SessionFull { .. }) => {
            (error_code::LIMIT_EXCEEDED, Some("begin another conversation"))
        }
        TurnRefused::Store(error) => {
            tracing::error!(%error, "a message could not be kept");
            let text = "the message could not be kept; the gateway's log says why";
            return peer.complain(error_code::AGENT_ERROR, text).await;
        }
    };
    peer.app.metrics.refused(code);
    peer.say(ErrorMessage {
        message: words,
        code: Some(code.to_owned()),
        hint: hint.filter(|_| peer.version >= 2).map(str::to_owned),
        reason: None,
    })
    .await
}

/// Ends the turn that runs in the session, whoever started it.
pub(super) async fn abort(peer: &Peer) -> Result<(), Close> {
    let acknowledge = |status: &str| peer.say(AbortAck { status: status.to_owned() });
    let Some(session) = peer.talk.session() else { return acknowledge("idle").await };
    let abort = peer.app.chat.conversations.abort(&peer.token.principal, session);
    if peer.talk.is_turn_running() {
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
async fn show(peer: &mut Peer, session: Arc<str>, viewer: TurnViewer) -> Result<(), Close> {
    let TurnViewer { text_so_far, calls_so_far, events, turn: _ } = viewer;
    for frame in frames::so_far(text_so_far, calls_so_far) {
        peer.outbox.send(frame.text).await.map_err(|_| Close::PeerGone)?;
    }
    let (is_running, may_show) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(true)));
    let screen = Screen {
        outbox: peer.outbox.clone(),
        version: peer.version,
        is_running: Arc::clone(&is_running),
        may_show: Arc::clone(&may_show),
    };
    let (chat, token) = (Arc::clone(&peer.app.chat), Arc::clone(&peer.token));
    tokio::spawn(follow(Followed { chat, token, session, events }, screen));
    // A turn is over once its screen is gone.
    peer.talk.shown.retain(|shown| Arc::strong_count(&shown.may_show) > 1);
    peer.talk.shown.push(Shown { is_running, may_show });
    Ok(())
}

impl Watcher for Screen {
    async fn take(&mut self, event: TurnEvent) -> Result<(), Gone> {
        if matches!(event, TurnEvent::Ended(_)) {
            self.is_running.store(false, Ordering::SeqCst);
        }
        let Some(frame) = frames::frame(event, self.version) else { return Ok(()) };
        let may_show = self.may_show.lock().await;
        if !*may_show {
            return Err(Gone);
        }
        self.outbox.send(frame.text).await.map_err(|_| Gone)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.is_running.store(false, Ordering::SeqCst);
    }
}
