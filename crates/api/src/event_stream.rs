//! Server-sent events in general, and the names of the events.

use serde::{Deserialize, Serialize};

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StreamEvent {
    /// The event's name.
    pub event: String,
    /// The data: a JSON object as text.
    pub data: String,
}

/// A call waits for an answer; the data is a [`PendingApproval`](crate::approvals::PendingApproval).
pub const APPROVAL_REQUESTED: &str = "approval_requested";
/// A question has ended; the data is an [`ApprovalResolved`](crate::approvals::ApprovalResolved).
pub const APPROVAL_RESOLVED: &str = "approval_resolved";
/// A call has ended; the data is a [`CallSummary`](crate::calls::CallSummary).
pub const CALL: &str = "call";
/// The reader was too slow; the data is the number of events that it missed.
pub const LAGGED: &str = "lagged";
/// The final outcome of a call; the data is a [`CallToolResponse`](crate::tools::CallToolResponse).
pub const OUTCOME: &str = "outcome";
/// Progress of a call; the data is a [`CallProgress`](crate::tools::CallProgress).
pub const PROGRESS: &str = "progress";
/// The first event of a turn; the data is a [`SessionStart`](crate::chat::SessionStart).
pub const SESSION_START: &str = "session_start";
