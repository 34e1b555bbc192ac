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

use super::question::{Answer, Choice, Question, Scope};
use crate::glob::{BadGlob, Globs};

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
pub enum GrantFor {
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
pub enum Verdict {
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
    pub whose: GrantFor,
    /// Yes or no.
    pub verdict: Verdict,
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
pub struct NotKept(pub String);

/// Keeps grants where they outlive the gateway.
#[async_trait]
pub trait GrantKeeper: Send + Sync + 'static {
    /// Keeps one.
    ///
    /// # Errors
    /// [`NotKept`].
    async fn keep(&self, grant: &Grant) -> Result<(), NotKept>;

    /// Takes one back.
    ///
    /// # Errors
    /// [`NotKept`] where that can't be written; then it may be there again after a restart.
    async fn revoke(&self, grant: GrantId) -> Result<(), NotKept>;
}

/// Keeps nothing beyond the gateway's life.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoKeeper;

#[async_trait]
impl GrantKeeper for NoKeeper {
    async fn keep(&self, _: &Grant) -> Result<(), NotKept> {
        Ok(())
    }

    async fn revoke(&self, _: GrantId) -> Result<(), NotKept> {
        Ok(())
    }
}

/// Most grants that hold at a time; of those for one conversation the oldest go first.
const MAX_GRANTS: usize = 10_000;

/// The grants that hold.
pub struct Grants {
    held: RwLock<Vec<Held>>,
    /// Whether one of them says no: only then must calls that nobody is asked about be looked for.
    any_denial: AtomicBool,
    keeper: Arc<dyn GrantKeeper>,
    /// Grants that could not be written, to be said once each.
    unwritten: Mutex<u64>,
}

struct Held {
    grant: Grant,
    tools: Globs,
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("held", &self.held.read().len()).finish_non_exhaustive()
    }
}

