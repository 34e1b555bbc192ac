//! The open loop: calls are sent at a fixed rate, regardless of earlier answers.
//!
//! If a call is sent late because the connection was blocked, its latency counts from the time it was due, so
//! that a stalled gateway has no advantage. The runtime's timer has a resolution of a millisecond; a delay of
//! up to two of those is caused by the harness and not counted.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;

use crate::caller::{BenchCaller, CallTally};

const TIMER_SLACK: Duration = Duration::from_millis(2);

/// Schedule of a caller's calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSchedule {
    /// Time of the first call.
    pub(crate) first: Instant,
    /// Interval between calls.
    pub(crate) interval: Duration,
    /// End of the schedule.
    pub(crate) until: Instant,
}

/// Makes calls by the schedule, then waits for the answers. The caller of this function limits the waiting
/// time.
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
