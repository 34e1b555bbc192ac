//! Selection of the scopes to request (MCP, "Scope Selection Strategy" and "Scope Challenge Handling").

/// The scope that asks for a refresh token (OpenID Connect Core, section 11).
const OFFLINE_ACCESS: &str = "offline_access";

/// Maximum number of scopes to keep, and maximum length of each, in bytes. Servers choose them.
const MAX_SCOPES: usize = 64;
const MAX_SCOPE: usize = 256;

/// The sources of scopes for a login.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScopeCandidates<'a> {
    /// The scopes in the owner's settings.
    pub(super) configured: &'a [String],
    /// The scopes in the server's challenge.
    pub(super) challenged: &'a [String],
    /// The previously granted and the additionally required scopes, if this login extends another.
    pub(super) previous: &'a [String],
    /// The scopes in the server's metadata.
    pub(super) resource: Option<&'a [String]>,
    /// The scopes in the authorization server's metadata.
    pub(super) server: Option<&'a [String]>,
}

/// Selects the scopes to request, in order. Empty if no source has any.
pub(super) fn select(known: ScopeCandidates<'_>) -> Vec<String> {
    let base = match known {
        ScopeCandidates { configured: set, .. } if !set.is_empty() => set,
        ScopeCandidates { challenged, .. } if !challenged.is_empty() => challenged,
        // The scopes of the last login count more than a general list.
        ScopeCandidates { previous, .. } if !previous.is_empty() => &[],
        ScopeCandidates { resource, .. } => resource.unwrap_or_default(),
    };
    let mut scopes = Vec::new();
    for scope in known.previous.iter().chain(base) {
        if !scope.is_empty() && !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let offered = known.server.is_some_and(|scopes| scopes.iter().any(|it| it == OFFLINE_ACCESS));
    // As the only scope it would replace the server's default scopes.
    if offered && !scopes.is_empty() && !scopes.iter().any(|it| it == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    scopes
}

/// Joins two lists without duplicates. Of too many scopes, the last ones stay.
pub(super) fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for scope in first.iter().chain(second).filter(|scope| !scope.is_empty() && scope.len() <= MAX_SCOPE) {
        if !joined.contains(scope) {
            joined.push(scope.clone());
        }
    }
    joined.split_off(joined.len().saturating_sub(MAX_SCOPES))
}

#[cfg(test)]
mod tests;
