//! A question to a person, and the answer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, Principal, PrincipalId, RawJson, ToolId};
use uuid::Uuid;

/// Id of a question, a UUIDv7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(Uuid);

impl QuestionId {
    /// Creates a new id that sorts after all earlier ones.
    pub(crate) fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for QuestionId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

/// Kind of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// The tool wants to use a permission.
    Permission(Arc<str>),
    /// The call needs approval.
    Approval,
    /// The call needs approval because its tool has changed. Only an owner may answer, for this call or for
    /// always.
    ChangedTool,
}

impl QuestionKind {
    /// Name on the wire, which has only two kinds.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Permission(_) => "permission",
            Self::Approval | Self::ChangedTool => "approval",
        }
    }

    /// The permission, for a question about one.
    #[must_use]
    pub fn permission(&self) -> Option<&Arc<str>> {
        match self {
            Self::Permission(permission) => Some(permission),
            Self::Approval | Self::ChangedTool => None,
        }
    }
}

/// A question to a person. A call waits for the answer.
#[derive(Debug, Clone)]
pub struct Question {
    /// Id of the question.
    pub id: QuestionId,
    /// Kind of the question.
    pub kind: QuestionKind,
    /// Id of the waiting call.
    pub call: CallId,
    /// Id of the tool.
    pub tool: ToolId,
    /// Principal of the call.
    pub principal: PrincipalId,
    /// Agent of the call.
    pub agent: Option<Arc<str>>,
    /// Conversation of the call.
    pub session: Option<Arc<str>>,
    /// Reason for the question, in plain text.
    pub reason: String,
    /// Arguments with secrets masked, truncated if they are long.
    pub arguments: RawJson,
    /// True if the caller may answer too, not only the owner.
    pub caller_may_answer: bool,
    /// Time of the question, in milliseconds since the Unix epoch.
    pub asked_ms: i64,
    /// Time at which the question expires.
    pub expires_ms: i64,
}

/// Decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentDecision {
    /// Allowed.
    Granted,
    /// Denied this time.
    Denied,
    /// Denied without asking again for the given scope. With [`ConsentScope::Once`], the longest scope that
    /// the person may choose applies.
    DeniedAlways,
}

/// Scope of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentScope {
    /// This call.
    #[default]
    Once,
    /// This conversation.
    Session,
    /// All calls of this agent.
    Agent,
    /// All calls of this principal.
    Always,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentAnswer {
    /// Decision of the person.
    pub choice: ConsentDecision,
    /// Scope of the answer.
    pub scope: ConsentScope,
    /// Principal that answered.
    pub answered_by: PrincipalId,
}

/// Reason why an answer was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The question is answered, expired or unknown, or this principal may not see it.
    #[error("no question with this id is open")]
    NotOpen,
    /// This principal may see the question but not answer it.
    #[error("only the owner may answer this question")]
    OnlyOwner,
    /// This principal may not choose such a wide scope.
    #[error("only the owner may answer for an agent or for always; choose once or session")]
    ScopeTooWide,
    /// The scope is the conversation, but the call belongs to none.
    #[error("the call belongs to no session; choose another scope")]
    NoSession,
    /// The scope is the agent, but the call belongs to none.
    #[error("the call belongs to no agent; choose another scope")]
    NoAgent,
}

impl Question {
    /// True if this principal may see the question.
    #[must_use]
    pub fn is_visible_to(&self, principal: &Principal) -> bool {
        principal.role.is_owner() || (principal.role.may_call() && self.principal == principal.id)
    }

    /// Checks that this principal may answer with this scope.
    ///
    /// # Errors
    /// [`AnswerError`] describes why not.
    pub fn check_answer(&self, principal: &Principal, scope: ConsentScope) -> Result<(), AnswerError> {
        if !self.is_visible_to(principal) {
            return Err(AnswerError::NotOpen);
        }
        if !principal.role.is_owner() {
            if !self.caller_may_answer {
                return Err(AnswerError::OnlyOwner);
            }
            if matches!(scope, ConsentScope::Agent | ConsentScope::Always) {
                return Err(AnswerError::ScopeTooWide);
            }
        }
        match scope {
            ConsentScope::Session if self.session.is_none() => Err(AnswerError::NoSession),
            ConsentScope::Agent if self.agent.is_none() => Err(AnswerError::NoAgent),
            _ => Ok(()),
        }
    }
}
