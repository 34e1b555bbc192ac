//! Principals: the identity behind a token, and the rights of its role (`docs/protocol.md`, "Rights").

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::{MAX_QUOTE, truncate};

/// Purpose of a token; it determines the rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May do everything.
    Owner,
    /// Chats, lists and calls tools, sees its own calls.
    Client,
    /// Offers tools and reports on their calls; nothing else.
    Device,
    /// Client and device together, for chat apps and the phone app.
    Companion,
}

impl Role {
    /// True if the role may list and call tools.
    #[must_use]
    pub fn may_call(self) -> bool {
        !matches!(self, Self::Device)
    }

    /// True if the role may offer tools.
    #[must_use]
    pub fn may_offer_tools(self) -> bool {
        !matches!(self, Self::Client)
    }

    /// True if the role may administer the gateway.
    #[must_use]
    pub fn is_owner(self) -> bool {
        matches!(self, Self::Owner)
    }

    /// Name of the role on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Client => "client",
            Self::Device => "device",
            Self::Companion => "companion",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Error for an unknown role name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role; the roles are owner, client, device and companion")]
pub struct UnknownRole(pub String);

impl FromStr for Role {
    type Err = UnknownRole;
    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        match text {
            "owner" => Ok(Self::Owner),
            "client" => Ok(Self::Client),
            "device" => Ok(Self::Device),
            "companion" => Ok(Self::Companion),
            other => Err(UnknownRole(truncate(other, MAX_QUOTE))),
        }
    }
}

/// Stable id of a principal: the token's id, or `owner`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrincipalId(pub Arc<str>);

impl fmt::Display for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for PrincipalId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// Identity of a caller: id, role, and the agent its token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Stable id.
    pub id: PrincipalId,
    /// Role.
    pub role: Role,
    /// The only agent that this principal may use, if its token names one.
    pub agent: Option<Arc<str>>,
}
