//! One answer of a model, as it comes: whoever watches is told, a draft is kept, and what there is when it ends is
//! put together.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::OptionFuture;
use tokio::time::{Instant, sleep, sleep_until};
use toolway_models::{Collected, Collector, ModelError, ModelEvent, ModelStream};

use super::audience::Audience;
use super::stop::{Stop, StopReason};
use crate::event::TurnEvent;

/// How old a draft may be while the answer goes on.
const DRAFT_AGE: Duration = Duration::from_millis(250);
/// What parts the text of one answer from that of the next in the same turn.
const BREAK: &str = "\n\n";

/// Where an answer goes while it comes.
pub(super) struct Listener<'t> {
    pub(super) audience: &'t Audience,
    pub(super) stop: &'t Stop,
    /// When the time of the turn is used up.
    pub(super) until: Option<Instant>,
    /// Keeps the text as it is so far.
    pub(super) draft: &'t (dyn Fn(String) + Send + Sync),
}

/// An answer, or as much of it as came.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) collected: Collected,
    pub(super) ended: AnswerEnd,
    /// How often the model was asked.
    pub(super) attempts: u32,
    pub(super) duration: Duration,
    /// How long until something of it came.
    pub(super) first_word: Option<Duration>,
}

/// Most bytes of an answer's text and thoughts (4 MiB). However it has to be written, it is less than what a message
/// may have.
pub(super) const MAX_ANSWER: usize = 4 << 20;

/// How an answer ended.
#[derive(Debug)]
pub(super) enum AnswerEnd {
    /// It is whole.
    Whole,
    /// The provider failed.
    Failed(ModelError),
    /// It broke off without a word on why.
    BrokeOff,
    /// It is longer than can be kept.
    TooLong,
    /// Somebody ended the turn.
    Stopped(StopReason),
    /// The turn's time is used up.
    OutOfTime,
}

/// What is known of an answer while it comes.
struct Coming {
    collector: Collector,
    began: Instant,
    attempts: u32,
    first_word: Option<Duration>,
    /// Where its text begins in that of the turn.
    place: usize,
    /// Whether there is text of it.
    has_text: bool,
    /// How long text and thoughts are, in bytes.
    bytes: usize,
}

impl Listener<'_> {
    /// Listens to an answer until it ends, in whichever way. The request is over when this returns.
    pub(super) async fn listen(&self, mut answer: ModelStream) -> Answer {
        let mut coming = Coming {
            collector: Collector::default(),
            began: Instant::now(),
            attempts: 1,
            first_word: None,
            place: self.audience.text_len(),
            has_text: false,
            bytes: 0,
        };
        let mut stopped = pin!(self.stop.token().cancelled());
        let mut out_of_time = pin!(OptionFuture::from(self.until.map(sleep_until)));
        let mut draft_due = pin!(sleep(DRAFT_AGE));
        let mut has_undrafted = false;
        let ended = loop {
            let event = tokio::select! {
                biased;
                () = &mut stopped => break AnswerEnd::Stopped(self.reason()),
                Some(()) = &mut out_of_time, if self.until.is_some() => break AnswerEnd::OutOfTime,
                () = &mut draft_due, if has_undrafted => {
                    has_undrafted = false;
                    (self.draft)(self.audience.text_from(coming.place));
                    continue;
                }
                event = answer.next() => event,
            };
            let event = match event {
                None => break AnswerEnd::BrokeOff,
                Some(Err(error)) => break AnswerEnd::Failed(error),
                Some(Ok(event)) => event,
            };
            if matches!(event, ModelEvent::Text(_)) && !has_undrafted {
                has_undrafted = true;
                draft_due.as_mut().reset(Instant::now() + DRAFT_AGE);
            }
            let is_last = matches!(event, ModelEvent::Finished(_));
            let is_behind = self.take(event, &mut coming);
            if is_last {
                break AnswerEnd::Whole;
            }
            if coming.bytes > MAX_ANSWER {
                break AnswerEnd::TooLong;
            }
            if is_behind {
                tokio::select! {
                    biased;
                    () = &mut stopped => break AnswerEnd::Stopped(self.reason()),
                    () = self.audience.caught_up() => {}
                }
            }
        };
        drop(answer);
        Answer {
            collected: coming.collector.end(),
            ended,
            attempts: coming.attempts,
            duration: coming.began.elapsed(),
            first_word: coming.first_word,
        }
    }

    fn reason(&self) -> StopReason {
        self.stop.reason().unwrap_or(StopReason::Aborted)
    }

    /// Takes the next event. Answers whether a viewer is behind.
    fn take(&self, event: ModelEvent, coming: &mut Coming) -> bool {
        let is_word =
            !matches!(event, ModelEvent::Retrying { .. } | ModelEvent::Started { .. } | ModelEvent::Usage(_));
        if is_word && coming.first_word.is_none() {
            coming.first_word = Some(coming.began.elapsed());
        }
        coming.collector.take(&event);
        if let ModelEvent::Text(text) | ModelEvent::Thinking(text) = &event {
            coming.bytes = coming.bytes.saturating_add(text.len());
        }
        match event {
            ModelEvent::Text(text) if text.is_empty() => false,
            ModelEvent::Text(text) => self.take_text(text, coming),
            ModelEvent::Thinking(text) if !text.is_empty() => self.audience.offer(TurnEvent::Thinking(text)),
            ModelEvent::Retrying { attempt, wait, error } => {
                coming.attempts = attempt.saturating_add(1);
                coming.collector = Collector::default();
                coming.bytes = 0;
                let taken_back = self.audience.take_back(coming.place);
                coming.has_text = false;
                self.audience.offer(TurnEvent::Retrying { attempt, wait, error }) || taken_back
            }
            _ => false,
        }
    }

    fn take_text(&self, text: String, coming: &mut Coming) -> bool {
        if !coming.has_text {
            coming.has_text = true;
            if self.audience.wants_break() {
                self.audience.offer(TurnEvent::Chunk(BREAK.to_owned()));
                coming.place = self.audience.text_len();
            }
        }
        self.audience.offer(TurnEvent::Chunk(text))
    }
}
