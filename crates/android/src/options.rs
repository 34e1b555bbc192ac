//! What may be set about a bridge.

use std::time::Duration;

/// How patient it is, and what it may do by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long one provider may take to tell its tools.
    pub list_patience: Duration,
    /// How long a call may take where the gateway does not say.
    pub call_patience: Duration,
    /// How long a person may take who is asked to allow something. The gateway stops its clock for two minutes a call.
    pub person_patience: Duration,
    /// How long to wait for further changes after one: an update is several broadcasts.
    pub settle: Duration,
    /// Whether an app whose process can't be started otherwise may be opened for a call. Never done to list tools.
    pub launch_apps: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            list_patience: Duration::from_secs(5),
            call_patience: Duration::from_secs(30),
            person_patience: Duration::from_secs(115),
            settle: Duration::from_millis(500),
            launch_apps: false,
        }
    }
}
