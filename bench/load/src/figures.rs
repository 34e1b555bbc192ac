//! The figures that were set as goals: which run each comes from, and what is to be reached.

use crate::chat::{self, ChatReport};
use crate::error::{Failure, Result};
use crate::gateway::Settings;
use crate::idle::{self, IdleReport};
use crate::load::{self, LoadReport};
use crate::mcp::{self, McpReport};
use crate::register::{self, RegisterReport};
use crate::report::{Report, note};
use crate::start::{self, StartReport};
use crate::table::{Goal, Row, Table, Unit};

/// How long the parts take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    seconds: f64,
    hold_seconds: f64,
    rounds: usize,
    starts: usize,
    turns: usize,
    chat_seconds: f64,
    mcp_rounds: usize,
}

impl Lengths {
    /// For figures to be kept: devices are held over two heartbeats and more.
    pub(crate) const FULL: Self = Self {
        seconds: 10.0,
        hold_seconds: 25.0,
        rounds: 5,
        starts: 20,
        turns: 300,
        chat_seconds: 20.0,
        mcp_rounds: 10,
    };
    /// For a look while working.
    pub(crate) const QUICK: Self = Self {
        seconds: 3.0,
        hold_seconds: 3.0,
        rounds: 1,
        starts: 7,
        turns: 100,
        chat_seconds: 5.0,
        mcp_rounds: 4,
    };

    /// How many gateways are registered at.
    pub(crate) fn rounds(self) -> usize {
        self.rounds
    }

    /// How many turns of each kind are timed.
    pub(crate) fn turns(self) -> usize {
        self.turns
    }

    /// How long many sessions chat at once.
    pub(crate) fn chat_seconds(self) -> f64 {
        self.chat_seconds
    }

    /// How many rounds MCP is measured in.
    pub(crate) fn mcp_rounds(self) -> usize {
        self.mcp_rounds
    }

    /// How many starts are timed.
    pub(crate) fn starts(self) -> usize {
        self.starts
    }
}

