//! Many parallel sessions whose answers arrive token by token. Each token contains its creation time, so that
//! the client knows its latency.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use toolway_fake_models::{PacedTokens, ResponseStep, ScriptedResponse};

use super::client::{ChatBenchClient, ChatTurnEvent};
use super::testbed::ChatTestbed;
use crate::error::{ErrorContext, Result, unexpected, with_timeout};
use crate::gateway::GatewayLaunchOptions;
use crate::procfs::{CpuTime, ProcessMemory};
use crate::stats::{LatencySamples, LatencySummary};

/// Number of sessions.
pub(crate) const SESSIONS: usize = 200;
/// Tokens per second of each session.
pub(crate) const TOKENS_PER_S: f64 = 20.0;

const OPEN_CONCURRENCY: usize = 16;
/// Time from the first session's message until all of them run.
const RAMP: Duration = Duration::from_secs(1);
const FINISH_TIMEOUT: Duration = Duration::from_secs(30);

/// Results of the measurement.
pub(crate) struct ConcurrentChatResult {
    pub(crate) seconds: f64,
    pub(crate) cpu_cores: f64,
    pub(crate) rss_bytes: u64,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) chunks: LatencySummary,
    pub(crate) errors: Vec<String>,
}

/// Runs all sessions for `seconds`.
pub(crate) async fn measure(settings: &GatewayLaunchOptions, seconds: f64) -> Result<ConcurrentChatResult> {
    // Each session has a socket, and one to the model.
    let stage = ChatTestbed::start(settings, 2 * SESSIONS).await?;
    let length = RAMP + Duration::from_secs_f64(seconds);
    let count = ((length + RAMP).as_secs_f64() * TOKENS_PER_S) as usize;
    let tokens = PacedTokens { count, per_second: TOKENS_PER_S, text: "<{micros}>".to_owned() };
    stage.model.respond(move |_| Some(ScriptedResponse::new().then(ResponseStep::Tokens(tokens.clone()))));

    let opening = (0..SESSIONS).map(|_| ChatBenchClient::open(&stage.gateway));
    let clients: Vec<_> = stream::iter(opening).buffered(OPEN_CONCURRENCY).try_collect().await?;
    let epoch = stage.model.epoch();
    let mut sessions = JoinSet::new();
    let started = Instant::now();
    for (number, client) in clients.into_iter().enumerate() {
        // Their tokens are spread over time, like those of independent users.
        let offset = RAMP.mul_f64(number as f64 / SESSIONS as f64);
        sessions.spawn(time_tokens(client, started + offset, epoch, count));
    }

    sleep(RAMP + Duration::from_millis(200)).await;
    let pid = stage.gateway.pid();
    let (before, from) = (CpuTime::read(pid)?, Instant::now());
    sleep(Duration::from_secs_f64(seconds)).await;
    let (after, memory) = (CpuTime::read(pid)?, ProcessMemory::read(pid)?);
    let took = from.elapsed();

    let (mut chunks, mut errors) = (LatencySamples::default(), Vec::new());
    with_timeout(FINISH_TIMEOUT + RAMP, "waiting for the end of all chats", async {
        while let Some(done) = sessions.join_next().await {
            match done.map_err(std::io::Error::other).context("running a chat")? {
                Ok(latencies) => chunks.append(latencies),
                Err(failure) => errors.push(failure.to_string()),
            }
        }
        Ok(())
    })
    .await?;
    stage.gateway.kill().await?;
    Ok(ConcurrentChatResult {
        seconds: took.as_secs_f64(),
        cpu_cores: after.since(&before).div_duration_f64(took),
        rss_bytes: memory.resident,
        peak_rss_bytes: memory.peak,
        chunks: chunks.summary(),
        errors,
    })
}

/// Runs one session's turn and records the latency of each token.
async fn time_tokens(
    mut client: ChatBenchClient,
    start: Instant,
    epoch: Instant,
    count: usize,
) -> Result<LatencySamples> {
    tokio::time::sleep_until(start).await;
    client.send_message("Tell me a long story.").await?;
    let mut latencies = LatencySamples::default();
    let (mut seen, mut rest) = (0, String::new());
    loop {
        match client.next_event().await? {
            ChatTurnEvent::Chunk(text) => {
                let now = epoch.elapsed();
                rest.push_str(&text);
                seen += take_tokens(&mut rest, |written| latencies.record(now.saturating_sub(written)));
            }
            ChatTurnEvent::ToolFailed(why) => return unexpected(why),
            ChatTurnEvent::Done if seen == count => return Ok(latencies),
            ChatTurnEvent::Done => return unexpected(format!("{seen} of {count} tokens came")),
        }
    }
}

/// Removes whole tokens from a text. Returns their number.
fn take_tokens(text: &mut String, mut token: impl FnMut(Duration)) -> usize {
    let mut count = 0;
    while let Some((first, more)) = text.split_once('>') {
        if let Ok(micros) = first.trim_start_matches('<').parse() {
            token(Duration::from_micros(micros));
            count += 1;
        }
        *text = more.to_owned();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_whole_however_they_come() {
        let (mut rest, mut seen) = (String::new(), Vec::new());
        for chunk in ["<12", "><3", "4><", "56>"] {
            rest.push_str(chunk);
            take_tokens(&mut rest, |at| seen.push(at.as_micros()));
        }
        assert_eq!((seen.as_slice(), rest.as_str()), (&[12, 34, 56][..], ""));
    }
}
