//! Measures the overhead of the gateway in a conversation. A chat client talks to an agent with a fake model
//! that answers at once and tools of a device, all in this process, so that one clock is used. The time of
//! the fake model and of the device is subtracted; the rest is the gateway's.

mod client;
mod concurrent_chats;
mod lamp_device;
mod testbed;
mod turn_timings;

use serde::Serialize;

use crate::error::Result;
use crate::gateway::GatewayLaunchOptions;
use crate::suite_lengths::SuiteLengths;

/// Results of the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct ChatReport {
    /// Number of turns with one call.
    pub(crate) single_turns: usize,
    /// Time from the last byte of the model's tool call to the device's request frame.
    pub(crate) call_to_frame_p50_us: f64,
    pub(crate) call_to_frame_p90_us: f64,
    pub(crate) call_to_frame_p99_us: f64,
    /// Number of turns of three rounds with two calls each.
    pub(crate) round_turns: usize,
    /// Time of such a turn without the model's and the device's time.
    pub(crate) own_ms_p50: f64,
    pub(crate) own_ms_p90: f64,
    /// Total time of such a turn.
    pub(crate) turn_ms_p50: f64,
    /// Number of parallel sessions, and tokens per second of each.
    pub(crate) sessions: usize,
    pub(crate) tokens_per_s: f64,
    /// Duration of the measurement with all sessions, in seconds.
    pub(crate) seconds: f64,
    /// CPU usage of the gateway in that time, in cores.
    pub(crate) cpu_cores: f64,
    /// Memory of the gateway during the measurement, and its peak.
    pub(crate) rss_bytes: u64,
    pub(crate) peak_rss_bytes: u64,
    /// Time from writing a token in the model to receiving it in the client.
    pub(crate) tokens: usize,
    pub(crate) chunk_p50_us: f64,
    pub(crate) chunk_p99_us: f64,
    pub(crate) chunk_max_us: f64,
    /// Errors, one of each kind.
    pub(crate) errors: Vec<String>,
}

/// Runs all measurements, on one gateway for the turns and another for the parallel sessions.
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
