//! Why a device stopped for good. Faults of the network never do that; these are what no further try would
//! mend (pitfall R17).

use toolway_wire::pairing::KeyPin;

use crate::transport::ConnectError;
use crate::transport::refusal::GatewayRefusal;
use crate::transport::upgrade::UpgradeError;

/// The close code of a socket whose token was revoked or has expired; the reason starts with which.
pub const CLOSE_TOKEN: u16 = 4001;
/// The close code of a socket whose device has connected anew elsewhere.
pub const CLOSE_TAKEN_OVER: u16 = 4002;

/// Why it stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The token was revoked.
    #[error("the gateway has revoked this device's token")]
    TokenRevoked,
    /// The token's time is over.
    #[error("this device's token has expired")]
    TokenExpired,
    /// The gateway does not know the token.
    #[error("the gateway does not know this device's token: {0}")]
    TokenUnknown(String),
    /// The token's role does not let it offer tools, or the gateway does not accept this address.
    #[error("the gateway does not let this device in: {message}")]
    NotAllowed {
        /// What the gateway says.
        message: String,
        /// What it says to do about it.
        hint: Option<String>,
    },
    /// The gateway's TLS key is another one than that which this device was paired with.
    #[error(
        "the gateway's key is {found}, but this device was paired with {expected}: either the gateway was \
         set up anew, or something stands in between"
    )]
    KeyChanged {
        /// The key it was paired with.
        expected: String,
        /// The key that showed itself.
        found: KeyPin,
    },
    /// Another connection of the same device id has taken its place.
    #[error("another program has connected as this device and took its place")]
    TakenOver,
    /// The gateway said goodbye and wants no reconnect.
    #[error("the gateway closed the connection for good{}", format_reason(.0))]
    Goodbye(String),
    /// The gateway does not speak this version of the protocol.
    #[error("gateway and device do not speak the same version of the protocol: {0}")]
    Version(String),
    /// The SDK itself failed.
    #[error("the device failed: {0}")]
    Failed(String),
}

impl DeviceError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::NotAllowed { hint: Some(hint), .. } => hint,
            Self::TokenRevoked | Self::TokenExpired | Self::TokenUnknown(_) => {
                "pair again: `toolway pair` on the gateway makes a code"
            }
            Self::NotAllowed { .. } => "pair as a device or companion; a client's token does not offer tools",
            Self::KeyChanged { .. } => {
                "compare with the fingerprint that `toolway pair` shows on the gateway; if it is the same, \
                 pair again"
            }
            Self::TakenOver => "stop one of the two, or give each a device id of its own",
            Self::Goodbye(_) => "start the device again once the gateway wants it",
            Self::Failed(_) => "start it again; this is a defect worth reporting",
            Self::Version(_) => "bring gateway and device to the same release",
        }
    }
}

fn format_reason(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// What a failed try means.
#[derive(Debug)]
pub(crate) enum ReconnectDecision {
    /// No try will mend it.
    Stop(DeviceError),
    /// Try again, not before this time has passed where the gateway asked for it.
    Retry { why: String, after: Option<std::time::Duration> },
}

impl ReconnectDecision {
    pub(crate) fn retry(why: impl Into<String>) -> Self {
        Self::Retry { why: why.into(), after: None }
    }

    /// Of a connection that did not come about.
    pub(crate) fn from_upgrade_error(error: UpgradeError) -> Self {
        match error {
            UpgradeError::Connect(ConnectError::Key(mismatch)) => {
                Self::Stop(DeviceError::KeyChanged { expected: mismatch.expected, found: mismatch.found })
            }
            UpgradeError::Connect(other) => Self::retry(other.to_string()),
            UpgradeError::Refused(refusal) => Self::from_refusal(refusal),
        }
    }

    fn from_refusal(refusal: GatewayRefusal) -> Self {
        let GatewayRefusal { status, code, message, hint, retry_after } = refusal;
        match status {
            401 => Self::Stop(token_error(code.as_deref().unwrap_or_default(), message)),
            403 => Self::Stop(DeviceError::NotAllowed { message, hint }),
            426 => Self::Stop(DeviceError::Version(message)),
            404 => Self::retry(format!("no gateway answers at this address: {message}")),
            _ => Self::Retry { why: format!("the gateway refused: {message}"), after: retry_after },
        }
    }

    /// Of a socket that the gateway closed.
    pub(crate) fn from_close(code: u16, reason: &str) -> Self {
        match code {
            1000 => Self::Stop(DeviceError::Goodbye(reason.to_owned())),
            1001 => Self::retry(format!("the gateway is going away{}", format_reason(reason))),
            CLOSE_TOKEN => Self::Stop(token_error(reason, reason.to_owned())),
            CLOSE_TAKEN_OVER => Self::Stop(DeviceError::TakenOver),
            _ => Self::retry(format!("the gateway closed the connection ({code}){}", format_reason(reason))),
        }
    }
}

/// `said` is the code of a refusal, or the reason of a close, which starts with one.
fn token_error(said: &str, message: String) -> DeviceError {
    if said.starts_with("token_revoked") {
        DeviceError::TokenRevoked
    } else if said.starts_with("token_expired") {
        DeviceError::TokenExpired
    } else {
        DeviceError::TokenUnknown(message)
    }
}

#[cfg(test)]
mod tests;
