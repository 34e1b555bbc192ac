//! The results as text for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::chat::ChatReport;
use crate::idle_devices::IdleReport;
use crate::load::LoadReport;
use crate::output::{BenchReport, append_errors, format_bytes};
use crate::registration::RegisterReport;
use crate::startup::StartReport;
use crate::table::FigureTable;

impl BenchReport for LoadReport {
    fn text(&self) -> String {
        let pace = self.rate.map_or_else(|| "closed loop".to_owned(), |rate| format!("{rate} calls/s"));
        let churn = self.churn_per_s.map_or_else(String::new, |per_s| format!(", {per_s} reconnects/s"));
        let mut text = format!(
            "{} devices, {} callers, {pace}, {} bytes of payload{}{churn}; {} s each side, in turns\n\
             relay: runtime workers {} ({}); devices and callers share one thread of the harness\n\n\
             {:<18}{:>12}{:>12}  {:>6}\n",
            self.devices,
            self.callers,
            self.payload_bytes,
            if self.distinct_specs { ", distinct specs" } else { "" },
            self.seconds,
            self.workers,
            self.workers_from.description(),
            "",
            "gateway",
            "relay",
            "ratio",
        );
        let with_range = |ratio: f64, [low, high]: [f64; 2]| format!("{ratio:>6.2}  ({low:.2} to {high:.2})");
        let calls_per_s = with_range(self.calls_per_s_ratio, self.calls_per_s_ratio_range);
        let p50 = with_range(self.p50_ratio, self.p50_ratio_range);
        let cpu = with_range(self.cpu_ratio, self.cpu_ratio_range);
        let megabytes = [self.gateway_rss_bytes, self.relay_rss_bytes].map(|bytes| bytes as f64 / 1e6);
        let rows = [
            ("calls/s", [self.calls_per_s, self.relay_calls_per_s], calls_per_s),
            ("p50, µs", [self.p50_us, self.relay_p50_us], p50),
            ("p90, µs", [self.p90_us, self.relay_p90_us], String::new()),
            ("p99, µs", [self.p99_us, self.relay_p99_us], String::new()),
            ("max, µs", [self.max_us, self.relay_max_us], String::new()),
            ("CPU/call, µs", [self.gateway_cpu_us_per_call, self.relay_cpu_us_per_call], cpu),
            ("memory, MB", megabytes, String::new()),
        ];
        for (what, [gateway, relay], ratio) in rows {
            let line = format!("{what:<18}{gateway:>12.1}{relay:>12.1}  {ratio}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = writeln!(text, "{:<18}{:>12}{:>12}", "calls", self.calls, self.relay_calls);
        let _ = writeln!(text, "{:<18}{:>12}{:>12}", "errors", self.errors, self.relay_errors);
        let _ =
            writeln!(text, "the harness itself used {:.1} µs of CPU a call", self.harness_cpu_us_per_call);
        if self.churn_per_s.is_some() {
            let _ = writeln!(
                text,
                "{} reconnects; from connecting to registered p50 {:.0} µs, p99 {:.0} µs",
                self.reconnects, self.reconnect_p50_us, self.reconnect_p99_us
            );
        }
        append_errors(&mut text, "gateway", &self.error_kinds);
        append_errors(&mut text, "relay", &self.relay_error_kinds);
        text
    }

    fn is_valid(&self) -> bool {
        self.calls > 0 && self.relay_calls > 0 && self.errors == 0 && self.relay_errors == 0
    }
}

impl BenchReport for IdleReport {
    fn text(&self) -> String {
        let mut text = format!(
            "{} devices with {} tools each ({}), from {} processes, connected in {:.1} s; {} still held\n\
             memory {} before, {} after: {} a device{}; {} at the end, {} at most\n\
             calls to random ones: p50 {:.1} µs, p99 {:.1} µs; with 10 devices p50 {:.1} µs, p99 {:.1} µs; \
             ratio {:.2} ({} calls, {} errors)\n",
            self.devices,
            self.tools_per_device,
            if self.distinct_specs { "all specs distinct" } else { "the same on all" },
            self.processes,
            self.connect_seconds,
            self.held,
            format_bytes(self.rss_before_bytes as f64),
            format_bytes(self.rss_after_bytes as f64),
            format_bytes(self.bytes_per_device),
            settled_note(self.rss_settled),
            format_bytes(self.gateway_rss_bytes as f64),
            format_bytes(self.gateway_peak_rss_bytes as f64),
            self.p50_us,
            self.p99_us,
            self.p50_at_10_us,
            self.p99_at_10_us,
            self.p50_ratio,
            self.calls,
            self.errors,
        );
        append_errors(&mut text, "gateway", &self.error_kinds);
        text
    }

    fn is_valid(&self) -> bool {
        self.calls > 0 && self.errors == 0 && self.held == self.devices
    }
}

fn settled_note(settled: bool) -> &'static str {
    if settled { "" } else { " (still moving when read)" }
}

/// Both kinds of registration.
#[derive(Debug, Serialize)]
pub(crate) struct RegisterReports {
    pub(crate) same_schema: RegisterReport,
    pub(crate) distinct_schemas: RegisterReport,
}

impl BenchReport for RegisterReports {
    fn text(&self) -> String {
        [("the same schema", &self.same_schema), ("all distinct", &self.distinct_schemas)]
            .map(|(kind, report)| {
                format!(
                    "{} tools, {}, {kind}: registered in {:.1} ms, {} more memory{}, {} more at its peak \
                     (median of {})\n",
                    report.tools,
                    format_bytes(report.bytes as f64),
                    report.register_ms,
                    format_bytes(report.rss_growth_bytes),
                    settled_note(report.rss_settled),
                    format_bytes(report.peak_growth_bytes),
                    report.rounds,
                )
            })
            .concat()
    }

