//! Metrics for Prometheus. All names start with `toolway_`.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use toolway_core::ClosedCall;
use toolway_types::{Code, Outcome};
use toolway_wire::gateway_message::ResultStatus;

/// Upper bounds of the buckets of call durations, in seconds: 100 µs to an hour.
const DURATIONS: &[f64] = &[
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0, 60.0, 300.0, 3600.0,
];

/// Maximum number of error codes that are counted separately. All codes are the program's own, so there are
/// few; the limit is for codes that might come from outside.
const MAX_REFUSAL_CODES: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    status: &'static str,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SocketLabels {
    endpoint: &'static str,
}

/// Values that other parts of the gateway report when metrics are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct MetricsSnapshot {
    /// Open connections.
    pub connections: usize,
    /// Sources whose tools can be called.
    pub sources: usize,
    /// Tools that can be called.
    pub tools: usize,
    /// Calls in flight.
    pub calls_in_flight: usize,
    /// Open connections whose peers have not shown a token yet.
    pub connections_without_token: usize,
    /// Memory that peers hold, in bytes.
    pub memory_used: u64,
    /// Maximum of it.
    pub memory_limit: u64,
    /// Connections that were closed, because others needed the memory.
    pub memory_closed: u64,
    /// Estimated size of the compiled schemas in use, in bytes.
    pub schema_bytes: u64,
    /// Cancelled runs that still execute.
    pub calls_abandoned: u64,
    /// Call records that were written.
    pub records_written: u64,
    /// Call records that were lost.
    pub records_lost: u64,
    /// Call records that are pending.
    pub records_waiting: usize,
    /// Seconds since the start.
    pub uptime_s: u64,
}

/// All metrics of a gateway.
pub struct GatewayMetrics {
    registry: Mutex<Registry>,
    succeeded: Counter,
    /// In the order of [`Code::ALL`], so that a call needs no lookup of labels.
    failed: Vec<Counter>,
    duration: Histogram,
    sockets: Family<SocketLabels, Gauge>,
    results: Family<ReasonLabels, Counter>,
    refused: Family<RefusalLabels, Counter>,
    refusal_codes: AtomicUsize,
    sampled: SampledMetrics,
}

/// Metrics whose values are read from a [`MetricsSnapshot`].
#[derive(Debug, Default)]
struct SampledMetrics {
    connections: Gauge<i64, AtomicI64>,
    without_token: Gauge<i64, AtomicI64>,
    memory_used: Gauge<i64, AtomicI64>,
    memory_limit: Gauge<i64, AtomicI64>,
    memory_closed: Counter<u64, AtomicU64>,
    schema_bytes: Gauge<i64, AtomicI64>,
    sources: Gauge<i64, AtomicI64>,
    tools: Gauge<i64, AtomicI64>,
    in_flight: Gauge<i64, AtomicI64>,
    abandoned: Gauge<i64, AtomicI64>,
    written: Counter<u64, AtomicU64>,
    lost: Counter<u64, AtomicU64>,
    waiting: Gauge<i64, AtomicI64>,
    uptime: Gauge<i64, AtomicI64>,
}

impl fmt::Debug for GatewayMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayMetrics").finish_non_exhaustive()
    }
}

