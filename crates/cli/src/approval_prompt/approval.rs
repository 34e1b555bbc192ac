//! Questions and answers as the gateway's REST API has them.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

/// What a call waits for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PendingApproval {
    pub(crate) id: String,
    /// Whether it is asked because the tool is not what it was.
    pub(crate) changed_tool: bool,
    pub(crate) tool_id: String,
    pub(crate) permission: Option<String>,
    pub(crate) principal: String,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) reason: String,
    pub(crate) arguments: RawJson,
    pub(crate) asked_ms: i64,
    pub(crate) expires_ms: i64,
}

impl PendingApproval {
    /// What is asked for, in a word or two.
    pub(crate) fn requested_permission(&self) -> String {
        match &self.permission {
            Some(permission) => permission.clone(),
            None if self.changed_tool => "to run though it has changed".to_owned(),
            None => "to run".to_owned(),
        }
    }
}

/// How a question ended.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ApprovalClosed {
    pub(crate) id: String,
    /// `answered`, `expired` or `withdrawn`.
    pub(crate) how: String,
    pub(crate) decision: Option<ApprovalDecision>,
    pub(crate) scope: Option<ApprovalScope>,
    pub(crate) by: Option<String>,
}

impl ApprovalClosed {
    /// In words.
    pub(crate) fn describe(&self) -> String {
        let by = self.by.as_deref().unwrap_or("somebody");
        match (self.decision, self.scope) {
            (Some(decision), scope) => {
                format!(
                    "{} by {by}",
                    ApprovalAnswer { decision, scope: scope.unwrap_or_default() }.describe()
                )
            }
            (None, _) if self.how == "expired" => "nobody answered in time".to_owned(),
            (None, _) if self.how == "withdrawn" => "its call has ended".to_owned(),
            (None, _) => self.how.clone(),
        }
    }
}

/// Yes, no, never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalDecision {
    Granted,
    Denied,
    DeniedAlways,
}

/// How long an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalScope {
    /// For this call
    #[default]
    Once,
    /// For this conversation
    Session,
    /// For all calls of this agent; owners only
    Agent,
    /// For all calls of this caller; owners only
    Always,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct ApprovalAnswer {
    pub(crate) decision: ApprovalDecision,
    pub(crate) scope: ApprovalScope,
}

impl ApprovalAnswer {
    /// In words: `granted once`, `denied for good (for this caller)`.
    pub(crate) fn describe(self) -> &'static str {
        match (self.decision, self.scope) {
            (ApprovalDecision::Granted, ApprovalScope::Once) => "granted once",
            (ApprovalDecision::Granted, ApprovalScope::Session) => "granted for the session",
            (ApprovalDecision::Granted, ApprovalScope::Agent) => "granted for the agent",
            (ApprovalDecision::Granted, ApprovalScope::Always) => "granted always",
            (ApprovalDecision::Denied, _) | (ApprovalDecision::DeniedAlways, ApprovalScope::Once) => "denied",
            (ApprovalDecision::DeniedAlways, ApprovalScope::Session) => "denied for the session",
            (ApprovalDecision::DeniedAlways, ApprovalScope::Agent) => "denied to the agent for good",
            (ApprovalDecision::DeniedAlways, ApprovalScope::Always) => "denied for good",
        }
    }
}
