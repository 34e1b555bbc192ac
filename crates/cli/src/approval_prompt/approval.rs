//! Describes approvals and answers for people.

use clap::ValueEnum;
use toolway_api::approvals::{
    AnswerApprovalRequest, ApprovalDecision, ApprovalResolved, ApprovalScope, PendingApproval,
};

/// Describes the requested permission.
pub(crate) fn requested_permission(question: &PendingApproval) -> String {
    match &question.permission {
        Some(permission) => permission.clone(),
        None if question.changed_tool => "to run though it has changed".to_owned(),
        None => "to run".to_owned(),
    }
}

/// Describes how an approval ended.
pub(crate) fn describe_resolution(resolved: &ApprovalResolved) -> String {
    let by = resolved.answered_by.as_deref().unwrap_or("somebody");
    match (resolved.decision, resolved.scope) {
        (Some(decision), scope) => {
            let answer = AnswerApprovalRequest { decision, scope: scope.unwrap_or_default() };
            format!("{} by {by}", describe_answer(answer))
        }
        (None, _) if resolved.resolution == "expired" => "nobody answered in time".to_owned(),
        (None, _) if resolved.resolution == "cancelled" => "its call has ended".to_owned(),
        (None, _) => resolved.resolution.clone(),
    }
}

/// Scope of an answer, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApprovalScopeFlag {
    /// Only for this call
    Once,
    /// For this conversation
    Session,
    /// For all calls of this agent (owners only)
    Agent,
    /// For all calls of this caller (owners only)
    Always,
}

impl From<ApprovalScopeFlag> for ApprovalScope {
    fn from(flag: ApprovalScopeFlag) -> Self {
        match flag {
            ApprovalScopeFlag::Once => Self::Once,
            ApprovalScopeFlag::Session => Self::Session,
            ApprovalScopeFlag::Agent => Self::Agent,
            ApprovalScopeFlag::Always => Self::Always,
        }
    }
}

/// Describes an answer, for example `granted once` or `denied for good`.
pub(crate) fn describe_answer(answer: AnswerApprovalRequest) -> &'static str {
    match (answer.decision, answer.scope) {
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
