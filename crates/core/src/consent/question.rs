//! A question to a person, and its answer.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, Principal, PrincipalId, RawJson, ToolId};
use uuid::Uuid;

/// A question's id, a UUIDv7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(Uuid);

impl QuestionId {
    /// A new one, later than all before.
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

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind {
    /// Whether the tool may use a permission.
    Permission(Arc<str>),
    /// Whether the call may run.
    Approval,
    /// Whether the call may run though its tool is not what it was. Only an owner may say, for this call
    /// or for always.
    ChangedTool,
}

impl QuestionKind {
    /// The word on the wire, which has two kinds.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Permission(_) => "permission",
            Self::Approval | Self::ChangedTool => "approval",
        }
    }

    /// The permission, where it is about one.
    #[must_use]
    pub fn permission(&self) -> Option<&Arc<str>> {
        match self {
            Self::Permission(permission) => Some(permission),
            Self::Approval | Self::ChangedTool => None,
        }
    }
}

/// A question to a person, asked by a call that waits for the answer.
#[derive(Debug, Clone)]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// What is asked.
    pub kind: QuestionKind,
    /// The call that waits.
    pub call: CallId,
    /// The tool it is for.
    pub tool: ToolId,
    /// Who called.
    pub principal: PrincipalId,
    /// In whose agent's name.
    pub agent: Option<Arc<str>>,
    /// In which conversation.
    pub session: Option<Arc<str>>,
    /// Why it is asked, in words.
    pub reason: String,
    /// The arguments, secrets left out, cut where they are long.
    pub arguments: RawJson,
    /// Whether the caller may answer, apart from the owner.
    pub caller_may_answer: bool,
    /// Wall clock, milliseconds since the Unix epoch: when it was asked.
    pub asked_ms: i64,
    /// When it is no longer open.
    pub expires_ms: i64,
}

/// What a person chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentDecision {
    /// Yes.
    Granted,
    /// Not this time.
    Denied,
    /// No, and do not ask again: for as long as the scope says, and where that is [`Scope::Once`] for as long as
    /// whoever answers may say.
    DeniedAlways,
}

/// How long an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentScope {
    /// For this call.
    #[default]
    Once,
    /// For this conversation.
    Session,
    /// For all calls of this agent.
    Agent,
    /// For all calls of this principal.
    Always,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentAnswer {
    /// What the person chose.
    pub choice: ConsentDecision,
    /// How long it holds.
    pub scope: ConsentScope,
    /// Who answered.
    pub answered_by: PrincipalId,
}

/// Why an answer was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It was answered, or its time is over, or it never was, or it is not this principal's to see.
    #[error("no question with this id is open")]
    NotOpen,
    /// It may be seen and not answered.
    #[error("only the owner may answer this question")]
    OnlyOwner,
    /// The answer would hold for longer than this principal may say.
    #[error("only the owner may answer for an agent or for always; choose once or session")]
    ScopeTooWide,
    /// It would hold for a conversation, and there is none.
    #[error("the call belongs to no session; choose another scope")]
    NoSession,
    /// It would hold for an agent, and there is none.
    #[error("the call belongs to no agent; choose another scope")]
    NoAgent,
}

impl Question {
    /// Whether this principal may see it.
    #[must_use]
    pub fn is_visible_to(&self, principal: &Principal) -> bool {
        principal.role.is_owner() || (principal.role.may_call() && self.principal == principal.id)
    }

    /// Whether this principal may answer it so.
    ///
    /// # Errors
    /// [`CannotAnswer`].
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
