//! Rejections of a request's token. Each reason has its own code, so that a client knows whether to wait, to
//! pair again or to ask the owner.

use std::time::Duration;

use toolway_types::Role;

/// A rejection of a request because of its token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthRejection {
    /// The request has no token.
    #[error("a token is needed")]
    Missing {
        /// True if the URL has a token, although the gateway does not read it from there.
        in_query: bool,
    },
    /// The token was never one of this gateway.
    #[error("the token is not known to this gateway")]
    Unknown,
    /// The token was revoked.
    #[error("the token was revoked")]
    Revoked,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// Too many requests without a valid token came from this address.
    #[error("too many requests without a good token came from this address")]
    TooManyFailures {
        /// The time to wait.
        wait: Duration,
    },
    /// The token has the form of an issuer's token, but is not valid here.
    #[error("the issuer's word is not enough for this token: {why}")]
    NotFromIssuer {
        /// Reason as text.
        why: &'static str,
    },
    /// The token of the issuer is valid, but lacks a scope.
    #[error("the token lacks a scope; it needs {}", .scopes.join(" "))]
    ScopeMissing {
        /// All required scopes.
        scopes: Vec<String>,
    },
    /// The issuer's keys can't be fetched, so its tokens can't be checked.
    #[error("the keys of the issuer can't be fetched at the moment")]
    IssuerUnreachable,
    /// The token is valid, but has too many open connections.
    #[error("this token has {0} open connections already")]
    TooManyConnections(usize),
    /// The token is valid, but all connections for its role are open.
    #[error("{0} connections are open already")]
    NoConnectionLeft(usize),
    /// The token is valid, but its role does not allow the request.
    #[error("a token of the role {role} may not {what}")]
    Forbidden {
        /// Role of the token.
        role: Role,
        /// The forbidden action as text.
        what: &'static str,
    },
}

impl AuthRejection {
    /// The code in the response, and the reason in metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "token_missing",
            Self::Unknown => "token_unknown",
            Self::Revoked => "token_revoked",
            Self::Expired => "token_expired",
            Self::TooManyFailures { .. } => "too_many_failures",
            Self::NotFromIssuer { .. } => "token_refused",
            Self::ScopeMissing { .. } => "scope_missing",
            Self::IssuerUnreachable => "issuer_unreachable",
            Self::TooManyConnections(_) | Self::NoConnectionLeft(_) => "too_many_connections",
            Self::Forbidden { .. } => "forbidden",
        }
    }

    /// The next step for the user.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { in_query: false } => {
                "send the header Authorization: Bearer TOKEN; `toolway tokens create` creates one".to_owned()
            }
            Self::Missing { in_query: true } => {
                "tokens in the address are read on /ws/ only, as they end up in logs; send the header \
                 Authorization: Bearer TOKEN"
                    .to_owned()
            }
            Self::Unknown => {
                "check that it was copied whole and is meant for this gateway, or get a new one \
                              with `toolway pair` or `toolway tokens create`"
                    .to_owned()
            }
            Self::Revoked => "ask the gateway's owner for a new one; do not retry".to_owned(),
            Self::Expired => "get a new one with `toolway pair` or `toolway tokens create`".to_owned(),
            Self::TooManyFailures { wait } => {
                format!("wait {} s; requests with a valid token are never limited", wait.as_secs() + 1)
            }
            Self::NotFromIssuer { .. } => {
                "sign in again; the gateway's owner configures allowed issuers, audiences and subjects in [mcp.issuer]"
                    .to_owned()
            }
            Self::ScopeMissing { .. } => "sign in again and request that scope".to_owned(),
            Self::IssuerUnreachable => {
                "retry in 30 s; see the gateway's log".to_owned()
            }
            Self::TooManyConnections(_) => {
                "close some of them; the limit is the setting limits.connections_per_principal".to_owned()
            }
            Self::NoConnectionLeft(_) => {
                "retry later; the limit is the setting limits.connections".to_owned()
            }
            Self::Forbidden { .. } => {
                "use a token of another role; `toolway tokens list` shows them".to_owned()
            }
        }
    }
}
