//! Questions and answers as the gateway's REST API has them.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

/// What a call waits for.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
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

impl Question {
    /// What is asked for, in a word or two.
    pub(crate) fn matter(&self) -> String {
        match &self.permission {
            Some(permission) => permission.clone(),
            None if self.changed_tool => "to run though it has changed".to_owned(),
            None => "to run".to_owned(),
        }
    }
}

/// How a question ended.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Over {
    pub(crate) id: String,
    /// `answered`, `expired` or `withdrawn`.
    pub(crate) how: String,
    pub(crate) decision: Option<Decision>,
    pub(crate) scope: Option<Scope>,
    pub(crate) by: Option<String>,
}

impl Over {
    /// In words.
    pub(crate) fn in_words(&self) -> String {
        let by = self.by.as_deref().unwrap_or("somebody");
        match (self.decision, self.scope) {
            (Some(decision), scope) => {
                format!("{} by {by}", Answer { decision, scope: scope.unwrap_or_default() }.in_words())
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
pub(crate) enum Decision {
    Granted,
    Denied,
    DeniedAlways,
}

/// How long an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
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
pub(crate) struct Answer {
    pub(crate) decision: Decision,
    pub(crate) scope: Scope,
}

impl Answer {
    /// In words: `granted once`, `denied for good (for this caller)`.
    pub(crate) fn in_words(self) -> &'static str {
        match (self.decision, self.scope) {
            (Decision::Granted, Scope::Once) => "granted once",
            (Decision::Granted, Scope::Session) => "granted for the session",
            (Decision::Granted, Scope::Agent) => "granted for the agent",
            (Decision::Granted, Scope::Always) => "granted always",
            (Decision::Denied, _) | (Decision::DeniedAlways, Scope::Once) => "denied",
            (Decision::DeniedAlways, Scope::Session) => "denied for the session",
            (Decision::DeniedAlways, Scope::Agent) => "denied to the agent for good",
            (Decision::DeniedAlways, Scope::Always) => "denied for good",
        }
    }
}
