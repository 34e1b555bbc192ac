//! One server: what is known of it, and the connection that there is to it now.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;
use toolway_types::Slug;

use super::connection::UpstreamConnection;
use super::deps::UpstreamDeps;
use super::error::UpstreamError;
use super::interest::UpstreamInterest;
use super::log::ServerLog;
use super::status::{SkippedTool, UpstreamProblem, UpstreamState, UpstreamStatus};
use crate::definition::ServerDefinition;
use crate::offering::UpstreamEvent;

/// How many events wait for a reader that is slow.
const EVENT_CAPACITY: usize = 256;

/// One server. What is done with it goes through [`crate::offering::Offering`] and the registry's tools.
pub struct Upstream {
    slug: Slug,
    definition: ServerDefinition,
    deps: Arc<UpstreamDeps>,
    status: Mutex<UpstreamStatus>,
    log: ServerLog,
    connection: watch::Sender<Option<Arc<UpstreamConnection>>>,
    events: broadcast::Sender<UpstreamEvent>,
    reconnect_requested: Notify,
    stop_token: CancellationToken,
    interest: Mutex<UpstreamInterest>,
    /// Something else is wanted than was.
    interest_changed: Notify,
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
    pub(super) fn new(slug: Slug, definition: ServerDefinition, parts: Arc<UpstreamDeps>) -> Arc<Self> {
        let status = UpstreamStatus {
            slug: slug.clone(),
            place: definition.location(),
            state: if definition.disabled { UpstreamState::Disabled } else { UpstreamState::Connecting },
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
            deps: parts,
            status: Mutex::new(status),
            log: ServerLog::default(),
            connection: watch::Sender::new(None),
            events: broadcast::Sender::new(EVENT_CAPACITY),
            reconnect_requested: Notify::new(),
            stop_token: CancellationToken::new(),
            interest: Mutex::default(),
            interest_changed: Notify::new(),
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
    pub fn log(&self) -> &ServerLog {
        &self.log
    }

    /// Connects anew, now.
    pub fn reconnect(&self) {
        self.reconnect_requested.notify_one();
    }

    pub(super) fn stop(&self) {
        self.stop_token.cancel();
    }

    pub(super) fn deps(&self) -> &Arc<UpstreamDeps> {
        &self.deps
    }

    pub(super) fn stop_token(&self) -> &CancellationToken {
        &self.stop_token
    }

    /// Waits until somebody wants it connected anew.
    pub(super) async fn reconnect_requested(&self) {
        self.reconnect_requested.notified().await;
    }

    pub(super) fn interest(&self) -> &Mutex<UpstreamInterest> {
        &self.interest
    }

    pub(super) fn interest_changed(&self) -> &Notify {
        &self.interest_changed
    }

    pub(super) fn acknowledged(&self) -> &Notify {
        &self.acknowledged
    }

    /// Its tools have changed.
    pub(super) fn mark_tools_changed(&self) {
        self.tools_changed.notify_one();
    }

    /// Waits until they have, once for all changes since it was last asked.
    pub(super) async fn wait_for_tool_change(&self) {
        self.tools_changed.notified().await;
    }

    /// Its prompts have changed.
    pub(super) fn mark_prompts_changed(&self) {
        self.others_changed.notify_one();
        self.emit(UpstreamEvent::PromptListChanged);
    }

    /// Its resources or templates have changed.
    pub(super) fn mark_resources_changed(&self) {
        self.others_changed.notify_one();
        self.emit(UpstreamEvent::ResourceListChanged);
    }

    /// Waits until its prompts or resources have changed.
    pub(super) async fn wait_for_other_change(&self) {
        self.others_changed.notified().await;
    }

    pub(super) fn subscribe_events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.events.subscribe()
    }

    /// Tells whoever listens. Nobody may.
    pub(super) fn emit(&self, event: UpstreamEvent) {
        let _ = self.events.send(event);
    }

    /// The connection, where there is one.
    pub(super) fn connection(&self) -> Option<Arc<UpstreamConnection>> {
        self.connection.borrow().clone()
    }

    /// Changes what is known of it.
    pub(super) fn update_status(&self, change: impl FnOnce(&mut UpstreamStatus)) {
        change(&mut self.status.lock());
    }

    /// Its state is now this one.
    pub(super) fn set_state(&self, state: UpstreamState) {
        let now = self.deps.clock.now_ms();
        self.update_status(|status| {
            if status.state != state {
                status.state = state;
                status.since_ms = now;
            }
            status.next_try_ms = None;
        });
    }

    /// It can't be used: why, and when it is tried again.
    pub(super) fn set_failed(
        &self,
        state: UpstreamState,
        problem: UpstreamProblem,
        next_try_ms: Option<i64>,
    ) {
        self.set_state(state);
        self.update_status(|status| {
            status.problem = Some(problem);
            status.next_try_ms = next_try_ms;
            status.tools = 0;
            status.left_out = Vec::<SkippedTool>::new();
        });
    }

    /// It is connected to, in this way.
    pub(super) fn set_connected(&self, connection: &UpstreamConnection) {
        self.set_state(UpstreamState::Connected);
        let Some(settled) = connection.negotiated() else { return };
        self.update_status(|status| {
            status.transport = Some(connection.transport().kind());
            status.protocol_version = Some(settled.facts.protocol_version.to_string());
            status.era = Some(settled.era);
            status.server_name = Some(settled.facts.info.name.clone());
            status.server_version =
                Some(settled.facts.info.version.clone()).filter(|version| !version.is_empty());
        });
    }

    /// From now on this is the connection, or there is none.
    pub(super) fn set_connection(&self, connection: Option<Arc<UpstreamConnection>>) {
        self.connection.send_replace(connection);
    }

    /// The connection; waits a little for one that is just being made. `not` is one that is of no use any more.
    pub(super) async fn wait_connected(
        &self,
        not: Option<&Arc<UpstreamConnection>>,
    ) -> Result<Arc<UpstreamConnection>, UpstreamError> {
        let is_other =
            |one: &Arc<UpstreamConnection>| !one.is_closed() && not.is_none_or(|not| !Arc::ptr_eq(one, not));
        if let Some(connection) = self.connection().filter(is_other) {
            return Ok(connection);
        }
        // One that has just ended is about to be made anew.
        let is_under_way =
            self.connection().is_some() || self.status.lock().state == UpstreamState::Connecting;
        if !is_under_way {
            return Err(self.not_connected());
        }
        let mut changes = self.connection.subscribe();
        let other = async {
            loop {
                let now = changes.borrow_and_update().clone();
                if let Some(connection) = now.filter(is_other) {
                    return Some(connection);
                }
                if changes.changed().await.is_err()
                    || matches!(self.status.lock().state, UpstreamState::Failed | UpstreamState::NeedsLogin)
                {
                    return None;
                }
            }
        };
        let found = tokio::time::timeout(self.deps.settings.reconnect_timeout, other).await;
        found.ok().flatten().ok_or_else(|| self.not_connected())
    }

    /// That it is not connected, and why.
    fn not_connected(&self) -> UpstreamError {
        let status = self.status.lock();
        let why = status.problem.as_ref().map(|problem| problem.message.clone());
        match status.state {
            UpstreamState::NeedsLogin => UpstreamError::NeedsLogin(why.unwrap_or_default()),
            _ => UpstreamError::NotConnected(why.unwrap_or_else(|| "it is being connected to".to_owned())),
        }
    }
}
