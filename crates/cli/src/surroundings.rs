//! What the gateway's own tools and hooks are given of this computer.

use std::sync::Arc;

use jiff::tz::TimeZone;
use toolway_device::trust::{Trust, rustls_config};
use toolway_gateway::ToolSurroundings;
use toolway_tools::builtin::time::Zones;
use toolway_tools::web::TlsMaker;

use crate::context::Context;
use crate::secrets::Kept;

/// Of the computer that this program runs on.
pub(crate) fn of(context: &Context) -> ToolSurroundings {
    let environment = context.environment.all();
    ToolSurroundings {
        zones: Zones::new(|| (TimeZone::system(), jiff::tz::db().clone())),
        secrets: Arc::new(Kept::new(environment.clone())),
        environment,
        tls: TlsMaker::new(|| rustls_config(&Trust::default()).map_err(|error| error.to_string())),
    }
}
