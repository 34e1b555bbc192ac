//! Options of the bridge between a device and app providers.

use std::time::Duration;

/// Timeouts of a bridge, and its permission to open apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeOptions {
    /// Timeout for listing one provider's tools.
    pub list_timeout: Duration,
    /// Timeout of a call without a deadline from the gateway.
    pub call_timeout: Duration,
    /// Timeout for the user's authorization of an app. It must be shorter than the two minutes for which the gateway
    /// pauses the deadline of a call.
    pub consent_timeout: Duration,
    /// Delay between a change of a package and the next scan: Android sends several broadcasts for one update.
    pub settle: Duration,
    /// True if a call may open an app whose process Android does not start otherwise. Listing tools never opens
    /// an app.
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
