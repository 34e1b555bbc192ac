//! The body of an answer while it is sent: writes steps, waits at gates, paces tokens, counts bytes, and cuts
//! the connection if scripted.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::time::Instant;

use crate::renderer::{StepWriter, token_text};
use crate::scripted_response::{PacedTokens, ResponseStep, ScriptedResponse};
use crate::state::{FakeModelsState, ResponseEnd};

/// Remaining work for a streamed answer.
struct ResponseStreamState {
    shared: Arc<FakeModelsState>,
    answer: ScriptedResponse,
    steps: VecDeque<ResponseStep>,
    writer: StepWriter,
    /// Tokens in progress: the step, the number sent, and the start time.
    tokens: Option<(PacedTokens, usize, Instant)>,
    is_ended: bool,
    outlet: OutgoingBytes,
    guard: ResponseEndGuard,
}

/// Bytes to be sent.
struct OutgoingBytes {
    waiting: VecDeque<Bytes>,
    sent: usize,
    cut_at: Option<usize>,
    at_once: Option<usize>,
}

/// Records how the answer ended, regardless of who ends it.
pub(crate) struct ResponseEndGuard {
    shared: Arc<FakeModelsState>,
    number: usize,
    end: ResponseEnd,
}

impl ResponseEndGuard {
    pub(crate) fn new(shared: Arc<FakeModelsState>, number: usize) -> Self {
        Self { shared, number, end: ResponseEnd::Dropped }
    }

    /// Returns the number of the request.
    pub(crate) fn number(&self) -> usize {
        self.number
    }
}

impl Drop for ResponseEndGuard {
    fn drop(&mut self) {
        self.shared.ended(self.number, self.end);
    }
}

/// Next part of a body.
enum NextChunk {
    Bytes(Bytes),
    Continue,
    Cut,
    Done,
}

/// Returns the body of a streamed answer.
pub(crate) fn streamed_body(
    shared: Arc<FakeModelsState>,
    answer: ScriptedResponse,
    writer: StepWriter,
    guard: ResponseEndGuard,
) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
    let state = ResponseStreamState {
        steps: answer.steps.iter().cloned().collect(),
        outlet: OutgoingBytes::new(&answer),
        shared,
        answer,
        writer,
        tokens: None,
        is_ended: false,
        guard,
    };
    stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        loop {
            if let Some(next) = state.outlet.next() {
                match next {
                    Some(bytes) => return Some((Ok(bytes), Some(state))),
                    None => return cut_connection(state).await,
                }
            }
            match state.next().await {
                NextChunk::Bytes(bytes) => state.outlet.put(bytes),
                NextChunk::Continue => {}
                NextChunk::Cut => return cut_connection(state).await,
                NextChunk::Done => {
                    state.guard.end = ResponseEnd::Complete;
                    return None;
                }
            }
        }
    })
}

/// Returns the body of a whole answer or a failure.
pub(crate) fn whole_body(
    text: String,
    answer: &ScriptedResponse,
    guard: ResponseEndGuard,
) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
    let mut outlet = OutgoingBytes::new(answer);
    outlet.put(text.into());
    if answer.steps.contains(&ResponseStep::Cut) {
        outlet.cut_at = Some(outlet.cut_at.unwrap_or(0));
    }
    stream::unfold(Some((outlet, guard)), |state| async move {
        let (mut outlet, mut guard) = state?;
        match outlet.next() {
            None => {
                guard.end = ResponseEnd::Complete;
                None
            }
            Some(Some(bytes)) => Some((Ok(bytes), Some((outlet, guard)))),
            Some(None) => {
                tokio::task::yield_now().await;
                guard.end = ResponseEnd::Cut;
                Some((Err(io::Error::other("cut by the script")), None))
            }
        }
    })
}

async fn cut_connection(
    mut state: ResponseStreamState,
) -> Option<(io::Result<Bytes>, Option<ResponseStreamState>)> {
    // The server first writes the available data, and then gets the error.
    tokio::task::yield_now().await;
    state.guard.end = ResponseEnd::Cut;
    Some((Err(io::Error::other("cut by the script")), None))
}

impl ResponseStreamState {
    async fn next(&mut self) -> NextChunk {
        if let Some(token) = self.next_token().await {
            return NextChunk::Bytes(token);
        }
        let mut out = String::new();
        let Some(step) = self.steps.pop_front() else {
            if std::mem::replace(&mut self.is_ended, true) {
                return NextChunk::Done;
            }
            self.writer.end(&self.answer, &mut out);
            return NextChunk::Bytes(out.into());
        };
        match &step {
            ResponseStep::Gate(name) => {
                // Data before a gate is sent before the gate is reached.
                tokio::task::yield_now().await;
                self.shared.gates.wait_to_pass(name).await;
                NextChunk::Continue
            }
            ResponseStep::Mark(name) => {
                self.shared.mark(name);
                NextChunk::Continue
            }
            ResponseStep::Silence => std::future::pending().await,
            ResponseStep::Cut => NextChunk::Cut,
            ResponseStep::Tokens(tokens) => {
                self.writer.begin(&mut out);
                self.tokens = Some((tokens.clone(), 0, Instant::now()));
                NextChunk::Bytes(out.into())
            }
            step => {
                self.writer.step(step, &mut out);
                if matches!(step, ResponseStep::Error(_)) {
                    self.steps.clear();
                    self.is_ended = true;
                }
                NextChunk::Bytes(out.into())
            }
        }
    }

    async fn next_token(&mut self) -> Option<Bytes> {
        let (tokens, sent, since) = self.tokens.as_mut()?;
        if *sent >= tokens.count {
            self.tokens = None;
            return None;
        }
        let due = *sent as f64 / tokens.per_second;
        tokio::time::sleep_until(*since + Duration::from_secs_f64(due)).await;
        let text = token_text(&tokens.text, *sent, self.shared.epoch.elapsed().as_micros());
        *sent += 1;
        let mut out = String::new();
        self.writer.step(&ResponseStep::Text(text), &mut out);
        Some(out.into())
    }
}

impl OutgoingBytes {
    fn new(answer: &ScriptedResponse) -> Self {
        let at_once = answer.bytes_at_once.filter(|bytes| *bytes > 0);
        Self { waiting: VecDeque::new(), sent: 0, cut_at: answer.cut_at, at_once }
    }

    fn put(&mut self, mut bytes: Bytes) {
        if let Some(at_once) = self.at_once {
            while bytes.len() > at_once {
                self.waiting.push_back(bytes.split_to(at_once));
            }
        }
        if !bytes.is_empty() {
            self.waiting.push_back(bytes);
        }
    }

    /// Returns the next bytes, or the cut; `None` if more must be written first.
    fn next(&mut self) -> Option<Option<Bytes>> {
        let left = self.cut_at.map(|cut_at| cut_at.saturating_sub(self.sent));
        if left == Some(0) {
            return Some(None);
        }
        let mut bytes = self.waiting.pop_front()?;
        if let Some(left) = left {
            bytes.truncate(left);
        }
        self.sent += bytes.len();
        Some(Some(bytes))
    }
}
