//! MCP sessions: starting them, and the memory of a thousand idle ones, in the gateway and in a bare server.

use serde::Serialize;

use super::McpPlan;
use super::connection::HttpConnection;
use super::request::{McpRequestBuilder, ProtocolEra};
use super::server::BareServerProcess;
use super::session::begin_session;
use super::testbed::{data_folder_with_servers, source_endpoint, tool_call, wait_until_ready};
use crate::error::{Result, unexpected};
use crate::gateway::BenchGateway;
use crate::procfs::{ProcessMemory, open_file_limit};
use crate::stats::{ratio, rounded};

/// Number of sessions before memory is read, so that later growth is the cost of sessions.
const WARM_UP_SESSIONS: usize = 20;
/// Number of calls of each of those.
const WARM_UP_CALLS: usize = 50;
/// The slug of the server behind the gateway.
const SLUG: &str = "tools";
/// Open files of the harness other than the sessions' streams.
const OTHER_FILES: usize = 200;

/// Results of the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct McpSessionsReport {
    /// Number of sessions, each with an open stream.
    pub(crate) sessions: usize,
    pub(crate) gateway_growth_bytes: u64,
    pub(crate) direct_growth_bytes: u64,
    pub(crate) gateway_bytes_per_session: f64,
    pub(crate) direct_bytes_per_session: f64,
    pub(crate) ratio: f64,
    /// False if memory still changed when it was read.
    pub(crate) rss_settled: bool,
}

/// Sessions with their streams open.
#[derive(Debug, Default)]
struct OpenStreams(Vec<HttpConnection>);

impl OpenStreams {
    /// Opens `count` more sessions.
    async fn open_more(&mut self, count: usize, line: &McpRequestBuilder) -> Result<()> {
        let mut wire = HttpConnection::open(&line.endpoint.authority).await?;
        for _ in 0..count {
            let line = begin_session(&mut wire, line).await?;
            let mut stream = HttpConnection::open(&line.endpoint.authority).await?;
            let head = stream.open_stream(&line.open_stream()).await?;
            if head.status != 200 {
                return unexpected(format!("the stream of an MCP session was refused: {}", head.summary()));
            }
            self.0.push(stream);
        }
        Ok(())
    }

    async fn warm_up(&mut self, line: &McpRequestBuilder) -> Result<()> {
        self.open_more(WARM_UP_SESSIONS, line).await?;
        let mut wire = HttpConnection::open(&line.endpoint.authority).await?;
        let line = begin_session(&mut wire, line).await?;
        let mut asked = tool_call(&line);
        for _ in 0..WARM_UP_SESSIONS * WARM_UP_CALLS {
            let answer = wire.request_with_timeout(asked.request.next_request().0).await?;
            if !answer.body_contains(asked.expected.as_bytes()) {
                return unexpected(format!("a call in an MCP session fails: {}", answer.summary()));
            }
        }
        Ok(())
    }
}

/// Holds `count` sessions at each target, and measures their cost.
pub(crate) async fn measure(plan: &McpPlan, count: usize) -> Result<McpSessionsReport> {
    let files = u64::try_from(2 * count + OTHER_FILES).unwrap_or(u64::MAX);
    if files > open_file_limit() {
        return unexpected(format!(
            "{count} MCP sessions at both sides need {files} open files: raise ulimit -n"
        ));
    }
    let settings = plan.gateway.with_connections(count + WARM_UP_SESSIONS);
    let behind = BareServerProcess::start(plan, 1, 100).await?;
    let direct = BareServerProcess::start(plan, 1, count + 2 * WARM_UP_SESSIONS).await?;
    let folder = data_folder_with_servers(&[(SLUG, &behind)], count + 2 * WARM_UP_SESSIONS)?;
    let gateway = BenchGateway::start_in(&settings, folder).await?;
    let token = gateway.create_token("client", "load").await?;
    let modern = McpRequestBuilder {
        endpoint: source_endpoint(&gateway, SLUG, &token),
        era: ProtocolEra::Modern,
        session: None,
    };
    wait_until_ready(&modern, &tool_call(&modern)).await?;
    let through = McpRequestBuilder { era: ProtocolEra::Legacy, ..modern };
    let bare = McpRequestBuilder { endpoint: direct.endpoint(), era: ProtocolEra::Legacy, session: None };

    let mut open = OpenStreams::default();
    let mut growth = Vec::new();
    let mut rss_settled = true;
    for (pid, line) in [(gateway.pid(), &through), (direct.pid(), &bare)] {
        open.warm_up(line).await?;
        let (before, settled_before) = ProcessMemory::read_settled(pid).await?;
        open.open_more(count, line).await?;
        let (after, settled_after) = ProcessMemory::read_settled(pid).await?;
        growth.push(after.resident.saturating_sub(before.resident));
        rss_settled &= settled_before && settled_after;
    }
    drop(open);
    gateway.kill().await?;
    direct.kill().await?;
    behind.kill().await?;
    let [gateway, direct] = <[u64; 2]>::try_from(growth).unwrap_or_default();
    let each = |bytes: u64| rounded(ratio(bytes as f64, count as f64));
    Ok(McpSessionsReport {
        sessions: count,
        gateway_growth_bytes: gateway,
        direct_growth_bytes: direct,
        gateway_bytes_per_session: each(gateway),
        direct_bytes_per_session: each(direct),
        ratio: rounded(ratio(gateway as f64, direct as f64)),
        rss_settled,
    })
}
