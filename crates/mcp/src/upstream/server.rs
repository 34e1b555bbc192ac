//! One server: what is known of it, and the connection that there is to it now.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;
use toolway_types::Slug;

use super::connection::Connection;
use super::fault::Fault;
use super::log::Log;
use super::parts::UpstreamParts;
use super::status::{LeftOut, Problem, State, UpstreamStatus};
use super::wanted::Wanted;
use crate::definition::ServerDefinition;
use crate::offering::Event;

/// How many events wait for a reader that is slow.
const EVENTS: usize = 256;

/// One server. What is done with it goes through [`crate::offering::Offering`] and the registry's tools.
pub struct Upstream {
    slug: Slug,
    definition: ServerDefinition,
    parts: Arc<UpstreamParts>,
    status: Mutex<UpstreamStatus>,
    log: Log,
    connection: watch::Sender<Option<Arc<Connection>>>,
    events: broadcast::Sender<Event>,
    again: Notify,
    stop: CancellationToken,
    wanted: Mutex<Wanted>,
    /// Something else is wanted than was.
    rewanted: Notify,
    /// It said that it tells of changes from now on.
    acknowledged: Notify,
    tools_changed: Notify,
    others_changed: Notify,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("slug", &self.slug).finish_non_exhaustive()
    }
}

impl Upstream {
    pub(super) fn new(slug: Slug, definition: ServerDefinition, parts: Arc<UpstreamParts>) -> Arc<Self> {
        let status = UpstreamStatus {
            slug: slug.clone(),
            place: definition.place(),
            state: if definition.disabled { State::Disabled } else { State::Connecting },
            since_ms: parts.clock.now_ms(),
            next_try_ms: None,
            transport: None,
            protocol_version: None,
            era: None,
            server_name: None,
            server_version: None,
            tools: 0,
            resources: 0,
            prompts: 0,
            left_out: Vec::new(),
            problem: None,
        };
        Arc::new(Self {
            slug,
            definition,
            parts,
            status: Mutex::new(status),
            log: Log::default(),
            connection: watch::Sender::new(None),
            events: broadcast::Sender::new(EVENTS),
            again: Notify::new(),
            stop: CancellationToken::new(),
            wanted: Mutex::default(),
            rewanted: Notify::new(),
            acknowledged: Notify::new(),
            tools_changed: Notify::new(),
            others_changed: Notify::new(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    /// What its owner says of it.
    #[must_use]
    pub fn definition(&self) -> &ServerDefinition {
        &self.definition
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> UpstreamStatus {
        self.status.lock().clone()
    }

    /// What it wrote to its standard error, where it is a program, and what was odd about it.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Connects anew, now.
    pub fn reconnect(&self) {
        self.again.notify_one();
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) fn parts(&self) -> &Arc<UpstreamParts> {
        &self.parts
    }

    pub(super) fn stopped(&self) -> &CancellationToken {
        &self.stop
    }

    /// Waits until somebody wants it connected anew.
    pub(super) async fn wanted_again(&self) {
        self.again.notified().await;
    }

    pub(super) fn wanted(&self) -> &Mutex<Wanted> {
        &self.wanted
    }

    pub(super) fn rewanted(&self) -> &Notify {
        &self.rewanted
    }

    pub(super) fn acknowledged(&self) -> &Notify {
        &self.acknowledged
    }

    /// Its tools have changed.
    pub(super) fn tools_changed(&self) {
        self.tools_changed.notify_one();
    }

    /// Waits until they have, once for all changes since it was last asked.
    pub(super) async fn tools_have_changed(&self) {
        self.tools_changed.notified().await;
    }

    /// Its prompts have changed.
    pub(super) fn prompts_changed(&self) {
        self.others_changed.notify_one();
        self.tell(Event::PromptListChanged);
    }

    /// Its resources or templates have changed.
    pub(super) fn resources_changed(&self) {
        self.others_changed.notify_one();
        self.tell(Event::ResourceListChanged);
    }

    /// Waits until its prompts or resources have changed.
    pub(super) async fn others_have_changed(&self) {
        self.others_changed.notified().await;
    }

    pub(super) fn subscribe_events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// Tells whoever listens. Nobody may.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// The connection, where there is one.
    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.borrow().clone()
    }

    /// Changes what is known of it.
    pub(super) fn note(&self, change: impl FnOnce(&mut UpstreamStatus)) {
        change(&mut self.status.lock());
    }

    /// Its state is now this one.
    pub(super) fn enter(&self, state: State) {
        let now = self.parts.clock.now_ms();
        self.note(|status| {
            if status.state != state {
                status.state = state;
                status.since_ms = now;
            }
            status.next_try_ms = None;
        });
    }

    /// It can't be used: why, and when it is tried again.
    pub(super) fn failed(&self, state: State, problem: Problem, next_try_ms: Option<i64>) {
        self.enter(state);
        self.note(|status| {
            status.problem = Some(problem);
            status.next_try_ms = next_try_ms;
            status.tools = 0;
            status.left_out = Vec::<LeftOut>::new();
        });
    }

    /// It is connected to, in this way.
    pub(super) fn connected_to(&self, connection: &Connection) {
        self.enter(State::Connected);
        let Some(settled) = connection.settled() else { return };
        self.note(|status| {
            status.transport = Some(connection.carrier().kind());
            status.protocol_version = Some(settled.facts.protocol_version.to_string());
            status.era = Some(settled.era);
            status.server_name = Some(settled.facts.info.name.clone());
            status.server_version =
                Some(settled.facts.info.version.clone()).filter(|version| !version.is_empty());
        });
    }

    /// From now on this is the connection, or there is none.
    pub(super) fn publish(&self, connection: Option<Arc<Connection>>) {
        self.connection.send_replace(connection);
    }

    /// The connection; waits a little for one that is just being made. `not` is one that is of no use any more.
    pub(super) async fn connected(&self, not: Option<&Arc<Connection>>) -> Result<Arc<Connection>, Fault> {
        let is_other =
            |one: &Arc<Connection>| !one.is_closed() && not.is_none_or(|not| !Arc::ptr_eq(one, not));
        if let Some(connection) = self.connection().filter(is_other) {
            return Ok(connection);
        }
        // One that has just ended is about to be made anew.
        let is_under_way = self.connection().is_some() || self.status.lock().state == State::Connecting;
        if !is_under_way {
            return Err(self.away());
        }
        let mut changes = self.connection.subscribe();
        let other = async {
            loop {
                let now = changes.borrow_and_update().clone();
                if let Some(connection) = now.filter(is_other) {
                    return Some(connection);
                }
                if changes.changed().await.is_err()
                    || matches!(self.status.lock().state, State::Failed | State::NeedsLogin)
                {
                    return None;
                }
            }
        };
        let found = tokio::time::timeout(self.parts.settings.reconnect, other).await;
        found.ok().flatten().ok_or_else(|| self.away())
    }

    /// That it is not connected, and why.
    fn away(&self) -> Fault {
        let status = self.status.lock();
        let why = status.problem.as_ref().map(|problem| problem.message.clone());
        match status.state {
            State::NeedsLogin => Fault::NeedsLogin(why.unwrap_or_default()),
            _ => Fault::Away(why.unwrap_or_else(|| "it is being connected to".to_owned())),
        }
    }
}
