//! The part of an upstream that its connections need: definition, status, log, and change signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use toolway_types::Slug;

use super::client_group::{ClientGroup, ServedClients};
use super::deps::UpstreamDeps;
use super::log::ServerLog;
use super::status::{SkippedTool, UpstreamProblem, UpstreamState, UpstreamStatus};
use crate::definition::ServerDefinition;
use crate::offering::UpstreamEvent;

/// The definition, status, log and change signals of one server. It outlives each connection.
pub(super) struct ServerContext {
    slug: Slug,
    definition: ServerDefinition,
    deps: Arc<UpstreamDeps>,
    status: Mutex<UpstreamStatus>,
    log: Arc<ServerLog>,
    clients: ClientGroup,
    older_clients: ClientGroup,
    tools_changed: Notify,
    others_changed: Notify,
    /// Set once a new session did not help against HTTP status 400.
    are_plain_refusals_ordinary: AtomicBool,
}

impl std::fmt::Debug for ServerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerContext").field("slug", &self.slug).finish_non_exhaustive()
    }
}

impl ServerContext {
    pub(super) fn new(slug: Slug, definition: ServerDefinition, deps: Arc<UpstreamDeps>) -> Arc<Self> {
        let status = UpstreamStatus {
            slug: slug.clone(),
            place: definition.location(),
            state: if definition.disabled { UpstreamState::Disabled } else { UpstreamState::Connecting },
            since_ms: deps.clock.now_ms(),
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
            deps,
            status: Mutex::new(status),
            log: Arc::default(),
            clients: ClientGroup::new(),
            older_clients: ClientGroup::new(),
            tools_changed: Notify::new(),
            others_changed: Notify::new(),
            are_plain_refusals_ordinary: AtomicBool::new(false),
        })
    }

    pub(super) fn slug(&self) -> &Slug {
        &self.slug
    }

    pub(super) fn definition(&self) -> &ServerDefinition {
        &self.definition
    }

    pub(super) fn deps(&self) -> &Arc<UpstreamDeps> {
        &self.deps
    }

    pub(super) fn status(&self) -> &Mutex<UpstreamStatus> {
        &self.status
    }

    pub(super) fn log(&self) -> &Arc<ServerLog> {
        &self.log
    }

    /// The clients of a connection.
    pub(super) fn clients(&self, served: ServedClients) -> &ClientGroup {
        match served {
            ServedClients::All => &self.clients,
            ServedClients::Older => &self.older_clients,
        }
    }

    /// Returns true if HTTP status 400 without a reason does not mean that the session is lost.
    pub(super) fn are_plain_refusals_ordinary(&self) -> bool {
        self.are_plain_refusals_ordinary.load(Ordering::Relaxed)
    }

    pub(super) fn mark_plain_refusals_ordinary(&self) {
        self.are_plain_refusals_ordinary.store(true, Ordering::Relaxed);
    }

    pub(super) fn mark_tools_changed(&self) {
        self.tools_changed.notify_one();
    }

    /// Waits for a change of the tools. All changes since the last wait count as one.
    pub(super) async fn wait_for_tool_change(&self) {
        self.tools_changed.notified().await;
    }

    /// Marks a change of the prompts, the resources or the resource templates.
    pub(super) fn mark_others_changed(&self) {
        self.others_changed.notify_one();
    }

    /// Waits for a change of the prompts or resources.
    pub(super) async fn wait_for_other_change(&self) {
        self.others_changed.notified().await;
    }

    /// Sends an event of a connection to the clients that it serves.
    pub(super) fn emit(&self, from: ServedClients, event: UpstreamEvent) {
        match from {
            ServedClients::Older => self.older_clients.emit(event),
            ServedClients::All => {
                if !self.older_clients.gets_itself(&event) {
                    self.older_clients.emit(event.clone());
                }
                self.clients.emit(event);
            }
        }
    }

    pub(super) fn update_status(&self, change: impl FnOnce(&mut UpstreamStatus)) {
        change(&mut self.status.lock());
    }

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

    /// Sets a state in which the server can't be used, with its reason and the time of the next attempt.
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
}