impl Default for GatewayMetrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("toolway");
        let calls = Family::<CallLabels, Counter>::default();
        let duration = Histogram::new(DURATIONS.iter().copied());
        let (sockets, results, refused) = (Family::default(), Family::default(), Family::default());
        let read = SampledMetrics::default();
        registry.register("calls", "Calls that ended, by status", calls.clone());
        registry.register(
            "call_duration_seconds",
            "Time from a call's acceptance to its outcome",
            duration.clone(),
        );
        registry.register("websockets", "Open WebSockets", sockets.clone());
        registry.register("results_discarded", "Results of devices without a pending call", results.clone());
        registry.register("requests_refused", "Refused requests and messages, by code", refused.clone());
        registry.register("connections", "Open connections, including WebSockets", read.connections.clone());
        registry.register(
            "connections_without_token",
            "Open connections whose peers have not shown a token yet",
            read.without_token.clone(),
        );
        registry.register(
            "peer_memory_bytes",
            "Memory of unfinished frames, bodies and queues of peers",
            read.memory_used.clone(),
        );
        registry.register(
            "peer_memory_limit_bytes",
            "Maximum memory of peers (limits.memory_bytes)",
            read.memory_limit.clone(),
        );
        registry.register(
            "connections_closed_for_memory",
            "Connections closed because others needed their memory",
            read.memory_closed.clone(),
        );
        registry.register(
            "compiled_schema_bytes",
            "Estimated memory of compiled schemas",
            read.schema_bytes.clone(),
        );
        registry.register("sources", "Sources whose tools can be called now", read.sources.clone());
        registry.register("tools", "Tools that can be called now", read.tools.clone());
        registry.register("calls_in_flight", "Calls in flight", read.in_flight.clone());
        registry.register("calls_abandoned", "Cancelled runs that still execute", read.abandoned.clone());
        registry.register("call_records_written", "Call records that were written", read.written.clone());
        registry.register("call_records_lost", "Call records that could not be written", read.lost.clone());
        registry.register("call_records_pending", "Pending call records", read.waiting.clone());
        registry.register("uptime_seconds", "Time since the start", read.uptime.clone());
        let count = |status, code| calls.get_or_create_owned(&CallLabels { status, code });
        Self {
            succeeded: count("success", ""),
            failed: Code::ALL.iter().map(|code| count("error", code.as_str())).collect(),
            registry: Mutex::new(registry),
            duration,
            sockets,
            results,
            refused,
            refusal_codes: AtomicUsize::new(0),
            sampled: read,
        }
    }
}

/// Counts one open WebSocket until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenSocketGuard(Gauge);

impl Drop for OpenSocketGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl GatewayMetrics {
    /// Counts a call that ended.
    pub fn record_call(&self, call: &ClosedCall) {
        let counter = match &*call.outcome {
            Outcome::Success(_) => Some(&self.succeeded),
            Outcome::Error(error) => {
                let at = Code::ALL.iter().position(|code| *code == error.code);
                at.and_then(|at| self.failed.get(at))
            }
        };
        if let Some(counter) = counter {
            counter.inc();
        }
        self.duration.observe(call.durations.total.as_secs_f64());
    }

    /// Counts a WebSocket at this endpoint.
    pub(crate) fn track_socket(&self, endpoint: &'static str) -> OpenSocketGuard {
        let open = self.sockets.get_or_create_owned(&SocketLabels { endpoint });
        open.inc();
        OpenSocketGuard(open)
    }

    /// Counts a device's result that was not the outcome of a call.
    pub fn record_discarded_result(&self, status: ResultStatus) {
        let reason = match status {
            ResultStatus::Accepted => return,
            ResultStatus::Late => "late",
            ResultStatus::Duplicate => "duplicate",
            ResultStatus::Unknown => "unknown",
        };
        self.results.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Counts a refused request or message with this code.
    pub fn record_refusal(&self, code: &str) {
        let labels = RefusalLabels { code: code.to_owned() };
        if let Some(counter) = self.refused.get(&labels) {
            counter.inc();
            return;
        }
        let full = self.refusal_codes.fetch_add(1, Relaxed) >= MAX_REFUSAL_CODES;
        let labels = if full { RefusalLabels { code: "other".to_owned() } } else { labels };
        self.refused.get_or_create(&labels).inc();
    }

    /// Returns all metrics in Prometheus' text format.
    ///
    /// # Errors
    /// [`fmt::Error`] if formatting fails, which never happens for a string.
    pub fn encode(&self, readings: MetricsSnapshot) -> Result<String, fmt::Error> {
        let gauge =
            |gauge: &Gauge<i64, AtomicI64>, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        gauge(&self.sampled.connections, readings.connections as u64);
        gauge(&self.sampled.without_token, readings.connections_without_token as u64);
        gauge(&self.sampled.memory_used, readings.memory_used);
        gauge(&self.sampled.memory_limit, readings.memory_limit);
        gauge(&self.sampled.schema_bytes, readings.schema_bytes);
        self.sampled.memory_closed.inner().store(readings.memory_closed, Relaxed);
        gauge(&self.sampled.sources, readings.sources as u64);
        gauge(&self.sampled.tools, readings.tools as u64);
        gauge(&self.sampled.in_flight, readings.calls_in_flight as u64);
        gauge(&self.sampled.abandoned, readings.calls_abandoned);
        gauge(&self.sampled.waiting, readings.records_waiting as u64);
        gauge(&self.sampled.uptime, readings.uptime_s);
        self.sampled.written.inner().store(readings.records_written, Relaxed);
        self.sampled.lost.inner().store(readings.records_lost, Relaxed);
        let mut text = String::new();
        encode(&mut text, &self.registry.lock())?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
