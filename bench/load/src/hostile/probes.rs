//! The bystander and the owner during an attack: their requests, each over a new connection, and their latencies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::target::AttackTarget;
use crate::error::{Result, unexpected};
use crate::http::request;
use crate::procfs::ProcessMemory;
use crate::stats::{LatencySamples, LatencySummary};

/// Pause between two requests of one probe.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum time until all requests succeed before an attack.
const READY_TIME: Duration = Duration::from_secs(10);

/// Latencies of one party.
#[derive(Debug, Default)]
pub(super) struct ProbeResult {
    pub(super) latencies: LatencySummary,
    /// Failed requests, by reason.
    pub(super) failures: BTreeMap<String, u64>,
}

/// Latencies of both parties.
#[derive(Debug, Default)]
pub(super) struct ProbeResults {
    pub(super) bystander: ProbeResult,
    pub(super) owner: ProbeResult,
}

#[derive(Debug, Default)]
struct ProbeSamples {
    latencies: LatencySamples,
    failures: BTreeMap<String, u64>,
}

/// A request that is made again and again.
#[derive(Debug, Clone)]
struct ProbeRequest {
    authority: String,
    method: &'static str,
    path: String,
    token: Option<String>,
    body: Option<&'static str>,
}

/// The running probes.
pub(super) struct Probes {
    bystander: Arc<Mutex<ProbeSamples>>,
    owner: Arc<Mutex<ProbeSamples>>,
    tasks: Vec<AbortOnDropHandle<()>>,
}

impl Probes {
    /// Makes each request once, and then starts to measure.
    pub(super) async fn start(target: &AttackTarget) -> Result<Self> {
        let (bystander, owner) =
            (Arc::<Mutex<ProbeSamples>>::default(), Arc::<Mutex<ProbeSamples>>::default());
        let authority = &target.context.authority;
        let call = |token: &str| ProbeRequest {
            authority: authority.clone(),
            method: "POST",
            path: format!("/api/tools/{}/call", target.context.tool),
            token: Some(token.to_owned()),
            body: Some(r#"{"args":{"text":"hello"}}"#),
        };
        let get = |path: &str, token: Option<&str>| ProbeRequest {
            authority: authority.clone(),
            method: "GET",
            path: path.to_owned(),
            token: token.map(str::to_owned),
            body: None,
        };
        let probes = [
            (call(&target.bystander_token), &bystander),
            (get("/health", None), &bystander),
            (call(target.owner_token()), &owner),
            (get("/api/status", Some(target.owner_token())), &owner),
        ];
        let mut tasks = Vec::new();
        for (probe, samples) in probes {
            probe.send_until_answered().await?;
            tasks.push(AbortOnDropHandle::new(tokio::spawn(repeat(probe, Arc::clone(samples)))));
        }
        Ok(Self { bystander, owner, tasks })
    }

    /// Stops, and returns the latencies.
    pub(super) async fn stop(self) -> ProbeResults {
        drop(self.tasks);
        ProbeResults { bystander: results(&self.bystander), owner: results(&self.owner) }
    }
}

/// Reads the memory of the gateway before the first attack, after a request of each probe.
pub(super) async fn read_idle_memory(target: &AttackTarget) -> Result<u64> {
    drop(Probes::start(target).await?);
    Ok(ProcessMemory::read(target.pid())?.resident)
}

impl ProbeRequest {
    /// Makes the request. An answer other than 200 is a failure.
    async fn send(&self) -> std::result::Result<(), String> {
        let Self { authority, method, path, token, body } = self;
        match request(authority, method, path, token.as_deref(), *body).await {
            Ok((200, answer)) if !answer.contains(r#""status":"error""#) => Ok(()),
            Ok((status, answer)) => {
                let start: String = answer.chars().take(200).collect();
                Err(format!("{method} {path} answered {status}: {start}"))
            }
            Err(failure) => Err(failure.to_string()),
        }
    }
}

impl ProbeRequest {
    /// Makes the request until it succeeds: an earlier attack may have left work behind.
    async fn send_until_answered(&self) -> Result<()> {
        let end = Instant::now() + READY_TIME;
        loop {
            match self.send().await {
                Ok(()) => return Ok(()),
                Err(failure) if Instant::now() >= end => {
                    return unexpected(format!("before the attack, {failure}"));
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

async fn repeat(probe: ProbeRequest, samples: Arc<Mutex<ProbeSamples>>) {
    loop {
        let started = Instant::now();
        let sent = probe.send().await;
        {
            let mut samples = samples.lock();
            samples.latencies.record(started.elapsed());
            if let Err(failure) = sent {
                *samples.failures.entry(failure).or_default() += 1;
            }
        }
        sleep(PAUSE).await;
    }
}

fn results(samples: &Mutex<ProbeSamples>) -> ProbeResult {
    let mut samples = std::mem::take(&mut *samples.lock());
    ProbeResult { latencies: samples.latencies.summary(), failures: samples.failures }
}
