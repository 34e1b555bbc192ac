//! Grants: stored answers, so that a person is not asked for every call.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use toolway_types::{PrincipalId, ToolId};
use uuid::Uuid;

use super::question::{ConsentAnswer, ConsentDecision, ConsentScope, Question};
use crate::glob::{GlobError, GlobPatterns};

/// Id of a grant, a UUIDv7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantId(Uuid);

impl GrantId {
    /// Creates a new id that sorts after all earlier ones.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for GrantId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

/// Calls to which a grant applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantSubject {
    /// Calls of all principals.
    Anyone,
    /// Calls of one principal.
    Principal(PrincipalId),
    /// Calls of one agent.
    Agent(Arc<str>),
    /// Calls of one principal in one conversation.
    Session(PrincipalId, Arc<str>),
}

/// Verdict of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantVerdict {
    /// Allowed.
    Granted,
    /// Denied without asking.
    DeniedAlways,
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Id of the grant.
    pub id: GrantId,
    /// Permission of the grant; None for a grant to run the tool.
    pub permission: Option<Arc<str>>,
    /// Pattern for the tools' ids, `source/tool`.
    pub tool: Arc<str>,
    /// Calls to which the grant applies.
    pub subject: GrantSubject,
    /// Verdict of the grant.
    pub verdict: GrantVerdict,
    /// Time of creation, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// Principal that created the grant.
    pub created_by: PrincipalId,
    /// Time of expiry, if any.
    pub expires_ms: Option<i64>,
}

/// Reason why a grant could not be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the grant could not be stored: {0}")]
pub struct GrantStoreError(pub String);

/// Stores grants across restarts.
#[async_trait]
pub trait GrantStore: Send + Sync + 'static {
    /// Stores a grant.
    ///
    /// # Errors
    /// [`GrantStoreError`] if it cannot be written.
    async fn save(&self, grant: &Grant) -> Result<(), GrantStoreError>;

    /// Removes a grant.
    ///
    /// # Errors
    /// [`GrantStoreError`] if that cannot be written; the grant may then return after a restart.
    async fn revoke(&self, grant: GrantId) -> Result<(), GrantStoreError>;
}

/// A store that stores nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoGrantStore;

#[async_trait]
impl GrantStore for NoGrantStore {
    async fn save(&self, _: &Grant) -> Result<(), GrantStoreError> {
        Ok(())
    }

    async fn revoke(&self, _: GrantId) -> Result<(), GrantStoreError> {
        Ok(())
    }
}

/// Maximum number of active grants. The oldest grants for conversations are dropped first.
const MAX_GRANTS: usize = 10_000;

/// The active grants.
pub struct ActiveGrants {
    active: RwLock<Vec<CompiledGrant>>,
    /// True if a grant denies. Only then must calls be checked that would ask no person.
    has_denial: AtomicBool,
    store: Arc<dyn GrantStore>,
    /// Number of answers that could not be stored.
    unsaved_count: Mutex<u64>,
}

struct CompiledGrant {
    grant: Grant,
    tools: GlobPatterns,
}

impl fmt::Debug for ActiveGrants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveGrants").field("held", &self.active.read().len()).finish_non_exhaustive()
    }
}

/// Reason why a grant was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The tool pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] GlobError),
    /// There are too many grants.
    #[error("{0} grants hold already; revoke some")]
    TooMany(usize),
    /// The grant could not be stored.
    #[error(transparent)]
    Store(#[from] GrantStoreError),
}

impl ActiveGrants {
    /// Creates the set from stored grants, with the store for new ones.
    #[must_use]
    pub fn new(kept: Vec<Grant>, store: Arc<dyn GrantStore>) -> Self {
        let grants = Self {
            active: RwLock::default(),
            has_denial: AtomicBool::new(false),
            store,
            unsaved_count: Mutex::new(0),
        };
        grants.load(kept);
        grants
    }

    /// Replaces the stored grants. Grants for conversations stay.
    pub fn load(&self, kept: Vec<Grant>) {
        self.change(|held| {
            held.retain(|held| matches!(held.grant.subject, GrantSubject::Session(..)));
            for grant in kept {
                match GlobPatterns::new([&grant.tool]) {
                    Ok(tools) => held.push(CompiledGrant { grant, tools }),
                    Err(error) => tracing::warn!(%error, grant = %grant.id, "a stored grant is invalid and has no effect"),
                }
            }
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<CompiledGrant>) -> T) -> T {
        let mut held = self.active.write();
        let result = change(&mut held);
        let any = held.iter().any(|held| held.grant.verdict == GrantVerdict::DeniedAlways);
        self.has_denial.store(any, Ordering::Release);
        result
    }

    /// True if a grant denies.
    pub(crate) fn has_denial(&self) -> bool {
        self.has_denial.load(Ordering::Acquire)
    }

    /// Lists all active grants, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Grant> {
        let mut grants: Vec<_> = self.active.read().iter().map(|held| held.grant.clone()).collect();
        grants.sort_by_key(|grant| grant.id);
        grants
    }

