//! Environment of the gateway's own tools and hooks.

use std::sync::Arc;

use jiff::tz::TimeZone;
use toolway_device::trust::{GatewayTrust, rustls_config};
use toolway_gateway::ToolEnv;
use toolway_tools::builtin::time::TimeZones;
use toolway_tools::web::TlsConfigFactory;

use crate::context::CliContext;
use crate::secrets::SystemSecretReader;

/// Creates the environment for this computer.
pub(crate) fn tool_env(context: &CliContext) -> ToolEnv {
    let environment = context.environment.variables_map();
    ToolEnv {
        zones: TimeZones::new(|| (TimeZone::system(), jiff::tz::db().clone())),
        secrets: Arc::new(SystemSecretReader::new(environment.clone())),
        environment,
        tls: TlsConfigFactory::new(|| {
            rustls_config(&GatewayTrust::default()).map_err(|error| error.to_string())
        }),
    }
}
