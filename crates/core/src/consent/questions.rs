//! The open questions. Each waits by itself, so several can be open at a time, of one call's door or of many.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{broadcast, oneshot};
use toolway_types::Principal;

use super::question::{
    AnswerError, ConsentAnswer, ConsentDecision, ConsentScope, Question, QuestionId, QuestionKind,
};

/// Most questions open at a time.
const MAX_OPEN: usize = 1000;
/// Most of them that one principal's calls ask.
const MAX_OPEN_PER_PRINCIPAL: usize = 100;
/// Events that a slow watcher may be behind.
const EVENT_BACKLOG: usize = 256;

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionCloseReason {
    /// Somebody answered.
    Answered(ConsentAnswer),
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
    Closed(Arc<Question>, QuestionCloseReason),
}

/// Shows the questions of one call that its caller may answer to that caller. Must not block.
pub type QuestionSink = Arc<dyn Fn(&QuestionEvent) + Send + Sync>;

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskOutcome {
    /// Somebody answered.
    Answered(ConsentAnswer),
    /// Nobody is there who may answer.
    NoResponder,
    /// Too many questions are open already.
    TooManyOpen,
    /// Nobody answered in time.
    TimedOut,
}

/// The open questions.
#[derive(Debug)]
pub struct OpenQuestions {
    open: Mutex<BTreeMap<QuestionId, OpenQuestion>>,
    events: broadcast::Sender<QuestionEvent>,
    watchers: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct OpenQuestion {
    question: Arc<Question>,
    answer: oneshot::Sender<ConsentAnswer>,
}

impl Default for OpenQuestions {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            events: broadcast::Sender::new(EVENT_BACKLOG),
            watchers: Arc::default(),
        }
    }
}

/// Somebody who sees all questions and may answer them.
#[derive(Debug)]
pub struct QuestionWatcher {
    /// The questions that are open already.
    pub open: Vec<Arc<Question>>,
    /// What happens from now on.
    pub events: broadcast::Receiver<QuestionEvent>,
    watchers: Arc<AtomicUsize>,
}

impl Drop for QuestionWatcher {
    fn drop(&mut self) {
        self.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes a question away at its end, however that comes.
struct OpenQuestionGuard<'q> {
    questions: &'q OpenQuestions,
    question: Arc<Question>,
    sink: Option<&'q QuestionSink>,
    close_reason: QuestionCloseReason,
}

impl Drop for OpenQuestionGuard<'_> {
    fn drop(&mut self) {
        self.questions.open.lock().remove(&self.question.id);
        let event = QuestionEvent::Closed(self.question.clone(), self.close_reason.clone());
        if let Some(sink) = self.sink {
            sink(&event);
        }
        self.questions.notify_watchers(&event);
    }
}

impl OpenQuestions {
    /// The open questions that a principal may see, oldest first.
    #[must_use]
    pub fn visible_to(&self, principal: &Principal) -> Vec<Arc<Question>> {
        let open = self.open.lock();
        let all = open.values().map(|open| &open.question);
        all.filter(|question| question.is_visible_to(principal)).cloned().collect()
    }

    /// Sees all questions, for an owner. While somebody does, questions wait to be answered.
    #[must_use]
    pub fn watch(&self) -> QuestionWatcher {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        // Under the lock, so that each question is in one of the two.
        let open = self.open.lock();
        QuestionWatcher {
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
        choice: ConsentDecision,
        scope: ConsentScope,
    ) -> Result<Arc<Question>, AnswerError> {
        let mut open = self.open.lock();
        let found = open.get(&id).ok_or(AnswerError::NotOpen)?;
        found.question.check_answer(by, scope)?;
        let Some(found) = open.remove(&id) else { return Err(AnswerError::NotOpen) };
        drop(open);
        let (choice, scope) = effective_answer(choice, scope, by, &found.question);
        let answer = ConsentAnswer { choice, scope, answered_by: by.id.clone() };
        // Its call may end at this moment; then nothing waits for the answer any more.
        found.answer.send(answer).map_err(|_| AnswerError::NotOpen)?;
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
        timeout: Duration,
    ) -> AskOutcome {
        let question = Arc::new(question);
        let (answer, answered) = oneshot::channel();
        let asked = QuestionEvent::Asked(question.clone());
        {
            let mut open = self.open.lock();
            if sink.is_none() && self.watchers.load(Ordering::SeqCst) == 0 {
                return AskOutcome::NoResponder;
            }
            let of_principal = open.values().filter(|open| open.question.principal == question.principal);
            if open.len() >= MAX_OPEN
                || of_principal.take(MAX_OPEN_PER_PRINCIPAL).count() == MAX_OPEN_PER_PRINCIPAL
            {
                return AskOutcome::TooManyOpen;
            }
            open.insert(question.id, OpenQuestion { question: question.clone(), answer });
            self.notify_watchers(&asked);
        }
        let mut withdraw = OpenQuestionGuard {
            questions: self,
            question,
            sink,
            close_reason: QuestionCloseReason::Withdrawn,
        };
        // Not under the lock: who is told may answer at once.
        if let Some(sink) = sink {
            sink(&asked);
        }
        match tokio::time::timeout(timeout, answered).await {
            Ok(Ok(answer)) => {
                withdraw.close_reason = QuestionCloseReason::Answered(answer.clone());
                AskOutcome::Answered(answer)
            }
            _ => {
                withdraw.close_reason = QuestionCloseReason::Expired;
                AskOutcome::TimedOut
            }
        }
    }

    fn notify_watchers(&self, event: &QuestionEvent) {
        if self.watchers.load(Ordering::SeqCst) > 0 {
            // The last watcher may have just gone.
            let _ = self.events.send(event.clone());
        }
    }
}

/// What an answer means: who says no for good without saying for how long says it for as long as they may.
fn effective_answer(
    choice: ConsentDecision,
    scope: ConsentScope,
    by: &Principal,
    question: &Question,
) -> (ConsentDecision, ConsentScope) {
    match (choice, scope) {
        // Only calls as they are now are asked about, so there is nothing to keep.
        (ConsentDecision::DeniedAlways, _) if question.kind == QuestionKind::ChangedTool => {
            (ConsentDecision::Denied, scope)
        }
        (ConsentDecision::DeniedAlways, ConsentScope::Once) if by.role.is_owner() => {
            (choice, ConsentScope::Always)
        }
        (ConsentDecision::DeniedAlways, ConsentScope::Once) if question.session.is_some() => {
            (choice, ConsentScope::Session)
        }
        (ConsentDecision::DeniedAlways, ConsentScope::Once) => (ConsentDecision::Denied, scope),
        _ => (choice, scope),
    }
}

#[cfg(test)]
mod tests;
