//! Benchmarks of the owner's rules: a call with a hundred rules and a hook; listing ten thousand tools for a
//! caller; the two hundred calls of one model response; writing a large result. `cargo bench -p toolway-core
//! --bench rules`

#![allow(clippy::print_stdout, reason = "printing its figures is what it is for")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use toolway_core::policy::definition::{
    ApprovalSettings, Effect, PermissionSettings, PolicySettings, RuleCondition, RuleDefinition,
};
use toolway_core::{
    BeforeCallDecision, CallRequest, Engine, EngineParts, GlobPatterns, Hook, HookCall, HookEntry, HookError,
    HookErrorAction, Lease, Policy, RawArguments, Registry, SourceRetention, SpecCache,
};
use toolway_types::{Outcome, RawJson, ResultEnvelope, SystemClock, ToolOutput};

use support::{ARGUMENTS, BenchError, BenchMeasurements, caller, document, time_per_round, tool};

/// A hook that changes nothing.
struct NoopHook;

#[async_trait]
impl Hook for NoopHook {
    async fn before_call(&self, call: &HookCall) -> Result<BeforeCallDecision, HookError> {
        std::hint::black_box(call);
        Ok(BeforeCallDecision::Continue)
    }
}

/// A hundred rules, of which only the last matches.
fn hundred_rules() -> Result<Policy, BenchError> {
    let rule = |n: usize| RuleDefinition {
        when: RuleCondition {
            principals: if n < 99 && n.is_multiple_of(3) {
                vec![format!("somebody-{n}-*")]
            } else {
                Vec::new()
            },
            tools: if n == 99 { vec!["living-*/*".to_owned()] } else { vec![format!("device-{n}-*/tool_*")] },
            ..RuleCondition::default()
        },
        effect: if n == 99 { Effect::Allow } else { Effect::Deny },
        ..RuleDefinition::default()
    };
    let settings = PolicySettings {
        default: Effect::Deny,
        rules: (0..100).map(rule).collect(),
        ..PolicySettings::default()
    };
    let compiled = Policy::compile(&settings, &ApprovalSettings::default(), &PermissionSettings::default());
    compiled.map_err(|problems| format!("{problems:?}").into())
}

fn engine(sources: usize, tools: usize) -> Result<(Arc<Engine>, Vec<Lease>), BenchError> {
    let (registry, cache) = (Registry::new(), SpecCache::default());
    let mut leases = Vec::new();
    for source in 0..sources {
        let lease = registry.lease(format!("living-room-{source}").parse()?, SourceRetention::Names);
        let made: Result<_, _> = (0..tools).map(|n| tool(&cache, document(&format!("tool_{n}"))?)).collect();
        lease.replace(made?);
        leases.push(lease);
    }
    let engine = Engine::new(EngineParts {
        policy: hundred_rules()?,
        ..EngineParts::new(registry, Arc::new(SystemClock))
    });
    engine.set_hooks(vec![HookEntry {
        name: "looking".into(),
        hook: Arc::new(NoopHook),
        tools: GlobPatterns::new(["*"])?,
        runs_before: true,
        runs_after: false,
        timeout: Duration::from_secs(2),
        on_error: HookErrorAction::FailClosed,
    }]);
    Ok((engine, leases))
}

fn request(name: &str) -> Result<CallRequest, BenchError> {
    Ok(CallRequest::new(name, RawArguments::Json(RawJson::parse(ARGUMENTS)?), caller()))
}

fn measure_calls(runtime: &Runtime, engine: &Arc<Engine>, count: usize) -> Result<Vec<u64>, BenchError> {
    let mut times = Vec::with_capacity(count);
    for at in 0..count + count / 10 {
        let call = request("living-room-0__tool_2")?;
        let engine = engine.clone();
        let time = runtime.block_on(async {
            let task = tokio::spawn(async move {
                let began = Instant::now();
                let finished = engine.call(call).await;
                (began.elapsed(), finished.outcome.is_success())
            });
            task.await
        });
        let (time, is_success) = time?;
        if !is_success {
            return Err("the call failed".into());
        }
        if at >= count / 10 {
            times.push(u64::try_from(time.as_nanos())?);
        }
    }
    times.sort_unstable();
    Ok(times)
}

/// Measures two hundred calls of one model response: the shortest total time of several rounds.
fn measure_answers(runtime: &Runtime, engine: &Arc<Engine>) -> Result<f64, BenchError> {
    let mut least = Duration::MAX;
    for _ in 0..20 {
        let calls: Result<Vec<_>, _> =
            (0..200).map(|n| request(&format!("living-room-0__tool_{}", n % 5))).collect();
        let (calls, engine) = (calls?, engine.clone());
        let (time, successes) = runtime.block_on(async {
            tokio::spawn(async move {
                let began = Instant::now();
                let finished = engine.call_many(calls).await;
                (began.elapsed(), finished.iter().filter(|it| it.outcome.is_success()).count())
            })
            .await
        })?;
        if successes != 200 {
            return Err(format!("{successes} of 200 calls succeeded").into());
        }
        least = least.min(time);
    }
    Ok(200.0 / least.as_secs_f64())
}

fn main() -> Result<(), BenchError> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_said = |word: &str| words.iter().any(|it| it == word);
    let count = if is_said("--quick") { 20_000 } else { 200_000 };
    let mut figures = BenchMeasurements::default();

    let current = Builder::new_current_thread().enable_all().build()?;
    let (engine_of_five, _leases) = engine(1, 5)?;
    figures.times("call_100_rules_1_hook", &measure_calls(&current, &engine_of_five, count)?);
    let two = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    figures.add("answers_of_200_calls", measure_answers(&two, &engine_of_five)?, "calls/s");

    let (engine_of_many, _leases) = engine(100, 100)?;
    let (caller, snapshot, policy) =
        (caller(), engine_of_many.registry().snapshot(), engine_of_many.policy());
    let listed = || {
        snapshot.tools().filter(|(id, tool)| policy.may_use(&caller, id, Some(tool.spec()))).count() == 10_000
    };
    let began = Instant::now();
    if !listed() {
        return Err("not every tool was listed".into());
    }
    figures.add("list_10000_first_time", began.elapsed().as_secs_f64() * 1e3, "ms");
    figures.add("list_10000", time_per_round(20, listed)? / 1e6, "ms");
    let found = |name: &str| {
        let found = snapshot.lookup(name, &caller, |id, spec| policy.may_use(&caller, id, spec));
        matches!(found, toolway_core::ToolLookup::Found(..))
    };
    figures.add(
        "lookup_among_10000_with_rules",
        time_per_round(count, || found("living-room-42__tool_17"))?,
        "ns",
    );

    let large = Outcome::Success(ToolOutput::text("a \"quoted\" line\n".repeat((64 << 10) / 16)));
    let written = || serde_json::to_string(&ResultEnvelope(&large)).is_ok_and(|text| text.len() > 64 << 10);
    figures.add("write_64_kib_result", time_per_round(200, written)? / 1e3, "us");
    figures.print(is_said("--json"));
    Ok(())
}
