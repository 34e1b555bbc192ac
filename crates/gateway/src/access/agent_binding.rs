//! Tokens that are bound to one agent.

use toolway_types::{Principal, Role};

/// A request for a different agent than the token's own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this token may talk to the agent {bound:?} only, not to {asked:?}")]
pub struct AgentForbidden {
    /// The token's agent.
    pub bound: String,
    /// The requested agent.
    pub asked: String,
}

/// Attempt to bind a token to an agent although its role may not call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a device calls no tools, so its token cannot have an agent")]
pub struct AgentWithoutCalls;

/// Checks that a principal may use an agent.
///
/// # Errors
/// [`AgentForbidden`] if it is bound to a different agent.
pub fn check_agent(principal: &Principal, asked: &str) -> Result<(), AgentForbidden> {
    match principal.agent.as_deref() {
        Some(bound) if bound != asked => {
            Err(AgentForbidden { bound: bound.to_owned(), asked: asked.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Checks that a token of this role may be bound to this agent.
///
/// # Errors
/// [`AgentWithoutCalls`] if the role may not call tools.
pub(super) fn check_binding(role: Role, agent: Option<&str>) -> Result<(), AgentWithoutCalls> {
    if agent.is_some() && !role.may_call() { Err(AgentWithoutCalls) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
