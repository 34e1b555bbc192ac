//! What may be set about a bridge.

use std::time::Duration;

/// How patient it is, and what it may do by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeOptions {
    /// How long one provider may take to tell its tools.
    pub list_timeout: Duration,
    /// How long a call may take where the gateway does not say.
    pub call_timeout: Duration,
    /// How long a person may take who is asked to allow something. The gateway stops its clock for two minutes a call.
    pub consent_timeout: Duration,
    /// How long to wait for further changes after one: an update is several broadcasts.
    pub settle: Duration,
    /// Whether an app whose process can't be started otherwise may be opened for a call. Never done to list tools.
    pub launch_apps: bool,
}

impl Default for BridgeOptions {
    fn default() -> Self {
        Self {
            list_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(30),
            consent_timeout: Duration::from_secs(115),
            settle: Duration::from_millis(500),
            launch_apps: false,
        }
    }
}
