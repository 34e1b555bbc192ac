//! Results of the MCP comparison, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::request::ProtocolEra;
use super::sessions::McpSessionsReport;
use super::target_measurement::McpTargetReport;
use crate::figure::{FigureGoal, FigureRow, FigureUnit, format_rows};
use crate::output::BenchReport;

/// The measured targets.
#[derive(Debug, Serialize)]
pub(crate) struct McpComparison {
    /// `tools/call` under load.
    pub(crate) many: Vec<McpTargetReport>,
    /// `tools/call` with one in flight.
    pub(crate) one: Vec<McpTargetReport>,
    /// `tools/list`, in both eras.
    pub(crate) lists: Vec<McpTargetReport>,
    pub(crate) sessions: McpSessionsReport,
}

/// Results. Ratios are of calls per second; each is the median of the rounds' ratios, with the minimum and
/// the maximum.
#[derive(Debug, Serialize)]
pub(crate) struct McpReport {
    #[serde(flatten)]
    pub(crate) compared: McpComparison,
    pub(crate) gateway_to_direct: [f64; 3],
    /// Absent without a proxy.
    pub(crate) gateway_to_proxy: Option<[f64; 3]>,
    pub(crate) device_to_direct: [f64; 3],
    /// Additional median latency through the gateway with one call in flight, in microseconds.
    pub(crate) added_p50_us: [f64; 3],
    /// Load average of the last minute at the end; it includes the measurement.
    pub(crate) load_average: f64,
    pub(crate) rounds: usize,
    /// Runtime workers of gateway and bare server.
    pub(crate) workers: usize,
    pub(crate) rows: Vec<FigureRow>,
}

impl McpReport {
    /// Creates the report.
    pub(crate) fn new(compared: McpComparison, rounds: usize, workers: usize) -> Self {
        let mut report = Self {
            gateway_to_direct: throughput_ratio_between(&compared.many, "gateway", "direct")
                .unwrap_or_default(),
            gateway_to_proxy: throughput_ratio_between(&compared.many, "gateway", "mcp-proxy"),
            device_to_direct: throughput_ratio_between(&compared.many, "device", "direct")
                .unwrap_or_default(),
            added_p50_us: added_latency_of(&compared.one).unwrap_or_default(),
            compared,
            load_average: load_average(),
            rounds,
            workers,
            rows: Vec::new(),
        };
        report.rows = report.make_rows();
        report
    }

    fn make_rows(&self) -> Vec<FigureRow> {
        let McpComparison { many, one, lists, sessions } = &self.compared;
        let rate = |what: &str, name: &str, beside: &str, [ratio, ..]: [f64; 3], goal: f64| {
            let (own, its) = (find_target(many, name)?, find_target(many, beside)?);
            let row =
                FigureRow::new(what, own.calls_per_s, FigureUnit::PerSecond).beside(its.calls_per_s, ratio);
            Some(row.goals(&[FigureGoal::RatioAtLeast(goal)]).sound(own.is_valid() && its.is_valid()))
        };
        let mut rows = Vec::new();
        let through = "MCP: tools/call through the gateway, 16 in flight";
        rows.extend(rate(
            &format!("{through} (beside: direct)"),
            "gateway",
            "direct",
            self.gateway_to_direct,
            0.55,
        ));
        if let Some(ratio) = self.gateway_to_proxy {
            rows.extend(rate(&format!("{through} (beside: mcp-proxy)"), "gateway", "mcp-proxy", ratio, 1.3));
        }
        rows.extend(rate(
            "MCP: tools/call of a device's tool, 16 in flight (beside: direct)",
            "device",
            "direct",
            self.device_to_direct,
            0.7,
        ));
        let [added, ..] = self.added_p50_us;
        let sound = one.iter().all(McpTargetReport::is_valid);
        rows.push(
            FigureRow::new("MCP: added to a call, p50, one in flight", added, FigureUnit::Micros)
                .goals(&[FigureGoal::AtMost(300.0)])
                .sound(sound),
        );
        for era in [ProtocolEra::Modern, ProtocolEra::Legacy] {
            let of = |name: &str| lists.iter().find(|side| side.name == name && side.era == era);
            if let (Some(own), Some(direct)) = (of("gateway"), of("direct")) {
                let what = format!("MCP: tools/list of 1,000 tools, {}, p50 (beside: direct)", era.version());
                rows.push(
                    FigureRow::new(&what, own.p50_us / 1e3, FigureUnit::Millis)
                        .beside(direct.p50_us / 1e3, crate::stats::ratio(own.p50_us, direct.p50_us))
                        .goals(&[FigureGoal::AtMost(2.0)])
                        .sound(own.is_valid() && direct.is_valid()),
                );
            }
        }
        rows.push(
            FigureRow::new(
                &format!("MCP: memory of {} idle sessions (beside: direct)", sessions.sessions),
                sessions.gateway_growth_bytes as f64,
                FigureUnit::Bytes,
            )
            .beside(sessions.direct_growth_bytes as f64, sessions.ratio)
            .goals(&[FigureGoal::RatioAtMost(1.2)]),
        );
        rows
    }

