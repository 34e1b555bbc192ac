//! Why somebody is not let in. Each reason has a code of its own, so that a client knows whether to wait, to
//! pair again or to ask the owner.

use std::time::Duration;

use toolway_types::Role;

/// Why a request is refused for what it carries, or does not carry, to say who sent it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthRejection {
    /// No token.
    #[error("a token is needed")]
    Missing {
        /// Whether one stood in the address, where it isn't read from.
        in_query: bool,
    },
    /// A token that was never one of this gateway.
    #[error("the token is not known to this gateway")]
    Unknown,
    /// A token that was taken back.
    #[error("the token was revoked")]
    Revoked,
    /// A token whose time is over.
    #[error("the token has expired")]
    Expired,
    /// Too many wrong tokens from one address.
    #[error("too many requests without a good token came from this address")]
    TooManyFailures {
        /// How long to wait.
        wait: Duration,
    },
    /// A token that looks like one of the issuer, and does not let anybody in.
    #[error("the issuer's word is not enough for this token: {why}")]
    NotFromIssuer {
        /// What is wrong with it, in words.
        why: &'static str,
    },
    /// A good token of the issuer without a scope that is needed.
    #[error("the token lacks a scope; it needs {}", .scopes.join(" "))]
    ScopeMissing {
        /// All that are needed.
        scopes: Vec<String>,
    },
    /// The keys of the issuer can't be had, so its tokens can't be checked.
    #[error("the keys of the issuer can't be fetched at the moment")]
    IssuerUnreachable,
    /// A good token whose role does not allow it.
    #[error("a token of the role {role} may not {what}")]
    Forbidden {
        /// The token's role.
        role: Role,
        /// What it may not do, in words.
        what: &'static str,
    },
}

impl AuthRejection {
    /// The code in the answer, and the reason in metrics.
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
            Self::Forbidden { .. } => "forbidden",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { in_query: false } => {
                "send the header Authorization: Bearer TOKEN; `toolway tokens create` makes one".to_owned()
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
            Self::Revoked => "ask the gateway's owner for a new one; trying again won't help".to_owned(),
            Self::Expired => "get a new one with `toolway pair` or `toolway tokens create`".to_owned(),
            Self::TooManyFailures { wait } => {
                format!("wait {} s; a request with a good token is never held back", wait.as_secs() + 1)
            }
            Self::NotFromIssuer { .. } => {
                "sign in again; the gateway's owner sets in [mcp.issuer] whose tokens count, for whom and for whom not"
                    .to_owned()
            }
            Self::ScopeMissing { .. } => "sign in again and ask for that scope".to_owned(),
            Self::IssuerUnreachable => {
                "try again in half a minute; the gateway's log says what happened".to_owned()
            }
            Self::Forbidden { .. } => {
                "use a token of another role; `toolway tokens list` shows them".to_owned()
            }
        }
    }
}