    /// Adds a grant, and stores it unless it is for a conversation.
    ///
    /// # Errors
    /// [`GrantError`]. Then the grant is not active.
    pub async fn add(&self, grant: Grant) -> Result<(), GrantError> {
        let tools = GlobPatterns::new([&grant.tool])?;
        if self.active.read().len() >= MAX_GRANTS && !self.evict_oldest_session_grant() {
            return Err(GrantError::TooMany(MAX_GRANTS));
        }
        // Active from now on, even if the caller leaves before the grant is stored.
        self.change(|held| held.push(CompiledGrant { grant: grant.clone(), tools }));
        if !matches!(grant.subject, GrantSubject::Session(..))
            && let Err(error) = self.store.save(&grant).await
        {
            self.change(|held| held.retain(|held| held.grant.id != grant.id));
            return Err(error.into());
        }
        Ok(())
    }

    fn evict_oldest_session_grant(&self) -> bool {
        self.change(|held| {
            let oldest = held.iter().position(|held| matches!(held.grant.subject, GrantSubject::Session(..)));
            if let Some(at) = oldest {
                held.remove(at);
            }
            oldest.is_some()
        })
    }

    /// Revokes a grant from the next call on. Returns false if the id is unknown.
    ///
    /// # Errors
    /// [`GrantStoreError`] if it could not be stored: the grant is inactive until a restart. The call can be
    /// repeated.
    pub async fn revoke(&self, id: GrantId) -> Result<bool, GrantStoreError> {
        let was_there = self.change(|held| {
            let before = held.len();
            held.retain(|held| held.grant.id != id);
            held.len() != before
        });
        self.store.revoke(id).await?;
        Ok(was_there)
    }

    /// Finds the verdict for a query. A denial has priority.
    pub(crate) fn find_verdict(&self, ask: &GrantQuery<'_>, now_ms: i64) -> Option<(GrantVerdict, GrantId)> {
        let held = self.active.read();
        let mut granted = None;
        for CompiledGrant { grant, tools } in held.iter() {
            let fits = grant.permission.as_deref() == ask.permission
                && grant.expires_ms.is_none_or(|expires| expires > now_ms)
                && ask.matches_subject(&grant.subject)
                && (*grant.tool == *ask.tool_text || tools.matches(ask.tool_text));
            match grant.verdict {
                _ if !fits => {}
                GrantVerdict::DeniedAlways => return Some((GrantVerdict::DeniedAlways, grant.id)),
                GrantVerdict::Granted => granted = granted.or(Some((GrantVerdict::Granted, grant.id))),
            }
        }
        granted
    }

    /// Adds a grant for the scope of an answer. An answer for one call needs no grant.
    pub(crate) async fn save_answer(&self, question: &Question, answer: &ConsentAnswer, now_ms: i64) {
        let verdict = match answer.choice {
            ConsentDecision::Granted => GrantVerdict::Granted,
            ConsentDecision::DeniedAlways => GrantVerdict::DeniedAlways,
            ConsentDecision::Denied => return,
        };
        let principal = question.principal.clone();
        let whose = match (answer.scope, &question.session, &question.agent) {
            (ConsentScope::Session, Some(session), _) => GrantSubject::Session(principal, session.clone()),
            (ConsentScope::Agent, _, Some(agent)) => GrantSubject::Agent(agent.clone()),
            (ConsentScope::Always, ..) => GrantSubject::Principal(principal),
            _ => return,
        };
        let (permission, tool) = (question.kind.permission().cloned(), escape_tool_id(&question.tool));
        // Another call may have received the same answer; the older grant must go, so that one revocation is
        // enough.
        let is_same = |held: &CompiledGrant| {
            let Grant { permission: p, tool: t, subject: w, verdict: v, expires_ms, .. } = &held.grant;
            *p == permission && *t == tool && *w == whose && *v == verdict && expires_ms.is_none()
        };
        if self.active.read().iter().any(is_same) {
            return;
        }
        let grant = Grant {
            id: GrantId::new(),
            permission,
            tool,
            subject: whose,
            verdict,
            created_ms: now_ms,
            created_by: answer.answered_by.clone(),
            expires_ms: None,
        };
        if let Err(error) = self.add(grant).await {
            *self.unsaved_count.lock() += 1;
            tracing::warn!(%error, tool = %question.tool, "an answer could not be stored and applies to this call only");
        }
    }

    /// Number of answers that could not be stored.
    #[must_use]
    pub fn unsaved_count(&self) -> u64 {
        *self.unsaved_count.lock()
    }
}

/// Pattern that matches only this tool id.
fn escape_tool_id(tool: &ToolId) -> Arc<str> {
    let mut pattern = String::new();
    for c in tool.to_string().chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | ',' | '!') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.into()
}

/// Query for a grant.
pub(crate) struct GrantQuery<'a> {
    pub(crate) permission: Option<&'a str>,
    pub(crate) tool_text: &'a str,
    pub(crate) principal: &'a PrincipalId,
    pub(crate) agent: Option<&'a Arc<str>>,
    pub(crate) session: Option<&'a Arc<str>>,
}

impl GrantQuery<'_> {
    fn matches_subject(&self, whose: &GrantSubject) -> bool {
        match whose {
            GrantSubject::Anyone => true,
            GrantSubject::Principal(principal) => principal == self.principal,
            GrantSubject::Agent(agent) => self.agent == Some(agent),
            GrantSubject::Session(principal, session) => {
                principal == self.principal && self.session == Some(session)
            }
        }
    }
}

#[cfg(test)]
mod tests;
