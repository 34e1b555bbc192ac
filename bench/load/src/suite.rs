//! The figures with goals: the run that each comes from, and the goal.

use crate::chat::{self, ChatReport};
use crate::error::{LoadBenchError, Result};
use crate::figure::{FigureGoal, FigureRow, FigureUnit};
use crate::gateway::GatewayLaunchOptions;
use crate::idle_devices::{self, IdleReport};
use crate::load::{self, LoadReport};
use crate::mcp::{self, McpReport};
use crate::output::{BenchReport, log_progress};
use crate::registration::{self, RegisterReport};
use crate::startup::{self, StartReport};
use crate::suite_lengths::SuiteLengths;
use crate::table::FigureTable;

/// Measures everything, one part after the other. A failed part does not prevent the others.
pub(crate) async fn measure(
    settings: &GatewayLaunchOptions,
    workers: Option<usize>,
    lengths: SuiteLengths,
    mcp: &mcp::McpPlan,
) -> FigureTable {
    let mut table = FigureTable::default();
    let load = |devices, callers| load::LoadPlan {
        gateway: Some(settings.clone()),
        workers,
        devices,
        callers,
        seconds: lengths.seconds,
        rate: None,
        payload: crate::args::PAYLOAD,
        churn: None,
        distinct_specs: false,
    };
    let hold = |devices, seconds, distinct_specs| idle_devices::IdlePlan {
        gateway: settings.clone(),
        devices,
        seconds,
        distinct_specs,
    };
    let short = lengths.seconds.min(3.0);

    log_progress("one caller, one device …");
    let done = load::measure(&load(1, 1)).await;
    table.add_result("one caller, one device", done, FigureTable::add_one_in_flight);
    log_progress("64 callers, 8 devices …");
    let done = load::measure(&load(8, 64)).await;
    table.add_result("64 callers, 8 devices", done, FigureTable::add_many_in_flight);
    log_progress("2,000 devices with the same tools …");
    let done = idle_devices::measure(&hold(2000, short, false)).await;
    table.add_result("2,000 devices", done, FigureTable::add_two_thousand_devices);
    log_progress("2,000 devices with distinct tools …");
    let done = idle_devices::measure(&hold(2000, short, true)).await;
    table.add_result("2,000 devices, distinct", done, FigureTable::add_two_thousand_devices);
    log_progress("10,000 devices …");
    let done = idle_devices::measure(&hold(10_000, lengths.hold_seconds, false)).await;
    table.add_result("10,000 devices", done, FigureTable::add_ten_thousand_devices);
    log_progress("600 tools of one device …");
    for distinct in [false, true] {
        let done = registration::measure(settings, distinct, lengths.rounds).await;
        table.add_result("600 tools", done, FigureTable::add_registration);
    }
    log_progress("turns of a conversation …");
    let done = chat::measure(settings, lengths).await;
    table.add_result("conversations", done, FigureTable::add_chat);
    log_progress("MCP …");
    let done = mcp::measure(mcp, lengths).await;
    table.add_result("MCP", done, FigureTable::add_mcp);
    log_progress("starting …");
    let done = startup::measure(settings, lengths.starts).await;
    table.add_result("starting", done, FigureTable::add_startup);
    table
}

impl FigureTable {
    fn add_result<T>(&mut self, part: &str, done: Result<T>, add: impl FnOnce(&mut Self, T)) {
        match done {
            Ok(report) => add(self, report),
            Err(failure) => self.add_failure(part, &failure),
        }
    }

    fn add_failure(&mut self, part: &str, failure: &LoadBenchError) {
        log_progress(&format!("{part}: {failure}"));
        self.failed.push(format!("{part}: {failure}"));
    }

    fn add_one_in_flight(&mut self, report: LoadReport) {
        self.rows.push(
            FigureRow::new("p50, one caller, one device", report.p50_us, FigureUnit::Micros)
                .beside(report.relay_p50_us, report.p50_ratio)
                .goals(&[FigureGoal::RatioAtMost(1.4), FigureGoal::AtMost(200.0)])
                .sound(report.is_valid()),
        );
        self.loads.push(report);
    }

    fn add_many_in_flight(&mut self, report: LoadReport) {
        let sound = report.is_valid();
        self.rows.push(
            FigureRow::new("calls/s, 64 callers, 8 devices", report.calls_per_s, FigureUnit::PerSecond)
                .beside(report.relay_calls_per_s, report.calls_per_s_ratio)
                .goals(&[FigureGoal::RatioAtLeast(0.7)])
                .sound(sound),
        );
        self.rows.push(
            FigureRow::new(
                "gateway CPU per call at that load",
                report.gateway_cpu_us_per_call,
                FigureUnit::Micros,
            )
            .beside(report.relay_cpu_us_per_call, report.cpu_ratio)
            .goals(&[FigureGoal::RatioAtMost(1.6)])
            .sound(sound),
        );
        self.loads.push(report);
    }

