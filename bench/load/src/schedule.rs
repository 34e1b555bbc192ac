//! The open loop: calls leave at a fixed rate, whether or not earlier ones were answered.
//!
//! A call is timed from the moment it was due where it left late because the connection was held up, so that
//! a stalled gateway is not flattered; the runtime's timer wakes in steps of a millisecond, and lateness of up to
//! two of those is the harness's own and not counted.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;

use crate::caller::{BenchCaller, CallTally};

const TIMER_SLACK: Duration = Duration::from_millis(2);

/// When a caller's calls are due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSchedule {
    /// The first.
    pub(crate) first: Instant,
    /// From one to the next.
    pub(crate) interval: Duration,
    /// None is due from here on.
    pub(crate) until: Instant,
}

/// Calls by the schedule, then waits for the answers. The caller of this bounds the wait.
pub(crate) async fn open_loop(caller: &mut BenchCaller, schedule: CallSchedule, tally: &mut CallTally) {
    let pending = Mutex::new(HashMap::<u64, Instant>::new());
    let all_sent = Notify::new();
    let calls = caller.calls.clone();
    let mut frames = Vec::new();
    let mut due = schedule.first;
    while due < schedule.until {
        frames.push((due, caller.next_frame()));
        due += schedule.interval.max(Duration::from_nanos(1));
    }
    let (mut sink, mut stream) = (&mut caller.socket).split();
    let sending = async {
        let mut frames = frames.into_iter().peekable();
        while let Some((due, _)) = frames.peek() {
            sleep_until(*due).await;
            let now = Instant::now();
            while let Some((due, (id, frame))) = frames.next_if(|(due, _)| *due <= now) {
                let late = now.saturating_duration_since(due) > TIMER_SLACK;
                pending.lock().insert(id, if late { due } else { now });
                sink.feed(frame).await.map_err(|error| error.to_string())?;
            }
            sink.flush().await.map_err(|error| error.to_string())?;
        }
        all_sent.notify_one();
        Ok::<(), String>(())
    };
    let receiving = async {
        let mut sent_all = false;
        while !sent_all || !pending.lock().is_empty() {
            let frame = tokio::select! {
                () = all_sent.notified(), if !sent_all => {
                    sent_all = true;
                    continue;
                }
                frame = stream.next() => frame,
            };
            let text = match frame {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(_))) | None => return Err("the connection ended".to_owned()),
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error.to_string()),
            };
            let received = Instant::now();
            let Some(answered) = calls.parse_reply(&text) else { continue };
            let sent = answered.id.and_then(|id| pending.lock().remove(&id));
            match (sent, answered.refusal) {
                (Some(sent), None) => tally.latencies.record(received.saturating_duration_since(sent)),
                (_, Some(kind)) => tally.count_error(kind),
                (None, None) => tally.count_error("answer to no call"),
            }
        }
        Ok(())
    };
    let ended = tokio::try_join!(sending, receiving);
    drop((sink, stream));
    if let Err(why) = ended {
        let unanswered = pending.lock().len();
        caller.give_up(why, tally);
        (1..unanswered).for_each(|_| tally.count_error("unanswered"));
    }
}