/// Why a grant was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGrant {
    /// Its tools are no pattern.
    #[error(transparent)]
    Tool(#[from] BadGlob),
    /// There are too many.
    #[error("{0} grants hold already; revoke some")]
    TooMany(usize),
    /// It could not be stored.
    #[error(transparent)]
    NotKept(#[from] NotKept),
}

impl Grants {
    /// The grants that were kept before, and who keeps new ones.
    #[must_use]
    pub fn new(kept: Vec<Grant>, keeper: Arc<dyn GrantKeeper>) -> Self {
        let grants = Self {
            held: RwLock::default(),
            any_denial: AtomicBool::new(false),
            keeper,
            unwritten: Mutex::new(0),
        };
        grants.load(kept);
        grants
    }

    /// Puts what is kept in the place of what was; those for conversations stay.
    pub fn load(&self, kept: Vec<Grant>) {
        self.change(|held| {
            held.retain(|held| matches!(held.grant.whose, GrantFor::Session(..)));
            for grant in kept {
                match Globs::new([&grant.tool]) {
                    Ok(tools) => held.push(Held { grant, tools }),
                    Err(error) => tracing::warn!(%error, grant = %grant.id, "a grant can't be used"),
                }
            }
        });
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Held>) -> T) -> T {
        let mut held = self.held.write();
        let result = change(&mut held);
        let any = held.iter().any(|held| held.grant.verdict == Verdict::DeniedAlways);
        self.any_denial.store(any, Ordering::Release);
        result
    }

    /// Whether some grant says no.
    pub(crate) fn any_denial(&self) -> bool {
        self.any_denial.load(Ordering::Acquire)
    }

    /// All that hold, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Grant> {
        let mut grants: Vec<_> = self.held.read().iter().map(|held| held.grant.clone()).collect();
        grants.sort_by_key(|grant| grant.id);
        grants
    }

    /// Takes a grant, and keeps it where it is for longer than a conversation.
    ///
    /// # Errors
    /// [`BadGrant`]; then it does not hold.
    pub async fn add(&self, grant: Grant) -> Result<(), BadGrant> {
        let tools = Globs::new([&grant.tool])?;
        if self.held.read().len() >= MAX_GRANTS && !self.forget_a_session() {
            return Err(BadGrant::TooMany(MAX_GRANTS));
        }
        // It holds from now on, so that it also holds where whoever waits for it to be written goes meanwhile.
        self.change(|held| held.push(Held { grant: grant.clone(), tools }));
        if !matches!(grant.whose, GrantFor::Session(..))
            && let Err(error) = self.keeper.keep(&grant).await
        {
            self.change(|held| held.retain(|held| held.grant.id != grant.id));
            return Err(error.into());
        }
        Ok(())
    }

    fn forget_a_session(&self) -> bool {
        self.change(|held| {
            let oldest = held.iter().position(|held| matches!(held.grant.whose, GrantFor::Session(..)));
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
    pub async fn revoke(&self, id: GrantId) -> Result<bool, NotKept> {
        let was_there = self.change(|held| {
            let before = held.len();
            held.retain(|held| held.grant.id != id);
            held.len() != before
        });
        self.keeper.revoke(id).await?;
        Ok(was_there)
    }

    /// What was answered before, if anything: a no counts before a yes.
    pub(crate) fn verdict(&self, ask: &Sought<'_>, now_ms: i64) -> Option<(Verdict, GrantId)> {
        let held = self.held.read();
        let mut granted = None;
        for Held { grant, tools } in held.iter() {
            let fits = grant.permission.as_deref() == ask.permission
                && grant.expires_ms.is_none_or(|expires| expires > now_ms)
                && ask.is_of(&grant.whose)
                && (*grant.tool == *ask.tool_text || tools.matches(ask.tool_text));
            match grant.verdict {
                _ if !fits => {}
                Verdict::DeniedAlways => return Some((Verdict::DeniedAlways, grant.id)),
                Verdict::Granted => granted = granted.or(Some((Verdict::Granted, grant.id))),
            }
        }
        granted
    }

    /// Keeps an answer for as long as it says. What holds for one call needs no grant.
    pub(crate) async fn remember(&self, question: &Question, answer: &Answer, now_ms: i64) {
        let verdict = match answer.choice {
            Choice::Granted => Verdict::Granted,
            Choice::DeniedAlways => Verdict::DeniedAlways,
            Choice::Denied => return,
        };
        let principal = question.principal.clone();
        let whose = match (answer.scope, &question.session, &question.agent) {
            (Scope::Session, Some(session), _) => GrantFor::Session(principal, session.clone()),
            (Scope::Agent, _, Some(agent)) => GrantFor::Agent(agent.clone()),
            (Scope::Always, ..) => GrantFor::Principal(principal),
            _ => return,
        };
        let (permission, tool) = (question.kind.permission().cloned(), escaped(&question.tool));
        // Another call's question may have had the same answer; what is taken back once must not hold any more.
        let is_same = |held: &Held| {
            let Grant { permission: p, tool: t, whose: w, verdict: v, expires_ms, .. } = &held.grant;
            *p == permission && *t == tool && *w == whose && *v == verdict && expires_ms.is_none()
        };
        if self.held.read().iter().any(is_same) {
            return;
        }
        let grant = Grant {
            id: GrantId::new(),
            permission,
            tool,
            whose,
            verdict,
            created_ms: now_ms,
            created_by: answer.by.clone(),
            expires_ms: None,
        };
        if let Err(error) = self.add(grant).await {
            *self.unwritten.lock() += 1;
            tracing::warn!(%error, tool = %question.tool, "an answer holds for this call only");
        }
    }

    /// How many answers could not be kept.
    #[must_use]
    pub fn unwritten(&self) -> u64 {
        *self.unwritten.lock()
    }
}

/// A tool's id as a pattern that only it fits.
fn escaped(tool: &ToolId) -> Arc<str> {
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
pub(crate) struct Sought<'a> {
    pub(crate) permission: Option<&'a str>,
    pub(crate) tool_text: &'a str,
    pub(crate) principal: &'a PrincipalId,
    pub(crate) agent: Option<&'a Arc<str>>,
    pub(crate) session: Option<&'a Arc<str>>,
}

impl Sought<'_> {
    fn is_of(&self, whose: &GrantFor) -> bool {
        match whose {
            GrantFor::Anyone => true,
            GrantFor::Principal(principal) => principal == self.principal,
            GrantFor::Agent(agent) => self.agent == Some(agent),
            GrantFor::Session(principal, session) => {
                principal == self.principal && self.session == Some(session)
            }
        }
    }
}

#[cfg(test)]
mod tests;