    fn add_two_thousand_devices(&mut self, report: IdleReport) {
        let row = if report.distinct_specs {
            FigureRow::new(
                "memory per device, 5 distinct tools (2,000)",
                report.bytes_per_device,
                FigureUnit::Bytes,
            )
        } else {
            FigureRow::new(
                "memory per device, 5 tools, the same on all (2,000)",
                report.bytes_per_device,
                FigureUnit::Bytes,
            )
            .goals(&[FigureGoal::AtMost(20e3)])
        };
        self.rows.push(row.sound(report.is_valid()));
        self.idles.push(report);
    }

    fn add_ten_thousand_devices(&mut self, report: IdleReport) {
        // A lost device is a missed goal here, not an invalid measurement.
        let calls_sound = report.calls > 0 && report.error_kinds.keys().all(|kind| kind.contains("was lost"));
        self.rows.push(
            FigureRow::new("10,000 devices: held", report.held as f64, FigureUnit::Devices)
                .goals(&[FigureGoal::AtLeast(report.devices as f64)]),
        );
        self.rows.push(
            FigureRow::new("10,000 devices: memory", report.gateway_rss_bytes as f64, FigureUnit::Bytes)
                .goals(&[FigureGoal::AtMost(250e6)]),
        );
        self.rows.push(
            FigureRow::new(
                "10,000 devices: p50 to random ones (beside: to 10)",
                report.p50_us,
                FigureUnit::Micros,
            )
            .beside(report.p50_at_10_us, report.p50_ratio)
            .goals(&[FigureGoal::RatioAtMost(2.0)])
            .sound(calls_sound),
        );
        self.idles.push(report);
    }

    fn add_registration(&mut self, report: RegisterReport) {
        let kind = if report.distinct_specs { "all distinct" } else { "same schema" };
        let memory = FigureRow::new(
            &format!("600 tools, 1.1 MB, {kind}: memory"),
            report.rss_growth_bytes,
            FigureUnit::Bytes,
        );
        let time = FigureRow::new(
            &format!("600 tools, 1.1 MB, {kind}: time"),
            report.register_ms,
            FigureUnit::Millis,
        );
        if report.distinct_specs {
            self.rows.extend([memory, time]);
        } else {
            self.rows.push(memory.goals(&[FigureGoal::AtMost(10e6)]));
            self.rows.push(time.goals(&[FigureGoal::AtMost(50.0)]));
        }
        self.registers.push(report);
    }

    fn add_chat(&mut self, report: ChatReport) {
        let sound = report.is_valid();
        let crowd = format!("{} sessions at {} tokens/s", report.sessions, report.tokens_per_s);
        let rows = [
            FigureRow::new(
                "model's last tool-call byte to device's frame, p50",
                report.call_to_frame_p50_us,
                FigureUnit::Micros,
            )
            .goals(&[FigureGoal::AtMost(500.0)]),
            FigureRow::new(
                "gateway's own time, 3 rounds of 2 calls, p50",
                report.own_ms_p50,
                FigureUnit::Millis,
            )
            .goals(&[FigureGoal::AtMost(5.0)]),
            FigureRow::new(
                &format!("{crowd}: gateway CPU, of one core"),
                report.cpu_cores * 100.0,
                FigureUnit::Percent,
            )
            .goals(&[FigureGoal::AtMost(60.0)]),
            FigureRow::new(&format!("{crowd}: memory"), report.peak_rss_bytes as f64, FigureUnit::Bytes)
                .goals(&[FigureGoal::AtMost(120e6)]),
            FigureRow::new(
                &format!("{crowd}: chunk from model to client, p99"),
                report.chunk_p99_us / 1e3,
                FigureUnit::Millis,
            )
            .goals(&[FigureGoal::AtMost(10.0)]),
        ];
        self.rows.extend(rows.map(|row| row.sound(sound)));
        self.chats.push(report);
    }

    fn add_mcp(&mut self, mut report: McpReport) {
        self.rows.append(&mut report.rows);
        self.mcps.push(report);
    }

    fn add_startup(&mut self, report: StartReport) {
        self.rows.push(
            FigureRow::new("start to first answer", report.start_ms, FigureUnit::Millis)
                .goals(&[FigureGoal::AtMost(25.0)]),
        );
        self.rows.push(
            FigureRow::new("idle memory", report.idle_rss_bytes as f64, FigureUnit::Bytes)
                .goals(&[FigureGoal::AtMost(15e6)]),
        );
        self.rows.push(
            FigureRow::new("stripped binary", report.binary_bytes as f64, FigureUnit::Bytes)
                .goals(&[FigureGoal::AtMost(18e6)]),
        );
        self.starts.push(report);
    }
}
