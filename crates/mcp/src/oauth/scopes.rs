//! Which scopes are asked for (MCP, "Scope Selection Strategy" and "Scope Challenge Handling").

/// The scope that asks for a refresh token (OpenID Connect Core, section 11).
const OFFLINE_ACCESS: &str = "offline_access";

/// What is known of scopes before a login.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScopeCandidates<'a> {
    /// What the owner wants to be asked for.
    pub(super) configured: &'a [String],
    /// What the server's challenge asks for.
    pub(super) challenged: &'a [String],
    /// What was granted before and what is needed besides, where this login adds to another.
    pub(super) previous: &'a [String],
    /// What the server's metadata lists.
    pub(super) resource: Option<&'a [String]>,
    /// What the authorization server lists.
    pub(super) server: Option<&'a [String]>,
}

/// The scopes to ask for, in order; none at all where nobody names any.
pub(super) fn select(known: ScopeCandidates<'_>) -> Vec<String> {
    let base = match known {
        ScopeCandidates { configured: set, .. } if !set.is_empty() => set,
        ScopeCandidates { challenged, .. } if !challenged.is_empty() => challenged,
        ScopeCandidates { resource, .. } => resource.unwrap_or_default(),
    };
    let mut scopes = Vec::new();
    for scope in known.previous.iter().chain(base) {
        if !scope.is_empty() && !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let offered = known.server.is_some_and(|scopes| scopes.iter().any(|it| it == OFFLINE_ACCESS));
    // Alone it would stand in the place of what the server grants where nothing is asked for.
    if offered && !scopes.is_empty() && !scopes.iter().any(|it| it == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    scopes
}

#[cfg(test)]
mod tests;
