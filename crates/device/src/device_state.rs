//! State shared by the parts of one device.

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

/// The device's description of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceMetadata {
    pub(crate) device_id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) platform: Option<String>,
    pub(crate) app_version: Option<String>,
}

/// State of one device.
#[derive(Debug)]
pub(crate) struct DeviceState {
    pub(crate) route: GatewayRoute,
    pub(crate) token: SecretString,
    pub(crate) metadata: DeviceMetadata,
    pub(crate) backoff: Backoff,
    /// Time for a cancelled tool to end by itself.
    pub(crate) grace: Duration,
    pub(crate) calls: Arc<CallTable>,
    pub(crate) limiter: Arc<ConcurrencyLimiter>,
    pub(crate) tools: watch::Sender<Arc<ToolTable>>,
    /// Report on app providers; `None` if never set.
    pub(crate) app_providers: Mutex<Option<Arc<[AppProvider]>>>,
    /// Notified when `tools` or `app_providers` changes.
    pub(crate) changed: Notify,
    pub(crate) status: watch::Sender<ConnectionStatus>,
}

impl DeviceState {
    /// Current tools.
    pub(crate) fn current_tools(&self) -> Arc<ToolTable> {
        Arc::clone(&self.tools.borrow())
    }

    pub(crate) fn set_status(&self, status: ConnectionStatus) {
        self.status.send_replace(status);
    }

    /// Stores the gateway's answer to the list of tools.
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