    fn targets(&self) -> impl Iterator<Item = (&'static str, &McpTargetReport)> {
        let McpComparison { many, one, lists, .. } = &self.compared;
        let with = |what: &'static str| move |side| (what, side);
        let calls = many.iter().chain(one).map(with("tools/call"));
        calls.chain(lists.iter().map(with("tools/list")))
    }
}

fn find_target<'a>(sides: &'a [McpTargetReport], name: &str) -> Option<&'a McpTargetReport> {
    sides.iter().find(|side| side.name == name)
}

fn throughput_ratio_between(sides: &[McpTargetReport], name: &str, other: &str) -> Option<[f64; 3]> {
    Some(find_target(sides, name)?.throughput_ratio(find_target(sides, other)?))
}

fn added_latency_of(sides: &[McpTargetReport]) -> Option<[f64; 3]> {
    Some(find_target(sides, "gateway")?.added_latency(find_target(sides, "direct")?))
}

/// Returns zero if the system does not report it.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

impl BenchReport for McpReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} rounds of 1 s each, in turns; runtime workers of gateway and bare server: {}; all callers share one \
             thread of the harness; load average at the end {:.1}\n\n\
             {:<11}{:<11}{:<11}{:>9}{:>11}{:>10}{:>10}{:>10}{:>10}{:>14}\n",
            self.rounds,
            self.workers,
            self.load_average,
            "",
            "",
            "era",
            "in flight",
            "a second",
            "p50, µs",
            "p90, µs",
            "p99, µs",
            "max, µs",
            "CPU/call, µs"
        );
        for (what, side) in self.targets() {
            let _ = writeln!(
                text,
                "{what:<11}{:<11}{:<11}{:>9}{:>11.1}{:>10.1}{:>10.1}{:>10.1}{:>10.1}{:>14.1}",
                side.name,
                side.era.version(),
                side.in_flight,
                side.calls_per_s,
                side.p50_us,
                side.p90_us,
                side.p99_us,
                side.max_us,
                side.cpu_us_per_call
            );
        }
        let range = |[middle, low, high]: [f64; 3]| format!("{middle:.2} ({low:.2} to {high:.2})");
        let _ = writeln!(text, "\ngateway ÷ direct: {}", range(self.gateway_to_direct));
        if let Some(ratio) = self.gateway_to_proxy {
            let _ = writeln!(text, "gateway ÷ mcp-proxy: {}", range(ratio));
        }
        let _ = writeln!(text, "device ÷ direct: {}", range(self.device_to_direct));
        let _ = writeln!(text, "added p50, µs: {}", range(self.added_p50_us));
        let sessions = &self.compared.sessions;
        let _ = writeln!(
            text,
            "an idle MCP session: {:.1} KB at the gateway, {:.1} KB at the bare server{}\n",
            sessions.gateway_bytes_per_session / 1e3,
            sessions.direct_bytes_per_session / 1e3,
            if sessions.rss_settled { "" } else { " (still moving when read)" }
        );
        for (what, side) in self.targets() {
            for (kind, count) in &side.error_kinds {
                let _ = writeln!(text, "{what}, {}: error, {count} ×: {kind}", side.name);
            }
        }
        // The rows again, with their goals.
        text + &format_rows(&self.rows, "beside")
    }

    fn is_valid(&self) -> bool {
        self.targets().all(|(_, side)| side.is_valid()) && self.targets().next().is_some()
    }
}
