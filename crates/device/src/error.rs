//! Reasons why a device stops permanently. Network errors are never among them: the device retries those
//! (pitfall R17).

use toolway_wire::pairing::KeyPin;

use crate::transport::ConnectError;
use crate::transport::refusal::GatewayRefusal;
use crate::transport::upgrade::UpgradeError;

/// Close code for a revoked or expired token; the reason starts with the code of the cause.
pub const CLOSE_TOKEN: u16 = 4001;
/// Close code for a device that has connected again elsewhere.
pub const CLOSE_TAKEN_OVER: u16 = 4002;

/// Reason why a device stopped permanently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The token was revoked.
    #[error("the gateway has revoked this device's token")]
    TokenRevoked,
    /// The token has expired.
    #[error("this device's token has expired")]
    TokenExpired,
    /// The gateway does not know the token.
    #[error("the gateway does not know this device's token: {0}")]
    TokenUnknown(String),
    /// The token's role may not offer tools, or the gateway does not accept this address.
    #[error("the gateway refused this device: {message}")]
    NotAllowed {
        /// The gateway's message.
        message: String,
        /// The gateway's hint.
        hint: Option<String>,
    },
    /// The gateway's TLS key differs from the key that the device was paired with.
    #[error(
        "the gateway's key is {found}, but this device was paired with {expected}: either the gateway \
         has a new key, or another server intercepts the connection"
    )]
    KeyChanged {
        /// Key from pairing.
        expected: String,
        /// Key presented by the gateway.
        found: KeyPin,
    },
    /// Another connection with the same device id replaced this one.
    #[error("another program connected as this device and replaced this connection")]
    TakenOver,
    /// The gateway closed the connection and wants no reconnect.
    #[error("the gateway closed the connection permanently{}", format_reason(.0))]
    Goodbye(String),
    /// The gateway does not support this version of the protocol.
    #[error("gateway and device use different protocol versions: {0}")]
    Version(String),
    /// The SDK failed internally.
    #[error("the device failed: {0}")]
    Failed(String),
}

impl DeviceError {
    /// Next step for the user.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::NotAllowed { hint: Some(hint), .. } => hint,
            Self::TokenRevoked | Self::TokenExpired | Self::TokenUnknown(_) => {
                "pair again: run `toolway pair` on the gateway to create a code"
            }
            Self::NotAllowed { .. } => "pair as a device or companion; a client token cannot offer tools",
            Self::KeyChanged { .. } => {
                "compare with the fingerprint that `toolway pair` shows on the gateway; if it is the same, \
                 pair again"
            }
            Self::TakenOver => "stop one of the two programs, or give each its own device id",
            Self::Goodbye(_) => "restart the device when the gateway accepts it again",
            Self::Failed(_) => "restart the device, and report this as a bug",
            Self::Version(_) => "install the same release on gateway and device",
        }
    }
}

fn format_reason(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Decision after a failed connection.
#[derive(Debug)]
pub(crate) enum ReconnectDecision {
    /// Stop, because retrying cannot help.
    Stop(DeviceError),
    /// Retry, after the delay requested by the gateway, if any.
    Retry { why: String, after: Option<std::time::Duration> },
}

impl ReconnectDecision {
    pub(crate) fn retry(why: impl Into<String>) -> Self {
        Self::Retry { why: why.into(), after: None }
    }

    /// Decides after a failed connection attempt.
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
            404 => Self::retry(format!("no gateway at this address: {message}")),
            _ => Self::Retry { why: format!("the gateway refused: {message}"), after: retry_after },
        }
    }

    /// Decides after the gateway closed the socket.
    pub(crate) fn from_close(code: u16, reason: &str) -> Self {
        match code {
            1000 => Self::Stop(DeviceError::Goodbye(reason.to_owned())),
            1001 => Self::retry(format!("the gateway closed the connection{}", format_reason(reason))),
            CLOSE_TOKEN => Self::Stop(token_error(reason, reason.to_owned())),
            CLOSE_TAKEN_OVER => Self::Stop(DeviceError::TakenOver),
            _ => Self::retry(format!("the gateway closed the connection ({code}){}", format_reason(reason))),
        }
    }
}

/// Error for a refused token. `code` is the code of a refusal, or a close reason that starts with one.
fn token_error(code: &str, message: String) -> DeviceError {
    if code.starts_with("token_revoked") {
        DeviceError::TokenRevoked
    } else if code.starts_with("token_expired") {
        DeviceError::TokenExpired
    } else {
        DeviceError::TokenUnknown(message)
    }
}

#[cfg(test)]
mod tests;
