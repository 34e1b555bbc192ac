//! MCP sessions: beginning one, and what a thousand that do nothing cost in memory, in the gateway and in a bare server.

use serde::Serialize;

use super::Plan;
use super::request::{Era, Line};
use super::server::BareServer;
use super::stage::{call, folder_with, source, there};
use super::wire::Wire;
use crate::error::{Result, unexpected};
use crate::gateway::Gateway;
use crate::procfs::{Memory, open_file_limit};
use crate::stats::{ratio, rounded};

/// How many there are before memory is looked at, so that what grows later is what sessions cost.
const WARM: usize = 20;
/// Calls of each of those.
const WARM_CALLS: usize = 50;
/// The slug of the server behind the gateway.
const SLUG: &str = "tools";
/// Open files of the harness besides the sessions' streams.
const OTHER_FILES: usize = 200;

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct SessionsReport {
    /// How many, each with its stream open.
    pub(crate) sessions: usize,
    pub(crate) gateway_growth_bytes: u64,
    pub(crate) direct_growth_bytes: u64,
    pub(crate) gateway_bytes_per_session: f64,
    pub(crate) direct_bytes_per_session: f64,
    pub(crate) ratio: f64,
    /// False where memory still moved when it was read.
    pub(crate) rss_settled: bool,
}

/// The line as requests are made on it: with an MCP session of its own where the era has such.
pub(crate) async fn begin(wire: &mut Wire, line: &Line) -> Result<Line> {
    if line.era == Era::Modern {
        return Ok(line.clone());
    }
    let answer = wire.ask_soon(line.initialize().next().0).await?;
    let (true, Some(session)) = (answer.status == 200, answer.session.clone()) else {
        return unexpected(format!("no MCP session was made: {}", answer.shown()));
    };
    let line = Line { session: Some(session), ..line.clone() };
    let answer = wire.ask_soon(line.initialized().next().0).await?;
    if answer.status != 202 {
        return unexpected(format!(
            "a new MCP session refuses notifications/initialized: {}",
            answer.shown()
        ));
    }
    Ok(line)
}

/// Sessions with their streams open.
#[derive(Debug, Default)]
struct Open(Vec<Wire>);

impl Open {
    /// Opens `count` more.
    async fn more(&mut self, count: usize, line: &Line) -> Result<()> {
        let mut wire = Wire::open(&line.endpoint.authority).await?;
        for _ in 0..count {
            let line = begin(&mut wire, line).await?;
            let mut stream = Wire::open(&line.endpoint.authority).await?;
            let head = stream.begin(&line.stream()).await?;
            if head.status != 200 {
                return unexpected(format!("the stream of an MCP session was refused: {}", head.shown()));
            }
            self.0.push(stream);
        }
        Ok(())
    }

    async fn warm_up(&mut self, line: &Line) -> Result<()> {
        self.more(WARM, line).await?;
        let mut wire = Wire::open(&line.endpoint.authority).await?;
        let line = begin(&mut wire, line).await?;
        let mut asked = call(&line);
        for _ in 0..WARM * WARM_CALLS {
            let answer = wire.ask_soon(asked.request.next().0).await?;
            if !answer.has(asked.expected.as_bytes()) {
                return unexpected(format!("a call in an MCP session fails: {}", answer.shown()));
            }
        }
        Ok(())
    }
}

/// Holds `count` sessions at each, and measures what they cost.
pub(crate) async fn measure(plan: &Plan, count: usize) -> Result<SessionsReport> {
    let files = u64::try_from(2 * count + OTHER_FILES).unwrap_or(u64::MAX);
    if files > open_file_limit() {
        return unexpected(format!(
            "{count} MCP sessions at both sides need {files} open files: raise ulimit -n"
        ));
    }
    let settings = plan.gateway.holding(count + WARM);
    let behind = BareServer::start(plan, 1, 100).await?;
    let direct = BareServer::start(plan, 1, count + 2 * WARM).await?;
    let folder = folder_with(&[(SLUG, &behind)], count + 2 * WARM)?;
    let gateway = Gateway::start_in(&settings, folder).await?;
    let token = gateway.token("client", "load").await?;
    let modern = Line { endpoint: source(&gateway, SLUG, &token), era: Era::Modern, session: None };
    there(&modern, &call(&modern)).await?;
    let through = Line { era: Era::Legacy, ..modern };
    let bare = Line { endpoint: direct.endpoint(), era: Era::Legacy, session: None };

    let mut open = Open::default();
    let mut growth = Vec::new();
    let mut rss_settled = true;
    for (pid, line) in [(gateway.pid(), &through), (direct.pid(), &bare)] {
        open.warm_up(line).await?;
        let (before, settled_before) = Memory::settled(pid).await?;
        open.more(count, line).await?;
        let (after, settled_after) = Memory::settled(pid).await?;
        growth.push(after.resident.saturating_sub(before.resident));
        rss_settled &= settled_before && settled_after;
    }
    drop(open);
    gateway.kill().await?;
    direct.kill().await?;
    behind.kill().await?;
    let [gateway, direct] = <[u64; 2]>::try_from(growth).unwrap_or_default();
    let each = |bytes: u64| rounded(ratio(bytes as f64, count as f64));
    Ok(SessionsReport {
        sessions: count,
        gateway_growth_bytes: gateway,
        direct_growth_bytes: direct,
        gateway_bytes_per_session: each(gateway),
        direct_bytes_per_session: each(direct),
        ratio: rounded(ratio(gateway as f64, direct as f64)),
        rss_settled,
    })
}
