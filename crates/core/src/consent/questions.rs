//! The open questions. Each waits by itself, so several can be open at a time, of one call's door or of many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{broadcast, oneshot};
use toolway_types::Principal;

use super::question::{Answer, CannotAnswer, Choice, Question, QuestionId, QuestionKind, Scope};

/// Most questions open at a time.
const MAX_OPEN: usize = 1000;
/// Most of them that one principal's calls ask.
const MAX_OPEN_EACH: usize = 100;
/// Events that a slow watcher may be behind.
const BEHIND: usize = 256;

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// Somebody answered.
    Answered(Answer),
    /// Nobody did in time.
    Expired,
    /// Its call ended before.
    Withdrawn,
}

/// Something happened to a question.
#[derive(Debug, Clone)]
pub enum QuestionEvent {
    /// It was asked.
    Asked(Arc<Question>),
    /// It is over.
    Over(Arc<Question>, Closed),
}

/// Shows the questions of one call that its caller may answer to that caller. Must not block.
pub type QuestionSink = Arc<dyn Fn(&QuestionEvent) + Send + Sync>;

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Somebody answered.
    Answered(Answer),
    /// Nobody is there who may answer.
    NobodyThere,
    /// Too many questions are open already.
    TooMany,
    /// Nobody answered in time.
    NoAnswer,
}

/// The open questions.
#[derive(Debug)]
pub struct Questions {
    open: Mutex<BTreeMap<QuestionId, Open>>,
    events: broadcast::Sender<QuestionEvent>,
    watchers: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Open {
    question: Arc<Question>,
    answer: oneshot::Sender<Answer>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { open: Mutex::default(), events: broadcast::Sender::new(BEHIND), watchers: Arc::default() }
    }
}

/// Somebody who sees all questions and may answer them.
#[derive(Debug)]
pub struct Watching {
    /// The questions that are open already.
    pub open: Vec<Arc<Question>>,
    /// What happens from now on.
    pub events: broadcast::Receiver<QuestionEvent>,
    watchers: Arc<AtomicUsize>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes a question away at its end, however that comes.
struct Withdraw<'q> {
    questions: &'q Questions,
    question: Arc<Question>,
    sink: Option<&'q QuestionSink>,
    closed: Closed,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.questions.open.lock().remove(&self.question.id);
        let event = QuestionEvent::Over(self.question.clone(), self.closed.clone());
        if let Some(sink) = self.sink {
            sink(&event);
        }
        self.questions.tell_watchers(&event);
    }
}

impl Questions {
    /// The open questions that a principal may see, oldest first.
    #[must_use]
    pub fn visible_to(&self, principal: &Principal) -> Vec<Arc<Question>> {
        let open = self.open.lock();
        let all = open.values().map(|open| &open.question);
        all.filter(|question| question.is_visible_to(principal)).cloned().collect()
    }

    /// Sees all questions, for an owner. While somebody does, questions wait to be answered.
    #[must_use]
    pub fn watch(&self) -> Watching {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        // Under the lock, so that each question is in one of the two.
        let open = self.open.lock();
        Watching {
            events: self.events.subscribe(),
            open: open.values().map(|open| open.question.clone()).collect(),
            watchers: self.watchers.clone(),
        }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// [`CannotAnswer`]; the question stays open.
    pub fn answer(
        &self,
        id: QuestionId,
        by: &Principal,
        choice: Choice,
        scope: Scope,
    ) -> Result<Arc<Question>, CannotAnswer> {
        let mut open = self.open.lock();
        let found = open.get(&id).ok_or(CannotAnswer::NotOpen)?;
        found.question.may_answer(by, scope)?;
        let Some(found) = open.remove(&id) else { return Err(CannotAnswer::NotOpen) };
        drop(open);
        let (choice, scope) = meant(choice, scope, by, &found.question);
        let answer = Answer { choice, scope, by: by.id.clone() };
        // Its call may end at this moment; then nothing waits for the answer any more.
        found.answer.send(answer).map_err(|_| CannotAnswer::NotOpen)?;
        Ok(found.question)
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.lock().len()
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks, and waits for the answer. `sink` reaches the caller, where it is there and may answer.
    pub(crate) async fn ask(
        &self,
        question: Question,
        sink: Option<&QuestionSink>,
        patience: Duration,
    ) -> Asked {
        let question = Arc::new(question);
        let (answer, answered) = oneshot::channel();
        let asked = QuestionEvent::Asked(question.clone());
        {
            let mut open = self.open.lock();
            if sink.is_none() && self.watchers.load(Ordering::SeqCst) == 0 {
                return Asked::NobodyThere;
            }
            let of_principal = open.values().filter(|open| open.question.principal == question.principal);
            if open.len() >= MAX_OPEN || of_principal.take(MAX_OPEN_EACH).count() == MAX_OPEN_EACH {
                return Asked::TooMany;
            }
            open.insert(question.id, Open { question: question.clone(), answer });
            self.tell_watchers(&asked);
        }
        let mut withdraw = Withdraw { questions: self, question, sink, closed: Closed::Withdrawn };
        // Not under the lock: who is told may answer at once.
        if let Some(sink) = sink {
            sink(&asked);
        }
        match tokio::time::timeout(patience, answered).await {
            Ok(Ok(answer)) => {
                withdraw.closed = Closed::Answered(answer.clone());
                Asked::Answered(answer)
            }
            _ => {
                withdraw.closed = Closed::Expired;
                Asked::NoAnswer
            }
        }
    }

    fn tell_watchers(&self, event: &QuestionEvent) {
        if self.watchers.load(Ordering::SeqCst) > 0 {
            // The last watcher may have just gone.
            let _ = self.events.send(event.clone());
        }
    }
}

/// What an answer means: who says no for good without saying for how long says it for as long as they may.
fn meant(choice: Choice, scope: Scope, by: &Principal, question: &Question) -> (Choice, Scope) {
    match (choice, scope) {
        // Only calls as they are now are asked about, so there is nothing to keep.
        (Choice::DeniedAlways, _) if question.kind == QuestionKind::ChangedTool => (Choice::Denied, scope),
        (Choice::DeniedAlways, Scope::Once) if by.role.is_owner() => (choice, Scope::Always),
        (Choice::DeniedAlways, Scope::Once) if question.session.is_some() => (choice, Scope::Session),
        (Choice::DeniedAlways, Scope::Once) => (Choice::Denied, scope),
        _ => (choice, scope),
    }
}

#[cfg(test)]
mod tests;
