//! A grant that the owner makes before anybody asks.

use std::sync::Arc;

use toolway_core::consent::{Grant, GrantId, GrantSubject, GrantVerdict};
use toolway_types::PrincipalId;

use crate::lifetime::Lifetime;

/// The fields of a new grant.
#[derive(Debug, Clone)]
pub(crate) struct NewGrant {
    /// The tools, as a pattern over `source/tool`.
    pub(crate) tool: String,
    /// The permission that it grants; running the tool if none.
    pub(crate) permission: Option<String>,
    /// The principal whose calls it is for.
    pub(crate) principal: Option<String>,
    /// The agent whose calls it is for. Without this and `principal`, it is for everybody's calls.
    pub(crate) agent: Option<String>,
    pub(crate) verdict: GrantVerdict,
    /// Without one, the grant is valid until it is revoked.
    pub(crate) lifetime: Option<Lifetime>,
}

/// A grant that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidGrant {
    /// The tool has no source. It would fit tools of sources that the owner does not think of.
    #[error("tool is {0:?}; it must be a pattern for source/tool")]
    NoSource(String),
    /// A grant has one subject.
    #[error("principal and agent exclude each other")]
    TwoSubjects,
}

impl NewGrant {
    /// Makes the grant.
    ///
    /// # Errors
    /// [`InvalidGrant`].
    pub(crate) fn build(self, created_by: PrincipalId, now_ms: i64) -> Result<Grant, InvalidGrant> {
        if !self.tool.contains('/') {
            return Err(InvalidGrant::NoSource(self.tool));
        }
        let subject = match (self.principal, self.agent) {
            (None, None) => GrantSubject::Anyone,
            (Some(principal), None) => GrantSubject::Principal(PrincipalId::from(principal.as_str())),
            (None, Some(agent)) => GrantSubject::Agent(agent.into()),
            (Some(_), Some(_)) => return Err(InvalidGrant::TwoSubjects),
        };
        Ok(Grant {
            id: GrantId::new(),
            permission: self.permission.map(Arc::from),
            tool: self.tool.into(),
            subject,
            verdict: self.verdict,
            created_ms: now_ms,
            created_by,
            expires_ms: self.lifetime.map(|lifetime| lifetime.end_ms(now_ms)),
        })
    }
}

#[cfg(test)]
mod tests;
