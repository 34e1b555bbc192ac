//! The engine: holds what every call needs. The way of a call is in `call.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use toolway_types::{CallId, Clock, Outcome, ToolId};

use crate::arguments::RawArguments;
use crate::call::MAX_HEAVY_CHECKS;
use crate::call::batch::ParallelCallLimits;
use crate::call::idempotency::IdempotencyKeys;
use crate::caller::Caller;
use crate::changed_tools::ChangedTools;
use crate::consent::{ActiveGrants, NoGrantStore, OpenQuestions, QuestionSink};
use crate::context::CallExtension;
use crate::hook::HookEntry;
use crate::policy::{AgentScopes, Policy, RateLimiter};
use crate::progress::ProgressSink;
use crate::record::{CallDurations, NoRecorder, Recorder};
use crate::registry::Registry;
use crate::spec::ToolSpec;

/// One request to run a tool.
pub struct CallRequest {
    /// The call's id.
    pub id: CallId,
    /// The tool's name as the caller gave it.
    pub name: Arc<str>,
    /// The arguments.
    pub arguments: RawArguments,
    /// Who calls.
    pub caller: Caller,
    /// How long the caller waits.
    pub timeout: Option<Duration>,
    /// Makes the same call again safe.
    pub idempotency_key: Option<Arc<str>>,
    /// Where reports go.
    pub progress: Option<ProgressSink>,
    /// Where questions to the caller go, where it is there to be asked.
    pub questions: Option<QuestionSink>,
    /// What the door hands to tools of its own protocol ([`crate::CallContext::attachment`]).
    pub extension: Option<CallExtension>,
    /// Cancelling it ends the call. Dropping the future of [`Engine::call`] does the same.
    pub cancel: Option<CancellationToken>,
}

impl CallRequest {
    /// A call with nothing but what every call has.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, arguments: RawArguments, caller: Caller) -> Self {
        Self {
            id: CallId::new(),
            name: name.into(),
            arguments,
            caller,
            timeout: None,
            idempotency_key: None,
            progress: None,
            questions: None,
            extension: None,
            cancel: None,
        }
    }
}

impl std::fmt::Debug for CallRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

/// A call that has ended.
#[derive(Debug, Clone)]
pub struct FinishedCall {
    /// The id of the call whose outcome this is: an earlier one's, where an idempotency key was used again.
    pub id: CallId,
    /// The tool, where the name led to one.
    pub tool: Option<ToolId>,
    /// How it ended.
    pub outcome: Arc<Outcome>,
    /// How long its parts took.
    pub durations: CallDurations,
}

/// What the owner can set about calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// A run's limit where neither the owner nor the spec says one.
    pub default_timeout: Duration,
    /// What no run may exceed.
    pub timeout_cap: Duration,
    /// The owner's own limits, by `source/tool`.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// How long a person may take to answer one question, and persons on a device in all within one call.
    pub person_timeout: Duration,
    /// How long an idempotency key holds.
    pub key_lifetime: Duration,
    /// Most idempotency keys remembered at a time.
    pub max_idempotency_keys: usize,
    /// Most calls in flight.
    pub calls_in_flight: usize,
    /// Most calls of one principal that [`Engine::call_many`] runs side by side.
    pub parallel_calls: usize,
    /// Largest output, in bytes.
    pub output_bytes: usize,
    /// Most text of a result that a model is given, in bytes.
    pub model_text_bytes: usize,
    /// Argument names whose values are never recorded, in lower case.
    pub redact: Vec<String>,
}

/// Names whose values are secrets wherever they stand: arguments of many tools, and headers of requests.
pub const SECRET_NAMES: [&str; 9] = [
    "password",
    "token",
    "secret",
    "api_key",
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "private-token",
];

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_secs(30),
            timeout_cap: Duration::from_secs(3600),
            tool_timeouts: BTreeMap::new(),
            person_timeout: Duration::from_secs(120),
            key_lifetime: Duration::from_secs(600),
            max_idempotency_keys: 10_000,
            calls_in_flight: 10_000,
            parallel_calls: 16,
            output_bytes: 16 << 20,
            model_text_bytes: 64 << 10,
            redact: SECRET_NAMES.map(str::to_owned).to_vec(),
        }
    }
}

impl EngineSettings {
    /// A tool's own limit: the owner's for it, else its spec's, else the default.
    #[must_use]
    pub fn tool_timeout(&self, tool: &ToolId, spec: &ToolSpec) -> Duration {
        let owners = match self.tool_timeouts.is_empty() {
            true => None,
            false => self.tool_timeouts.get(&tool.to_string()).copied(),
        };
        owners.or(spec.timeout()).unwrap_or(self.default_timeout)
    }
}

