//! The definition of an attack: the role, the connections, what they send, and the rate that it must reach.

use serde::{Deserialize, Serialize};

use super::content::AttackContext;

/// Role of the attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttackRole {
    /// No token.
    Anonymous,
    /// A device's token.
    Device,
    /// A client's token.
    Client,
    /// A companion's token, which may offer tools and call them.
    Companion,
}

impl AttackRole {
    /// Returns the name of the role in requests, if it has tokens.
    pub(crate) fn token_role(self) -> Option<&'static str> {
        match self {
            Self::Anonymous => None,
            Self::Device => Some("device"),
            Self::Client => Some("client"),
            Self::Companion => Some("companion"),
        }
    }

    /// Returns the name for people.
    pub(crate) fn name(self) -> &'static str {
        self.token_role().unwrap_or("no token")
    }
}

/// The start of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StreamOpening {
    /// The first bytes are the attack's own.
    Plain,
    /// A WebSocket at this path, with the role's token.
    WebSocket(&'static str),
}

/// Bytes that a connection sends again and again after its first bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RepeatedMessage {
    /// Nothing: the connection is held open.
    Nothing,
    /// Nothing: the connection is closed, and another one takes its place.
    NewConnection,
    /// The same bytes.
    Same(fn(&AttackContext) -> Vec<u8>),
    /// Different bytes each time, from the number of the message.
    Numbered(fn(&AttackContext, u64) -> Vec<u8>),
}

/// Unit of an attack's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AttackUnit {
    /// Connections that were opened.
    Connections,
    /// Complete messages.
    Messages,
    /// Bytes.
    Bytes,
}

/// An attack.
#[derive(Debug)]
pub(crate) struct Attack {
    /// Name, unique among all attacks.
    pub(crate) name: &'static str,
    pub(crate) role: AttackRole,
    /// Number of tokens, which the connections use in turn.
    pub(crate) tokens: usize,
    /// Number of connections at the same time.
    pub(crate) connections: usize,
    pub(crate) opening: StreamOpening,
    /// First bytes of a connection, from its number.
    pub(crate) first: fn(&AttackContext, usize) -> Vec<u8>,
    pub(crate) repeated: RepeatedMessage,
    /// True if the attacker reads the answers.
    pub(crate) reads: bool,
    pub(crate) unit: AttackUnit,
    /// Minimum rate per second. A slower attack proves nothing.
    pub(crate) floor: f64,
    /// Number of units in the short version.
    pub(crate) short: u64,
}

/// The end of an attack.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct AttackLimit {
    /// Number of units; no limit if absent.
    pub(crate) units: Option<u64>,
    /// Seconds, also if the number of units is not reached.
    pub(crate) seconds: f64,
}

/// Maximum duration of an attack in the short version, in seconds.
const SHORT_SECONDS: f64 = 1.0;

impl Attack {
    /// The end of the attack in the short version.
    pub(crate) fn short_run(&self) -> AttackLimit {
        AttackLimit { units: Some(self.short), seconds: SHORT_SECONDS }
    }

    /// The end of the attack in the full version.
    pub(crate) fn full_run(&self, seconds: f64) -> AttackLimit {
        // A hoard is complete when all of its connections are open; it is then held for the rest of the time.
        AttackLimit { units: None, seconds }
    }
}

/// Amount that an attacker has sent.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct SentAmount {
    /// Opened connections.
    pub(crate) connections: u64,
    /// Complete messages.
    pub(crate) messages: u64,
    /// Bytes.
    pub(crate) bytes: u64,
    /// Seconds until the last of it was accepted.
    pub(crate) seconds: f64,
}

impl SentAmount {
    /// The number of units.
    pub(crate) fn units(&self, unit: AttackUnit) -> u64 {
        match unit {
            AttackUnit::Connections => self.connections,
            AttackUnit::Messages => self.messages,
            AttackUnit::Bytes => self.bytes,
        }
    }

    /// The number of units per second.
    #[allow(clippy::cast_precision_loss, reason = "numbers of bytes of a few seconds")]
    pub(crate) fn rate(&self, unit: AttackUnit) -> f64 {
        self.units(unit) as f64 / self.seconds.max(0.001)
    }
}
