//! What the gateway adds to a conversation: a chat client talks to an agent, the agent's model is a fake one that
//! answers at once, and its tools are a device's, all in this process, so that one clock times everything. The fake
//! model's time and the device's are taken off; what is left is the gateway's.

mod client;
mod concurrent_chats;
mod lamp_device;
mod testbed;
mod turn_timings;

use serde::Serialize;

use crate::error::Result;
use crate::gateway::GatewayLaunchOptions;
use crate::suite_lengths::SuiteLengths;

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct ChatReport {
    /// Turns with one call.
    pub(crate) single_turns: usize,
    /// From the last byte of the model's tool call to the device's request frame.
    pub(crate) call_to_frame_p50_us: f64,
    pub(crate) call_to_frame_p90_us: f64,
    pub(crate) call_to_frame_p99_us: f64,
    /// Turns of three rounds with two calls each.
    pub(crate) round_turns: usize,
    /// Of such a turn, what neither the model nor the device held.
    pub(crate) own_ms_p50: f64,
    pub(crate) own_ms_p90: f64,
    /// All of such a turn.
    pub(crate) turn_ms_p50: f64,
    /// Sessions that chat at once, and how many tokens a second each is sent.
    pub(crate) sessions: usize,
    pub(crate) tokens_per_s: f64,
    /// How long they were measured while all of them chatted, in seconds.
    pub(crate) seconds: f64,
    /// CPU time of the gateway in that time, in parts of one core.
    pub(crate) cpu_cores: f64,
    /// The gateway's memory while they chat, and the most that it ever was.
    pub(crate) rss_bytes: u64,
    pub(crate) peak_rss_bytes: u64,
    /// From when the model wrote a token to when the client had it.
    pub(crate) tokens: usize,
    pub(crate) chunk_p50_us: f64,
    pub(crate) chunk_p99_us: f64,
    pub(crate) chunk_max_us: f64,
    /// What went wrong, each kind once.
    pub(crate) errors: Vec<String>,
}

/// Measures all of it, on one gateway for the turns and another for the crowd.
pub(crate) async fn measure(settings: &GatewayLaunchOptions, lengths: SuiteLengths) -> Result<ChatReport> {
    let turns = turn_timings::measure(settings, lengths.turns()).await?;
    let crowd = concurrent_chats::measure(settings, lengths.chat_seconds()).await?;
    let mut errors = turns.errors;
    errors.extend(crowd.errors);
    errors.sort_unstable();
    errors.dedup();
    let (single, own, whole) = (turns.call_to_frame, turns.gateway_time, turns.total_time);
    Ok(ChatReport {
        single_turns: single.count,
        call_to_frame_p50_us: single.p50_us,
        call_to_frame_p90_us: single.p90_us,
        call_to_frame_p99_us: single.p99_us,
        round_turns: own.count,
        own_ms_p50: own.p50_us / 1e3,
        own_ms_p90: own.p90_us / 1e3,
        turn_ms_p50: whole.p50_us / 1e3,
        sessions: concurrent_chats::SESSIONS,
        tokens_per_s: concurrent_chats::TOKENS_PER_S,
        seconds: crowd.seconds,
        cpu_cores: crowd.cpu_cores,
        rss_bytes: crowd.rss_bytes,
        peak_rss_bytes: crowd.peak_rss_bytes,
        tokens: crowd.chunks.count,
        chunk_p50_us: crowd.chunks.p50_us,
        chunk_p99_us: crowd.chunks.p99_us,
        chunk_max_us: crowd.chunks.max_us,
        errors,
    })
}
