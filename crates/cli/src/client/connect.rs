//! Connects a command to the gateway that its flags select.

use super::{ConnectArgs, GatewayClient, GatewayTarget};
use crate::context::CliContext;
use crate::error::CliResult;

impl CliContext {
    /// Creates a client for the selected gateway.
    pub(crate) fn client(&self, args: &ConnectArgs) -> CliResult<GatewayClient> {
        GatewayClient::new(GatewayTarget::find(args, self)?)
    }
}
