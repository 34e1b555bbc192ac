//! The engine: tools ([`Tool`]), the registry of tools ([`Registry`]), and the one path of every call
//! ([`Engine::call`]).
//!
//! This crate does not depend on HTTP, SQL or WebSocket. It uses the runtime's monotonic clock (tests can
//! pause it), and an injected wall clock for labels.

pub mod arguments;
pub mod blocking_pool;
mod call;
pub mod call_request;
pub mod caller;
pub mod changed_tools;
pub mod consent;
pub mod context;
pub mod engine;
pub mod engine_settings;
pub mod finished_call;
pub mod function;
pub mod glob;
pub mod hook;
mod idempotency_keys;
mod in_flight;
pub mod lease_id;
mod parallel_limits;
pub mod peer_memory;
mod permission;
pub mod policy;
pub mod progress;
pub mod record;
pub mod registry;
pub mod run_clock;
pub mod schema;
pub mod secret_mask;
pub mod spec;
#[cfg(test)]
mod testkit;
pub mod tool;
pub mod tool_search;

pub use arguments::{Arguments, RawArguments};
pub use blocking_pool::{BlockingPool, JobFailed};
pub use call::idempotency::MAX_IDEMPOTENCY_KEY_BYTES;
pub use call_request::CallRequest;
pub use caller::{Caller, CallerRegistration, EntryPoint};
pub use changed_tools::ChangedTools;
pub use consent::{ActiveGrants, Grant, OpenQuestions, Question};
pub use context::{CallContext, CallExtension, CancelReason};
pub use engine::{Engine, EngineParts};
pub use engine_settings::{EngineSettings, SECRET_NAMES};
pub use finished_call::FinishedCall;
pub use function::ToolBuilder;
pub use glob::{GlobError, GlobPatterns};
pub use hook::{
    AfterCallDecision, BeforeCallDecision, Hook, HookCall, HookEntry, HookError, HookErrorAction,
};
pub use lease_id::LeaseId;
pub use peer_memory::{MemoryPermit, PeerMemory, UnlimitedMemory};
pub use policy::{AgentScope, AgentScopes, Policy, PolicyExplanation, PolicyProblem};
pub use progress::{ProgressReport, ProgressSink};
pub use record::{
    CallDurations, CallNotes, ClosedCall, EarlierCall, IdempotencyKey, NoRecorder, OpenedCall, RecordCommit,
    Recorder,
};
pub use registry::{
    Lease, Registry, RegistrySnapshot, SortedTools, SourceRetention, SourceSnapshot, ToolLookup,
    suggestion_hint,
};
pub use run_clock::RunClock;
pub use schema::{CompileBudget, Schema, SchemaError};
pub use secret_mask::SecretMask;
pub use spec::{SpecCache, SpecError, SpecFlag, ToolSpec};
pub use tool::Tool;
