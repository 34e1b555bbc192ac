//! A grant that the owner creates without a question.

use std::sync::Arc;

use toolway_core::consent::{Grant, GrantId, GrantSubject, GrantVerdict};
use toolway_types::PrincipalId;

use crate::lifetime::Lifetime;

/// The fields of a new grant.
#[derive(Debug, Clone)]
pub(crate) struct NewGrant {
    /// Pattern over `source/tool`.
    pub(crate) tool: String,
    /// Permission to grant; by default the permission to run the tool.
    pub(crate) permission: Option<String>,
    /// Principal whose calls the grant is for.
    pub(crate) principal: Option<String>,
    /// Agent whose calls the grant is for. Without `agent` and `principal`, it is for all calls.
    pub(crate) agent: Option<String>,
    pub(crate) verdict: GrantVerdict,
    /// Lifetime. Without one, the grant is valid until it is revoked.
    pub(crate) lifetime: Option<Lifetime>,
}

/// Reason why a grant is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidGrant {
    /// The tool pattern has no source. It could match tools of unintended sources.
    #[error("tool is {0:?}; it must be a pattern for source/tool")]
    NoSource(String),
    /// The grant has both a principal and an agent.
    #[error("principal and agent exclude each other")]
    TwoSubjects,
}

impl NewGrant {
    /// Creates the grant.
    ///
    /// # Errors
    /// [`InvalidGrant`] if the fields are invalid.
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
