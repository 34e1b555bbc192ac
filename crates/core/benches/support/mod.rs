//! Shared parts of the benchmarks: a tool that does nothing, and functions that measure and print.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolway_core::{Arguments, CallContext, Caller, EntryPoint, SpecCache, Tool, ToolSpec};
use toolway_types::{Principal, RawJson, Role, SpecDocument, ToolError, ToolOutput};

pub(crate) type BenchError = Box<dyn Error>;

pub(crate) const PARAMETERS: &str = r#"{"type":"object","required":["city"],"additionalProperties":false,"properties":{
    "city":{"type":"string","minLength":1,"maxLength":80},
    "days":{"type":"integer","minimum":1,"maximum":14},
    "unit":{"enum":["metric","imperial"]}}}"#;
pub(crate) const ARGUMENTS: &str = r#"{"city":"Sankt Peter-Ording","days":3,"unit":"metric"}"#;

/// A tool that does nothing.
pub(crate) struct NoopTool(Arc<ToolSpec>);

#[async_trait]
impl Tool for NoopTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    async fn execute(&self, _: Arguments, _: &CallContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("ok"))
    }
}

pub(crate) fn document(name: &str) -> Result<SpecDocument, BenchError> {
    Ok(SpecDocument {
        description: Some("Does nothing, and says so.".to_owned()),
        parameters: Some(RawJson::parse(PARAMETERS)?),
        ..SpecDocument::named(name)
    })
}

pub(crate) fn tool(cache: &SpecCache, document: SpecDocument) -> Result<Arc<dyn Tool>, BenchError> {
    Ok(Arc::new(NoopTool(cache.compile(document)?)))
}

pub(crate) fn caller() -> Caller {
    let principal =
        Principal { id: "0198c0de-7a3b-7c11-9d2e-5f00aa11bb22".into(), role: Role::Client, agent: None };
    Caller::new(Arc::new(principal), EntryPoint::WebSocket)
}

/// Percentile of sorted durations, in microseconds.
pub(crate) fn percentile_micros(times: &[u64], per_mille: usize) -> f64 {
    let place = (times.len() * per_mille / 1000).min(times.len().saturating_sub(1));
    micros(times.get(place).copied().unwrap_or(0))
}

#[allow(clippy::cast_precision_loss, reason = "for people to read")]
pub(crate) fn micros(nanos: u64) -> f64 {
    (nanos as f64 / 100.0).round() / 10.0
}

/// Measured figures by name, in order.
#[derive(Default)]
pub(crate) struct BenchMeasurements(Vec<(String, f64, &'static str)>);

impl BenchMeasurements {
    pub(crate) fn add(&mut self, name: impl Into<String>, figure: f64, unit: &'static str) {
        self.0.push((name.into(), (figure * 100.0).round() / 100.0, unit));
    }

    pub(crate) fn times(&mut self, name: &str, times: &[u64]) {
        for (part, per_mille) in [("p50", 500), ("p90", 900), ("p99", 990)] {
            self.add(format!("{name}_{part}"), percentile_micros(times, per_mille), "us");
        }
    }

    pub(crate) fn print(&self, as_json: bool) {
        if as_json {
            let object: Map<String, Value> =
                self.0.iter().map(|(name, figure, unit)| (format!("{name}_{unit}"), json!(figure))).collect();
            println!("{}", Value::Object(object));
            return;
        }
        for (name, figure, unit) in &self.0 {
            println!("{name:<34} {figure:>12} {unit}");
        }
    }
}

/// Duration of one round of `work` in nanoseconds: the shortest average of several series.
pub(crate) fn time_per_round(rounds: usize, mut work: impl FnMut() -> bool) -> Result<f64, BenchError> {
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        for _ in 0..rounds {
            if !std::hint::black_box(work()) {
                return Err("it did not find what it should".into());
            }
        }
        least = least.min(began.elapsed());
    }
    let rounds = u32::try_from(rounds)?;
    Ok(((least / rounds).as_secs_f64() * 1e9).round())
}
