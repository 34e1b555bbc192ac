//! What the parts of one device share.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::sync::{Notify, watch};
use toolway_wire::from_client::app_providers::AppProvider;

use crate::backoff::Backoff;
use crate::calls::Calls;
use crate::execute::Turns;
use crate::status::{Connection, Registered, Status};
use crate::tool::table::ToolTable;
use crate::transport::Route;

/// What the device says of itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) device_id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) platform: Option<String>,
    pub(crate) app_version: Option<String>,
}

/// One device.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) route: Route,
    pub(crate) token: SecretString,
    pub(crate) about: About,
    pub(crate) backoff: Backoff,
    /// How long a cancelled tool has to end by itself.
    pub(crate) grace: Duration,
    pub(crate) calls: Arc<Calls>,
    pub(crate) turns: Arc<Turns>,
    pub(crate) tools: watch::Sender<Arc<ToolTable>>,
    /// What is said of the apps whose tools are bridged; none where nothing was ever said.
    pub(crate) app_providers: Mutex<Option<Arc<[AppProvider]>>>,
    /// Told when `tools` or `app_providers` changes.
    pub(crate) changed: Notify,
    pub(crate) status: watch::Sender<Status>,
}

impl Shared {
    /// The tools at this moment.
    pub(crate) fn table(&self) -> Arc<ToolTable> {
        Arc::clone(&self.tools.borrow())
    }

    pub(crate) fn now_is(&self, status: Status) {
        self.status.send_replace(status);
    }

    /// The gateway has answered to the list of tools.
    pub(crate) fn registered(&self, registered: Registered) {
        self.status.send_if_modified(|status| match status {
            Status::Connected(Connection { tools, .. }) => {
                *tools = Some(registered);
                true
            }
            _ => false,
        });
    }
}
