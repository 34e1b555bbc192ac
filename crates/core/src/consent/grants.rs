//! The answers that are kept, so that a person is not asked for every single call.

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

/// A grant's id, a UUIDv7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantId(Uuid);

impl GrantId {
    /// A new one, later than all before.
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

/// Whose calls a grant is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantSubject {
    /// Everyone's.
    Anyone,
    /// One principal's.
    Principal(PrincipalId),
    /// One agent's.
    Agent(Arc<str>),
    /// One principal's within one conversation.
    Session(PrincipalId, Arc<str>),
}

/// Whether it says yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantVerdict {
    /// Yes.
    Granted,
    /// No, and nobody is asked.
    DeniedAlways,
}

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The permission it is for; none where it is for running the tool.
    pub permission: Option<Arc<str>>,
    /// The tools, as a pattern over `source/tool`.
    pub tool: Arc<str>,
    /// Whose calls.
    pub subject: GrantSubject,
    /// Yes or no.
    pub verdict: GrantVerdict,
    /// Wall clock, milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// Who gave it.
    pub created_by: PrincipalId,
    /// When it ends; none where it does not.
    pub expires_ms: Option<i64>,
}

/// Why a grant does not outlive the gateway.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the grant could not be stored: {0}")]
pub struct GrantStoreError(pub String);

/// Keeps grants where they outlive the gateway.
#[async_trait]
pub trait GrantStore: Send + Sync + 'static {
    /// Keeps one.
    ///
    /// # Errors
    /// [`NotKept`].
    async fn save(&self, grant: &Grant) -> Result<(), GrantStoreError>;

    /// Takes one back.
    ///
    /// # Errors
    /// [`NotKept`] where that can't be written; then it may be there again after a restart.
    async fn revoke(&self, grant: GrantId) -> Result<(), GrantStoreError>;
}

/// Keeps nothing beyond the gateway's life.
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

/// Most grants that hold at a time; of those for one conversation the oldest go first.
const MAX_GRANTS: usize = 10_000;

/// The grants that hold.
pub struct ActiveGrants {
    active: RwLock<Vec<CompiledGrant>>,
    /// Whether one of them says no: only then must calls that nobody is asked about be looked for.
    has_denial: AtomicBool,
    store: Arc<dyn GrantStore>,
    /// Grants that could not be written, to be said once each.
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

/// Why a grant was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// Its tools are no pattern.
    #[error(transparent)]
    Pattern(#[from] GlobError),
    /// There are too many.
    #[error("{0} grants hold already; revoke some")]
    TooMany(usize),
    /// It could not be stored.
    #[error(transparent)]
    Store(#[from] GrantStoreError),
}

impl ActiveGrants {
    /// The grants that were kept before, and who keeps new ones.
    #[must_use]
    pub fn new(kept: Vec<Grant>, keeper: Arc<dyn GrantStore>) -> Self {
        let grants = Self {
            active: RwLock::default(),
            has_denial: AtomicBool::new(false),
            store: keeper,
            unsaved_count: Mutex::new(0),
        };
        grants.load(kept);
        grants
    }

    /// Puts what is kept in the place of what was; those for conversations stay.
    pub fn load(&self, kept: Vec<Grant>) {
        self.change(|held| {
            held.retain(|held| matches!(held.grant.subject, GrantSubject::Session(..)));
            for grant in kept {
                match GlobPatterns::new([&grant.tool]) {
                    Ok(tools) => held.push(CompiledGrant { grant, tools }),
                    Err(error) => tracing::warn!(%error, grant = %grant.id, "a grant can't be used"),
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

    /// Whether some grant says no.
    pub(crate) fn has_denial(&self) -> bool {
        self.has_denial.load(Ordering::Acquire)
    }

    /// All that hold, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Grant> {
        let mut grants: Vec<_> = self.active.read().iter().map(|held| held.grant.clone()).collect();
        grants.sort_by_key(|grant| grant.id);
        grants
    }

    /// Takes a grant, and keeps it where it is for longer than a conversation.
    ///
    /// # Errors
    /// [`BadGrant`]; then it does not hold.
    pub async fn add(&self, grant: Grant) -> Result<(), GrantError> {
        let tools = GlobPatterns::new([&grant.tool])?;
        if self.active.read().len() >= MAX_GRANTS && !self.evict_oldest_session_grant() {
            return Err(GrantError::TooMany(MAX_GRANTS));
        }
        // It holds from now on, so that it also holds where whoever waits for it to be written goes meanwhile.
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

    /// Takes a grant back, from the next call on. False where there is none of this id.
    ///
    /// # Errors
    /// [`NotKept`] where that could not be written: it holds no more, until a restart. It can be tried again.
    pub async fn revoke(&self, id: GrantId) -> Result<bool, GrantStoreError> {
        let was_there = self.change(|held| {
            let before = held.len();
            held.retain(|held| held.grant.id != id);
            held.len() != before
        });
        self.store.revoke(id).await?;
        Ok(was_there)
    }

    /// What was answered before, if anything: a no counts before a yes.
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

    /// Keeps an answer for as long as it says. What holds for one call needs no grant.
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
        // Another call's question may have had the same answer; what is taken back once must not hold any more.
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
            tracing::warn!(%error, tool = %question.tool, "an answer holds for this call only");
        }
    }

    /// How many answers could not be kept.
    #[must_use]
    pub fn unsaved_count(&self) -> u64 {
        *self.unsaved_count.lock()
    }
}

/// A tool's id as a pattern that only it fits.
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

/// What a grant is sought for.
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