/// Measures everything, one after the other. A part that fails does not keep the others from being measured.
pub(crate) async fn measure(
    settings: &Settings,
    workers: Option<usize>,
    lengths: Lengths,
    mcp: &mcp::Plan,
) -> Table {
    let mut table = Table::default();
    let load = |devices, callers| load::Plan {
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
    let hold = |devices, seconds, distinct_specs| idle::Plan {
        gateway: settings.clone(),
        devices,
        seconds,
        distinct_specs,
    };
    let short = lengths.seconds.min(3.0);

    note("one caller, one device …");
    let done = load::measure(&load(1, 1)).await;
    table.take("one caller, one device", done, Table::one_in_flight);
    note("64 callers, 8 devices …");
    let done = load::measure(&load(8, 64)).await;
    table.take("64 callers, 8 devices", done, Table::many_in_flight);
    note("2,000 devices with the same tools …");
    let done = idle::measure(&hold(2000, short, false)).await;
    table.take("2,000 devices", done, Table::two_thousand);
    note("2,000 devices with distinct tools …");
    let done = idle::measure(&hold(2000, short, true)).await;
    table.take("2,000 devices, distinct", done, Table::two_thousand);
    note("10,000 devices …");
    let done = idle::measure(&hold(10_000, lengths.hold_seconds, false)).await;
    table.take("10,000 devices", done, Table::ten_thousand);
    note("600 tools of one device …");
    for distinct in [false, true] {
        let done = register::measure(settings, distinct, lengths.rounds).await;
        table.take("600 tools", done, Table::registration);
    }
    note("turns of a conversation …");
    let done = chat::measure(settings, lengths).await;
    table.take("conversations", done, Table::chatting);
    note("MCP …");
    let done = mcp::measure(mcp, lengths).await;
    table.take("MCP", done, Table::mcp);
    note("starting …");
    let done = start::measure(settings, lengths.starts).await;
    table.take("starting", done, Table::starting);
    table
}

impl Table {
    fn take<T>(&mut self, part: &str, done: Result<T>, add: impl FnOnce(&mut Self, T)) {
        match done {
            Ok(report) => add(self, report),
            Err(failure) => self.fail(part, &failure),
        }
    }

    fn fail(&mut self, part: &str, failure: &Failure) {
        note(&format!("{part}: {failure}"));
        self.failed.push(format!("{part}: {failure}"));
    }

    fn one_in_flight(&mut self, report: LoadReport) {
        self.rows.push(
            Row::new("p50, one caller, one device", report.p50_us, Unit::Micros)
                .beside(report.relay_p50_us, report.p50_ratio)
                .goals(&[Goal::RatioAtMost(1.4), Goal::AtMost(200.0)])
                .sound(report.sound()),
        );
        self.loads.push(report);
    }

    fn many_in_flight(&mut self, report: LoadReport) {
        let sound = report.sound();
        self.rows.push(
            Row::new("calls/s, 64 callers, 8 devices", report.calls_per_s, Unit::PerSecond)
                .beside(report.relay_calls_per_s, report.calls_per_s_ratio)
                .goals(&[Goal::RatioAtLeast(0.7)])
                .sound(sound),
        );
        self.rows.push(
            Row::new("gateway CPU per call at that load", report.gateway_cpu_us_per_call, Unit::Micros)
                .beside(report.relay_cpu_us_per_call, report.cpu_ratio)
                .goals(&[Goal::RatioAtMost(1.6)])
                .sound(sound),
        );
        self.loads.push(report);
    }

    fn two_thousand(&mut self, report: IdleReport) {
        let row = if report.distinct_specs {
            Row::new("memory per device, 5 distinct tools (2,000)", report.bytes_per_device, Unit::Bytes)
        } else {
            Row::new(
                "memory per device, 5 tools, the same on all (2,000)",
                report.bytes_per_device,
                Unit::Bytes,
            )
            .goals(&[Goal::AtMost(20e3)])
        };
        self.rows.push(row.sound(report.sound()));
        self.idles.push(report);
    }

    fn ten_thousand(&mut self, report: IdleReport) {
        // A device that was lost is a goal missed here, not a measurement spoilt.
        let calls_sound = report.calls > 0 && report.error_kinds.keys().all(|kind| kind.contains("was lost"));
        self.rows.push(
            Row::new("10,000 devices: held", report.held as f64, Unit::Devices)
                .goals(&[Goal::AtLeast(report.devices as f64)]),
        );
        self.rows.push(
            Row::new("10,000 devices: memory", report.gateway_rss_bytes as f64, Unit::Bytes)
                .goals(&[Goal::AtMost(250e6)]),
        );
        self.rows.push(
            Row::new("10,000 devices: p50 to random ones (beside: to 10)", report.p50_us, Unit::Micros)
                .beside(report.p50_at_10_us, report.p50_ratio)
                .goals(&[Goal::RatioAtMost(2.0)])
                .sound(calls_sound),
        );
        self.idles.push(report);
    }

    fn registration(&mut self, report: RegisterReport) {
        let kind = if report.distinct_specs { "all distinct" } else { "same schema" };
        let memory =
            Row::new(&format!("600 tools, 1.1 MB, {kind}: memory"), report.rss_growth_bytes, Unit::Bytes);
        let time = Row::new(&format!("600 tools, 1.1 MB, {kind}: time"), report.register_ms, Unit::Millis);
        if report.distinct_specs {
            self.rows.extend([memory, time]);
        } else {
            self.rows.push(memory.goals(&[Goal::AtMost(10e6)]));
            self.rows.push(time.goals(&[Goal::AtMost(50.0)]));
        }
        self.registers.push(report);
    }

    fn chatting(&mut self, report: ChatReport) {
        let sound = report.sound();
        let crowd = format!("{} sessions at {} tokens/s", report.sessions, report.tokens_per_s);
        let rows = [
            Row::new(
                "model's last tool-call byte to device's frame, p50",
                report.call_to_frame_p50_us,
                Unit::Micros,
            )
            .goals(&[Goal::AtMost(500.0)]),
            Row::new("gateway's own time, 3 rounds of 2 calls, p50", report.own_ms_p50, Unit::Millis)
                .goals(&[Goal::AtMost(5.0)]),
            Row::new(&format!("{crowd}: gateway CPU, of one core"), report.cpu_cores * 100.0, Unit::Percent)
                .goals(&[Goal::AtMost(60.0)]),
            Row::new(&format!("{crowd}: memory"), report.peak_rss_bytes as f64, Unit::Bytes)
                .goals(&[Goal::AtMost(120e6)]),
            Row::new(
                &format!("{crowd}: chunk from model to client, p99"),
                report.chunk_p99_us / 1e3,
                Unit::Millis,
            )
            .goals(&[Goal::AtMost(10.0)]),
        ];
        self.rows.extend(rows.map(|row| row.sound(sound)));
        self.chats.push(report);
    }

    fn mcp(&mut self, mut report: McpReport) {
        self.rows.append(&mut report.rows);
        self.mcps.push(report);
    }

    fn starting(&mut self, report: StartReport) {
        self.rows.push(
            Row::new("start to first answer", report.start_ms, Unit::Millis).goals(&[Goal::AtMost(25.0)]),
        );
        self.rows.push(
            Row::new("idle memory", report.idle_rss_bytes as f64, Unit::Bytes).goals(&[Goal::AtMost(15e6)]),
        );
        self.rows.push(
            Row::new("stripped binary", report.binary_bytes as f64, Unit::Bytes).goals(&[Goal::AtMost(18e6)]),
        );
        self.starts.push(report);
    }
}
