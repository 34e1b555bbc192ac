//! What the parts of one device share.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::sync::{Notify, watch};
use toolway_wire::client_message::app_providers::AppProvider;

use crate::backoff::Backoff;
use crate::call_table::CallTable;
use crate::execution::ConcurrencyLimiter;
use crate::status::{ConnectionStatus, GatewayConnection, RegisteredTools};
use crate::tool::table::ToolTable;
use crate::transport::GatewayRoute;

/// What the device says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceMetadata {
    pub(crate) device_id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) platform: Option<String>,
    pub(crate) app_version: Option<String>,
}

/// One device.
#[derive(Debug)]
pub(crate) struct DeviceState {
    pub(crate) route: GatewayRoute,
    pub(crate) token: SecretString,
    pub(crate) metadata: DeviceMetadata,
    pub(crate) backoff: Backoff,
    /// How long a cancelled tool has to end by itself.
    pub(crate) grace: Duration,
    pub(crate) calls: Arc<CallTable>,
    pub(crate) limiter: Arc<ConcurrencyLimiter>,
    pub(crate) tools: watch::Sender<Arc<ToolTable>>,
    /// What is said of the apps whose tools are bridged; none where nothing was ever said.
    pub(crate) app_providers: Mutex<Option<Arc<[AppProvider]>>>,
    /// Told when `tools` or `app_providers` changes.
    pub(crate) changed: Notify,
    pub(crate) status: watch::Sender<ConnectionStatus>,
}

impl DeviceState {
    /// The tools at this moment.
    pub(crate) fn current_tools(&self) -> Arc<ToolTable> {
        Arc::clone(&self.tools.borrow())
    }

    pub(crate) fn set_status(&self, status: ConnectionStatus) {
        self.status.send_replace(status);
    }

    /// The gateway has answered to the list of tools.
    pub(crate) fn set_registered_tools(&self, registered: RegisteredTools) {
        self.status.send_if_modified(|status| match status {
            ConnectionStatus::Connected(GatewayConnection { tools, .. }) => {
                *tools = Some(registered);
                true
            }
            _ => false,
        });
    }
}
