//! Connects a command to the gateway that its flags name.

use super::{ConnectArgs, GatewayClient, GatewayTarget};
use crate::context::CliContext;
use crate::error::CliResult;

impl CliContext {
    /// A client of the gateway that is meant.
    pub(crate) fn client(&self, args: &ConnectArgs) -> CliResult<GatewayClient> {
        GatewayClient::new(GatewayTarget::find(args, self)?)
    }
}
