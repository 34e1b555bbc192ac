//! Toolway's storage: tokens, sources, grants, policy rules, specs, agents, conversations, model costs, and
//! the records of calls, in one SQLite database in the data folder.
//!
//! [`Store::open`] creates or opens the database. One thread ([`writer`]) writes everything over one
//! connection, so no two parts of the gateway wait for each other's lock. Reads use a few connections of
//! their own, opened on first use. Recording never fails a call: lost records are counted ([`Store::health`])
//! and logged.
//!
//! This crate never reads the environment or the clock: its caller passes the folder and the clock.

mod agents;
mod backup;
mod call_log_size;
mod call_row;
mod calls;
mod connector;
mod database;
mod database_copy;
mod error;
mod files;
mod grants;
mod health;
mod integers;
mod interrupted_work;
mod maintenance;
mod migrations;
mod options;
mod outcome;
mod recorder;
mod restore;
mod retention;
mod rules;
mod sessions;
mod size_limits;
mod sources;
mod specs;
mod store;
mod token_counts;
mod tokens;
mod usage;
mod writer;

pub use agents::{AgentRecord, AgentRepository};
pub use call_log_size::RemovedCalls;
pub use call_row::{CallRow, CallStatus};
pub use calls::{
    CallCursor, CallFilter, CallOrder, CallPage, CallRemoval, CallRepository, StatusFilter, TextFilter,
    ToolFilter, UnknownStatus,
};
pub use error::StoreError;
pub use grants::{GrantDecision, GrantKind, GrantRecord, GrantRepository, UnknownGrantValue};
pub use health::{StoreFault, StoreHealth};
pub use options::{Durability, StoreOptions};
pub use rules::{RuleRecord, RuleRepository};
pub use sessions::{
    AppendedMessages, MessagePage, MessageRecord, NewMessage, NewTurn, RemovedSession, SessionCursor,
    SessionPage, SessionRecord, SessionRecordFilter, SessionRepository, StartedTurn, StoredRole, TitleBy,
    TurnEnding, TurnOpening, TurnRecord, TurnState,
};
pub use size_limits::{MAX_MESSAGE_BYTES, MAX_SEARCHED_BYTES, MAX_SESSION_BYTES};
pub use sources::{SourceRecord, SourceRepository};
pub use specs::{LazySpecDocument, RegisteredSpec, SourceSpecs, SpecFingerprint, SpecRepository, SpecRow};
pub use store::Store;
pub use token_counts::TokenCounts;
pub use tokens::{TokenRecord, TokenRepository};
pub use usage::{
    ModelRequestRecord, ModelUsageGrouping, ModelUsageRow, RequestStatus, ToolUsageRow, UsageFilter,
    UsageRepository,
};

#[cfg(test)]
mod tests;
