//! A caller: calls tools on one socket and measures the latencies. This is the closed loop with one call in
//! flight; the open loop is in [`crate::schedule`].

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::socket::BenchSocket;
use crate::stats::LatencySamples;

/// Prepared frames without ids, and the expected answer.
#[derive(Debug)]
pub(crate) struct CallTemplate {
    tails: Vec<String>,
    expected: String,
}

impl CallTemplate {
    /// Prepares calls of these full names, each with `payload` bytes to be returned.
    pub(crate) fn new(names: &[String], payload: usize) -> Self {
        let text: String =
            "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(payload).collect();
        let tail = |name: &String| format!(r#"","name":"{name}","args":{{"text":"{text}"}}}}"#);
        Self { tails: names.iter().map(tail).collect(), expected: format!("\"{text}\"") }
    }

    /// Returns the frame of call `id`, for the name selected by `pick`.
    fn frame(&self, id: u64, pick: u64) -> Utf8Bytes {
        let count = u64::try_from(self.tails.len()).unwrap_or(1).max(1);
        let tail = usize::try_from(pick % count).ok().and_then(|index| self.tails.get(index));
        let tail = tail.map(String::as_str).unwrap_or_default();
        let mut frame = String::with_capacity(tail.len() + 48);
        frame.push_str(r#"{"type":"call_tool","id":""#);
        frame.push_str(&id.to_string());
        frame.push_str(tail);
        frame.into()
    }

    /// Parses the answer to a call; `None` if the frame is not one.
    pub(crate) fn parse_reply(&self, text: &str) -> Option<CallReply> {
        let answer = match serde_json::from_str::<CallReplyFrame<'_>>(text) {
            Ok(answer) => answer,
            Err(error) => return Some(CallReply { id: None, refusal: Some(format!("unreadable: {error}")) }),
        };
        let given = match answer.kind {
            "call_result" => answer.result,
            "tool_result" => answer.output,
            "error" => None,
            _ => return None,
        };
        let right = given.is_some_and(|given| given.get() == self.expected);
        let refusal = (!right).then(|| match (answer.code, given) {
            (Some(code), _) => code.to_owned(),
            (None, Some(_)) => "wrong result".to_owned(),
            (None, None) => answer.kind.to_owned(),
        });
        Some(CallReply { id: answer.id.and_then(|id| id.parse().ok()), refusal })
    }
}

/// An answer to a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallReply {
    /// Id of the call.
    pub(crate) id: Option<u64>,
    /// Error, if it is not the expected answer.
    pub(crate) refusal: Option<String>,
}

/// The fields of a frame that a caller needs, from the gateway or, through the relay, from the device.
#[derive(Deserialize)]
struct CallReplyFrame<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: Option<&'a str>,
    code: Option<&'a str>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

/// Results of some calls.
#[derive(Debug, Default)]
pub(crate) struct CallTally {
    /// Latencies of the successful calls.
    pub(crate) latencies: LatencySamples,
    /// Failed calls by error.
    pub(crate) errors: BTreeMap<String, u64>,
}

impl CallTally {
    /// Counts a failed call.
    pub(crate) fn count_error(&mut self, kind: impl Into<String>) {
        *self.errors.entry(kind.into()).or_default() += 1;
    }

    /// Returns the number of failed calls.
    pub(crate) fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Adds other results.
    pub(crate) fn append(&mut self, other: Self) {
        self.latencies.append(other.latencies);
        for (kind, count) in other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
    }
}

/// The connection of a caller.
#[derive(Debug)]
pub(crate) struct BenchCaller {
    pub(crate) socket: BenchSocket,
    pub(crate) calls: Arc<CallTemplate>,
    next_id: u64,
    random: u64,
    /// True if the connection can't be used any more.
    pub(crate) is_lost: bool,
}

impl BenchCaller {
    /// Creates a caller on an open socket. Its tools and their order depend only on `number`.
    pub(crate) fn new(socket: BenchSocket, calls: Arc<CallTemplate>, number: usize) -> Self {
        let random = u64::try_from(number).unwrap_or(0).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { socket, calls, next_id: 0, random, is_lost: false }
    }

    /// Returns the number and frame of the next call.
    pub(crate) fn next_frame(&mut self) -> (u64, Message) {
        self.next_id += 1;
        // xorshift: simple, fast, and the same in each run.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.next_id, Message::Text(self.calls.frame(self.next_id, self.random >> 16)))
    }

    /// Makes one call after the other until `until`. The caller of this function limits the waiting time.
    pub(crate) async fn closed_loop(&mut self, until: Instant, tally: &mut CallTally) {
        loop {
            match self.call_once(tally).await {
                Ok(received) if received >= until => return,
                Ok(_) => {}
                Err(why) => return self.give_up(why, tally),
            }
        }
    }

    /// Makes `count` calls, one after the other. The caller of this function limits the waiting time.
    pub(crate) async fn make_calls(&mut self, count: usize, tally: &mut CallTally) {
        for _ in 0..count {
            if let Err(why) = self.call_once(tally).await {
                return self.give_up(why, tally);
            }
        }
    }

    /// Makes one call. Returns the time of its answer, or the reason why the connection is lost.
    async fn call_once(&mut self, tally: &mut CallTally) -> Result<Instant, String> {
        let (id, frame) = self.next_frame();
        let sent = Instant::now();
        self.socket.send(frame).await.map_err(|error| error.to_string())?;
        let (received, refusal) = loop {
            let text = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => {
                    let why = frame.map(|frame| frame.to_string()).unwrap_or_default();
                    return Err(format!("closed by the gateway {why}"));
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("the connection ended".to_owned()),
            };
            let received = Instant::now();
            match self.calls.parse_reply(&text) {
                Some(answered) if answered.id == Some(id) => break (received, answered.refusal),
                Some(CallReply { id: None, refusal }) => break (received, refusal),
                Some(_) => tally.count_error("answer to another call"),
                None => {}
            }
        };
        match refusal {
            None => tally.latencies.record(received - sent),
            Some(kind) => tally.count_error(kind),
        }
        Ok(received)
    }

    /// Counts the call in flight as failed and stops using the connection.
    pub(crate) fn give_up(&mut self, why: impl Into<String>, tally: &mut CallTally) {
        self.is_lost = true;
        tally.count_error(why);
    }
}

#[cfg(test)]
mod tests;
