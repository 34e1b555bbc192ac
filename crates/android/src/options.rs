//! Options of a bridge.

use std::time::Duration;

/// Timeouts and permissions of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeOptions {
    /// Timeout for listing one provider's tools.
    pub list_timeout: Duration,
    /// Timeout of a call if the gateway has none.
    pub call_timeout: Duration,
    /// Timeout for a person's authorization. The gateway pauses its clock for up to two minutes per call.
    pub consent_timeout: Duration,
    /// Time to wait for further changes after one: an update is several broadcasts.
    pub settle: Duration,
    /// True if an app may be opened for a call if its process can't be started otherwise. Apps are never
    /// opened to list tools.
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