/// Runs calls: see [`Engine::call`].
pub struct Engine {
    pub(crate) registry: Arc<Registry>,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: ArcSwap<EngineSettings>,
    pub(crate) policy: ArcSwap<Policy>,
    /// What agents may use, which every policy is given. Held while either changes.
    agent_scopes: Mutex<Option<Arc<AgentScopes>>>,
    pub(crate) hooks: ArcSwap<Arc<[HookEntry]>>,
    pub(crate) grants: ActiveGrants,
    pub(crate) questions: OpenQuestions,
    pub(crate) changed_tools: ChangedTools,
    pub(crate) limiter: RateLimiter,
    pub(crate) parallel_limits: ParallelCallLimits,
    pub(crate) idempotency_keys: IdempotencyKeys,
    /// Lets so many checks of arguments that take long run at a time.
    pub(crate) heavy_checks: Arc<Semaphore>,
    pub(crate) in_flight: InFlight,
    /// Cancelled when calls still running are to end.
    pub(crate) stopping: CancellationToken,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

/// How many calls are under way, and whether new ones are taken.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    count: AtomicUsize,
    is_closed: std::sync::atomic::AtomicBool,
    drained: Notify,
    /// Runs that were told to stop and had not yet stopped.
    pub(crate) abandoned_runs: AtomicU64,
}

/// Counts one call for as long as it lives.
pub(crate) struct InFlightGuard<'a>(&'a InFlight);

/// Why a call was not taken.
pub(crate) enum AdmissionError {
    Closed,
    Full,
}

impl InFlight {
    pub(crate) fn admit(&self, limit: usize) -> Result<InFlightGuard<'_>, AdmissionError> {
        let boarding = {
            let count = self.count.fetch_add(1, Ordering::SeqCst);
            let boarding = InFlightGuard(self);
            if count >= limit {
                return Err(AdmissionError::Full);
            }
            boarding
        };
        // Ordered against the store and the count in `shut_down`: one of the two sees the other.
        if self.is_closed.load(Ordering::SeqCst) { Err(AdmissionError::Closed) } else { Ok(boarding) }
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.drained.notify_waiters();
        }
    }
}

/// What an engine is made of.
pub struct EngineParts {
    /// Which tools there are.
    pub registry: Arc<Registry>,
    /// Where calls are recorded.
    pub recorder: Arc<dyn Recorder>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What the owner can set about calls.
    pub settings: EngineSettings,
    /// Who may use which tool.
    pub policy: Policy,
    /// What was answered before.
    pub grants: ActiveGrants,
}

impl EngineParts {
    /// Everything allowed, nothing recorded.
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
    /// An engine.
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

    /// Which tools there are.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Who may use which tool.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Takes other rules, from the next call on. What principals have used of their limits stays counted.
    pub fn set_policy(&self, policy: Policy) {
        let agents = self.agent_scopes.lock();
        self.policy.store(Arc::new(policy.with_agents(agents.clone())));
    }

    /// Says what agents may use, from the next call on; other rules do not change it. Until it is said, agents may
    /// use what the rules let their callers use.
    pub fn set_agent_scopes(&self, scopes: AgentScopes) {
        let scopes = Some(Arc::new(scopes));
        let mut agents = self.agent_scopes.lock();
        self.policy.store(Arc::new(self.policy.load().with_agents(scopes.clone())));
        *agents = scopes;
    }

    /// Takes other hooks, from the next call on. They are asked in this order.
    pub fn set_hooks(&self, hooks: Vec<HookEntry>) {
        self.hooks.store(Arc::new(hooks.into()));
    }

    /// The answers that are kept.
    #[must_use]
    pub fn grants(&self) -> &ActiveGrants {
        &self.grants
    }

    /// The questions that are open.
    #[must_use]
    pub fn questions(&self) -> &OpenQuestions {
        &self.questions
    }

    /// The tools that are not what they were.
    #[must_use]
    pub fn changed_tools(&self) -> &ChangedTools {
        &self.changed_tools
    }

    /// Takes new settings; calls under way keep what they started with.
    pub fn set_settings(&self, settings: EngineSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// How long one run of a tool may take, whoever calls.
    #[must_use]
    pub fn tool_timeout(&self, tool: &ToolId, spec: &ToolSpec) -> Duration {
        let settings = self.settings.load();
        settings.tool_timeout(tool, spec).min(settings.timeout_cap)
    }

    /// How many calls are under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.count.load(Ordering::SeqCst)
    }

    /// How many runs have been told to stop and are still running: blocking code past its deadline.
    #[must_use]
    pub fn abandoned_runs(&self) -> u64 {
        self.in_flight.abandoned_runs.load(Ordering::Acquire)
    }

    /// Takes no new calls, gives those under way `grace` to end, then ends them as `shutting_down`. Returns
    /// when every call has its outcome.
    pub async fn shut_down(&self, grace: Duration) {
        self.in_flight.is_closed.store(true, Ordering::SeqCst);
        if tokio::time::timeout(grace, self.wait_until_drained()).await.is_err() {
            self.stopping.cancel();
            self.wait_until_drained().await;
        }
    }

    async fn wait_until_drained(&self) {
        loop {
            let landed = self.in_flight.drained.notified();
            if self.in_flight() == 0 {
                return;
            }
            landed.await;
        }
    }
}

#[cfg(test)]
mod tests;
