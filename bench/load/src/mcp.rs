//! Measures the overhead of the gateway for MCP: the same requests go to a bare `rmcp` server, through the
//! gateway to that server and to a device, and optionally through another proxy; in turns, in one run, from
//! one load generator.

mod answer_reader;
mod connection;
mod proxy;
pub(crate) mod report;
mod request;
pub(crate) mod server;
mod session;
mod sessions;
mod target_measurement;
mod testbed;

use std::path::PathBuf;
use std::time::Duration;

use self::report::McpComparison;
pub(crate) use self::report::McpReport;
use self::request::ProtocolEra;
use self::target_measurement::{McpTargetMeasurement, measure_in_rounds};
use self::testbed::{McpTestbed, proxied_tool_call, tool_call, tool_list};
use crate::error::Result;
use crate::gateway::GatewayLaunchOptions;
use crate::output::log_progress;
use crate::suite_lengths::SuiteLengths;

/// Calls in flight under load.
const IN_FLIGHT: usize = 16;
/// Idle sessions.
const SESSIONS: usize = 1000;
/// Duration of each side in a round.
const SLICE_LENGTH: Duration = Duration::from_secs(1);

/// Options of the measurement.
#[derive(Debug, Clone)]
pub(crate) struct McpPlan {
    /// The gateway.
    pub(crate) gateway: GatewayLaunchOptions,
    /// The harness whose bare MCP server is used; this one if absent.
    pub(crate) server: Option<PathBuf>,
    /// Executable of `mcp-proxy`, if it is measured too.
    pub(crate) proxy: Option<PathBuf>,
}

/// Runs all measurements.
pub(crate) async fn measure(plan: &McpPlan, lengths: SuiteLengths) -> Result<McpReport> {
    let stage = McpTestbed::start(plan).await?;
    let rounds = lengths.mcp_rounds();
    log_progress("tools/call, 16 in flight …");
    let many = measure_in_rounds(open_targets(&stage, IN_FLIGHT).await?, rounds, SLICE_LENGTH).await?;
    log_progress("tools/call, one in flight …");
    let one = measure_in_rounds(open_targets(&stage, 1).await?, rounds, SLICE_LENGTH).await?;
    log_progress("tools/list of 1,000 tools …");
    let mut lists = Vec::new();
    for era in [ProtocolEra::Modern, ProtocolEra::Legacy] {
        let sides = vec![
            McpTargetMeasurement::open(
                "direct",
                stage.many.pid(),
                &stage.direct_many_tools(era),
                1,
                tool_list,
            )
            .await?,
            McpTargetMeasurement::open(
                "gateway",
                stage.gateway.pid(),
                &stage.gateway_many_tools(era),
                1,
                tool_list,
            )
            .await?,
        ];
        lists.extend(measure_in_rounds(sides, rounds.div_ceil(2), SLICE_LENGTH).await?);
    }
    stage.kill().await?;
    log_progress("1,000 idle MCP sessions …");
    let sessions = sessions::measure(plan, SESSIONS).await?;
    Ok(McpReport::new(
        McpComparison { many, one, lists, sessions },
        rounds,
        server::worker_count(&plan.gateway),
    ))
}

/// Opens all targets of calls.
async fn open_targets(stage: &McpTestbed, in_flight: usize) -> Result<Vec<McpTargetMeasurement>> {
    let era = ProtocolEra::Modern;
    let gateway = stage.gateway.pid();
    let call_device = |line: &request::McpRequestBuilder| stage.device_tool_call(line);
    let mut sides = vec![
        McpTargetMeasurement::open(
            "direct",
            stage.one.pid(),
            &stage.direct_one_tool(era),
            in_flight,
            tool_call,
        )
        .await?,
        McpTargetMeasurement::open("gateway", gateway, &stage.gateway_one_tool(era), in_flight, tool_call)
            .await?,
        McpTargetMeasurement::open("device", gateway, &stage.gateway_device(), in_flight, call_device)
            .await?,
    ];
    if let (Some(proxy), Some(line)) = (&stage.proxy, stage.proxy_one_tool()) {
        sides.push(
            McpTargetMeasurement::open("mcp-proxy", proxy.pid(), &line, in_flight, proxied_tool_call).await?,
        );
    }
    Ok(sides)
}
