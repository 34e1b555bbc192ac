//! What the gateway adds to MCP: the same requests go to a bare `rmcp` server, through the gateway to that server and to
//! a device, and, where one is given, through another proxy; in turns, in one run, from one generator.

mod proxy;
mod reading;
pub(crate) mod report;
mod request;
pub(crate) mod server;
mod sessions;
mod side;
mod stage;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

use self::report::Compared;
pub(crate) use self::report::McpReport;
use self::request::Era;
use self::side::{Side, in_turns};
use self::stage::{Stage, call, call_proxied, list};
use crate::error::Result;
use crate::figures::Lengths;
use crate::gateway::Settings;
use crate::report::note;

/// Calls in flight under load.
const IN_FLIGHT: usize = 16;
/// Sessions that do nothing.
const SESSIONS: usize = 1000;
/// How long each side has in a round.
const SLICE: Duration = Duration::from_secs(1);

/// What to measure.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The gateway.
    pub(crate) gateway: Settings,
    /// The harness whose bare MCP server is used; this one where absent.
    pub(crate) server: Option<PathBuf>,
    /// The executable of `mcp-proxy`, where that is measured too.
    pub(crate) proxy: Option<PathBuf>,
}

/// Measures all of it.
pub(crate) async fn measure(plan: &Plan, lengths: Lengths) -> Result<McpReport> {
    let stage = Stage::start(plan).await?;
    let rounds = lengths.mcp_rounds();
    note("tools/call, 16 in flight …");
    let many = in_turns(callers(&stage, IN_FLIGHT).await?, rounds, SLICE).await?;
    note("tools/call, one in flight …");
    let one = in_turns(callers(&stage, 1).await?, rounds, SLICE).await?;
    note("tools/list of 1,000 tools …");
    let mut lists = Vec::new();
    for era in [Era::Modern, Era::Legacy] {
        let sides = vec![
            Side::open("direct", stage.many.pid(), &stage.long_direct(era), 1, list).await?,
            Side::open("gateway", stage.gateway.pid(), &stage.long(era), 1, list).await?,
        ];
        lists.extend(in_turns(sides, rounds.div_ceil(2), SLICE).await?);
    }
    stage.kill().await?;
    note("1,000 idle MCP sessions …");
    let sessions = sessions::measure(plan, SESSIONS).await?;
    Ok(McpReport::new(Compared { many, one, lists, sessions }, rounds, stage::workers(&plan.gateway)))
}

/// All who are compared by calls.
async fn callers(stage: &Stage, in_flight: usize) -> Result<Vec<Side>> {
    let era = Era::Modern;
    let gateway = stage.gateway.pid();
    let call_device = |line: &request::Line| stage.call_device(line);
    let mut sides = vec![
        Side::open("direct", stage.one.pid(), &stage.direct(era), in_flight, call).await?,
        Side::open("gateway", gateway, &stage.through(era), in_flight, call).await?,
        Side::open("device", gateway, &stage.device(), in_flight, call_device).await?,
    ];
    if let (Some(proxy), Some(line)) = (&stage.proxy, stage.proxied()) {
        sides.push(Side::open("mcp-proxy", proxy.pid(), &line, in_flight, call_proxied).await?);
    }
    Ok(sides)
}
