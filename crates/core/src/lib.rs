//! The engine: what a tool is ([`Tool`]), which tools there are ([`Registry`]) and the one path that every
//! call takes ([`Engine::call`]).
//!
//! Nothing here knows HTTP, SQL or WebSocket. Time is the runtime's monotonic clock (tests can pause it) and
//! an injected wall clock for labels.

pub mod arguments;
mod call;
pub mod caller;
pub mod changed;
pub mod consent;
pub mod context;
pub mod deadline;
pub mod engine;
pub mod function;
pub mod glob;
pub mod hook;
mod permission;
pub mod policy;
pub mod progress;
pub mod record;
pub mod registry;
pub mod schema;
pub mod spec;
#[cfg(test)]
mod testkit;
pub mod tool;

pub use arguments::{Arguments, RawArguments};
pub use caller::{Caller, Door, OwnTools};
pub use changed::ChangedTools;
pub use consent::{Grant, Grants, Question, Questions};
pub use context::{Attachment, CallContext, CancelReason};
pub use deadline::RunClock;
pub use engine::{Call, Engine, EngineParts, EngineSettings, Finished, REDACTED};
pub use function::{function, function_with_schema};
pub use glob::{BadGlob, Globs};
pub use hook::{After, Before, Hook, HookEntry, HookFault, HookedCall, OnFault};
pub use policy::{AgentScope, AgentScopes, Explanation, Policy, PolicyProblem};
pub use progress::{Progress, ProgressSink};
pub use record::{
    CallNotes, ClosedCall, Commit, Durations, EarlierCall, IdempotencyKey, NoRecorder, OpenedCall, Recorder,
};
pub use registry::{Keep, Lease, LeaseId, Lookup, Registry, Snapshot, SourceView, ToolList};
pub use schema::{Schema, SchemaError};
pub use spec::{BadSpec, SpecCache, SpecFlag, ToolSpec};
pub use tool::Tool;
