//! The engine: state shared by all calls. The steps of a call are in `call.rs`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolway_types::{Clock, ToolId};

use crate::caller::Caller;
use crate::changed_tools::ChangedTools;
use crate::consent::{ActiveGrants, NoGrantStore, OpenQuestions};
use crate::engine_settings::EngineSettings;
use crate::hook::HookEntry;
use crate::idempotency_keys::IdempotencyKeys;
use crate::in_flight::InFlight;
use crate::parallel_limits::ParallelCallLimits;
use crate::policy::{AgentScopes, Policy, RateLimiter};
use crate::record::{NoRecorder, Recorder};
use crate::registry::{Registry, ToolLookup};
use crate::secret_mask::SecretMask;
use crate::spec::ToolSpec;

/// Maximum number of expensive argument checks that run at the same time.
pub(crate) const MAX_HEAVY_CHECKS: usize = 4;

/// Runs calls: see [`Engine::call`].
pub struct Engine {
    pub(crate) registry: Arc<Registry>,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: ArcSwap<EngineSettings>,
    pub(crate) policy: ArcSwap<Policy>,
    /// Scopes of agents, which are part of every policy. Locked while either changes.
    agent_scopes: Mutex<Option<Arc<AgentScopes>>>,
    pub(crate) hooks: ArcSwap<Arc<[HookEntry]>>,
    pub(crate) grants: ActiveGrants,
    pub(crate) questions: OpenQuestions,
    pub(crate) changed_tools: ChangedTools,
    pub(crate) limiter: RateLimiter,
    pub(crate) parallel_limits: ParallelCallLimits,
    pub(crate) idempotency_keys: IdempotencyKeys,
    /// Has [`MAX_HEAVY_CHECKS`] permits.
    pub(crate) heavy_checks: Arc<Semaphore>,
    pub(crate) in_flight: InFlight,
    /// Cancelled at a shutdown, after the grace period.
    pub(crate) stopping: CancellationToken,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

/// The parts of an engine.
pub struct EngineParts {
    /// The registered tools.
    pub registry: Arc<Registry>,
    /// Recorder of calls.
    pub recorder: Arc<dyn Recorder>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Settings for calls.
    pub settings: EngineSettings,
    /// The policy.
    pub policy: Policy,
    /// Stored answers of persons.
    pub grants: ActiveGrants,
}

impl EngineParts {
    /// Parts with default settings that allow everything and record nothing.
    #[must_use]
    pub fn new(registry: Arc<Registry>, clock: Arc<dyn Clock>) -> Self {
        Self {
            registry,
            recorder: Arc::new(NoRecorder),
            clock,
            settings: EngineSettings::default(),
            policy: Policy::default(),
            grants: ActiveGrants::new(Vec::new(), Arc::new(NoGrantStore)),
        }
    }
}

impl Engine {
    /// Creates an engine.
    #[must_use]
    pub fn new(parts: EngineParts) -> Arc<Self> {
        let EngineParts { registry, recorder, clock, settings, policy, grants } = parts;
        Arc::new(Self {
            registry,
            recorder,
            clock,
            settings: ArcSwap::from_pointee(settings),
            policy: ArcSwap::from_pointee(policy),
            agent_scopes: Mutex::default(),
            hooks: ArcSwap::from_pointee(Arc::from([])),
            grants,
            questions: OpenQuestions::default(),
            changed_tools: ChangedTools::default(),
            limiter: RateLimiter::default(),
            parallel_limits: ParallelCallLimits::default(),
            idempotency_keys: IdempotencyKeys::default(),
            heavy_checks: Arc::new(Semaphore::new(MAX_HEAVY_CHECKS)),
            in_flight: InFlight::default(),
            stopping: CancellationToken::new(),
        })
    }

    /// The registered tools.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The current policy.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Replaces the policy from the next call on. Counts of rate limits are kept.
    pub fn set_policy(&self, policy: Policy) {
        let agents = self.agent_scopes.lock();
        self.policy.store(Arc::new(policy.with_agents(agents.clone())));
    }

    /// Sets the scopes of agents from the next call on, independent of other rules. Without scopes, an agent
    /// may use every tool that the rules allow to its caller.
    pub fn set_agent_scopes(&self, scopes: AgentScopes) {
        let scopes = Some(Arc::new(scopes));
        let mut agents = self.agent_scopes.lock();
        self.policy.store(Arc::new(self.policy.load().with_agents(scopes.clone())));
        *agents = scopes;
    }

    /// Replaces the hooks from the next call on. They run in this order.
    pub fn set_hooks(&self, hooks: Vec<HookEntry>) {
        self.hooks.store(Arc::new(hooks.into()));
    }

    /// Stored answers of persons.
    #[must_use]
    pub fn grants(&self) -> &ActiveGrants {
        &self.grants
    }

    /// Open questions to persons.
    #[must_use]
    pub fn questions(&self) -> &OpenQuestions {
        &self.questions
    }

    /// Tools that have changed since the owner accepted them.
    #[must_use]
    pub fn changed_tools(&self) -> &ChangedTools {
        &self.changed_tools
    }

    /// Replaces the settings. Running calls keep the earlier ones.
    pub fn set_settings(&self, settings: EngineSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// Returns the mask of secrets for stored arguments and results of a tool. Names on the owner's list are always
    /// masked, also if there is no such tool.
    #[must_use]
    pub fn secret_mask(&self, caller: &Caller, tool: &str) -> SecretMask {
        let mut mask = SecretMask::new(&self.settings.load().redact);
        if let ToolLookup::Found(_, tool, _) = self.registry.read().lookup(tool, caller, |_, _| true) {
            mask.add_tool(tool.spec());
        }
        mask
    }

    /// Maximum duration of one run of a tool, for every caller.
    #[must_use]
    pub fn tool_timeout(&self, tool: &ToolId, spec: &ToolSpec) -> Duration {
        let settings = self.settings.load();
        settings.tool_timeout(tool, spec).min(settings.timeout_cap)
    }

    /// Number of running calls.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.count()
    }

    /// Number of aborted runs that have not ended: blocking code past its deadline.
    #[must_use]
    pub fn abandoned_runs(&self) -> u64 {
        self.in_flight.abandoned_runs.load(Ordering::Acquire)
    }

    /// Refuses new calls, gives running ones `grace` to end, then ends them as `shutting_down`. Returns when
    /// every call has its outcome.
    pub async fn shut_down(&self, grace: Duration) {
        self.in_flight.close();
        if tokio::time::timeout(grace, self.in_flight.wait_until_drained()).await.is_err() {
            self.stopping.cancel();
            self.in_flight.wait_until_drained().await;
        }
    }
}

#[cfg(test)]
mod tests;