    fn is_valid(&self) -> bool {
        self.same_schema.rounds > 0 && self.distinct_schemas.rounds > 0
    }
}

impl BenchReport for StartReport {
    fn text(&self) -> String {
        format!(
            "start to first answer {:.1} ms (median of {}; slowest {:.1} ms), idle memory {}{}, binary {}\n",
            self.start_ms,
            self.starts,
            self.slowest_start_ms,
            format_bytes(self.idle_rss_bytes as f64),
            settled_note(self.rss_settled),
            format_bytes(self.binary_bytes as f64),
        )
    }

    fn is_valid(&self) -> bool {
        self.starts > 0
    }
}

impl BenchReport for ChatReport {
    fn text(&self) -> String {
        let mut text = format!(
            "one call a turn, {} turns: from the last byte of the model's tool call to the device's request frame \
             p50 {:.0} µs, p90 {:.0} µs, p99 {:.0} µs\n\
             three rounds of two calls, {} turns: {:.2} ms a turn (p50), of which the gateway's own {:.2} ms \
             (p90 {:.2} ms)\n\
             {} sessions at {} tokens/s each, for {:.0} s: gateway CPU {:.0} % of one core, memory {} ({} at most)\n\
             from model to client, {} tokens: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms\n\
             request bodies: cargo bench --package toolway-models\n",
            self.single_turns,
            self.call_to_frame_p50_us,
            self.call_to_frame_p90_us,
            self.call_to_frame_p99_us,
            self.round_turns,
            self.turn_ms_p50,
            self.own_ms_p50,
            self.own_ms_p90,
            self.sessions,
            self.tokens_per_s,
            self.seconds,
            self.cpu_cores * 100.0,
            format_bytes(self.rss_bytes as f64),
            format_bytes(self.peak_rss_bytes as f64),
            self.tokens,
            self.chunk_p50_us / 1e3,
            self.chunk_p99_us / 1e3,
            self.chunk_max_us / 1e3,
        );
        for error in &self.errors {
            let _ = writeln!(text, "error: {error}");
        }
        text
    }

    fn is_valid(&self) -> bool {
        self.single_turns > 0 && self.round_turns > 0 && self.tokens > 0 && self.errors.is_empty()
    }
}

impl BenchReport for FigureTable {
    fn text(&self) -> String {
        self.drawn()
    }

    fn is_valid(&self) -> bool {
        !self.rows.is_empty() && self.failed.is_empty() && self.rows.iter().all(|row| row.sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_a_part_missing_is_not_sound() {
        let mut table = FigureTable::default();
        assert!(!table.is_valid(), "nothing was measured");
        table.failed.push("starting: it ended".to_owned());
        assert!(!table.is_valid());
    }
}
