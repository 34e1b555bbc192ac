//! The open questions. Each waits on its own, so several can be open at once, from one or several entry
//! points.

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

/// Maximum number of open questions.
const MAX_OPEN: usize = 1000;
/// Maximum number of open questions for one principal's calls.
const MAX_OPEN_PER_PRINCIPAL: usize = 100;
/// Number of events that a slow watcher may lag behind.
const EVENT_BACKLOG: usize = 256;

/// Reason why a question closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionCloseReason {
    /// A person answered.
    Answered(ConsentAnswer),
    /// Nobody answered in time.
    Expired,
    /// Its call ended.
    Withdrawn,
}

/// An event of a question.
#[derive(Debug, Clone)]
pub enum QuestionEvent {
    /// The question was opened.
    Asked(Arc<Question>),
    /// The question was closed.
    Closed(Arc<Question>, QuestionCloseReason),
}

/// Shows the questions of one call to its caller, if the caller may answer them. Must not block.
pub type QuestionSink = Arc<dyn Fn(&QuestionEvent) + Send + Sync>;

/// Receivers of the events of one question, apart from the owner's watchers.
#[derive(Clone, Copy, Default)]
pub(crate) struct QuestionAudience<'q> {
    /// Reaches the caller, if it is connected and may answer.
    pub(crate) sink: Option<&'q QuestionSink>,
    /// Learns that the question is open, and cannot answer.
    pub(crate) observer: Option<&'q QuestionSink>,
}

impl QuestionAudience<'_> {
    fn send(self, event: &QuestionEvent) {
        for sink in self.sink.into_iter().chain(self.observer) {
            sink(event);
        }
    }
}

/// Result of asking a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskOutcome {
    /// A person answered.
    Answered(ConsentAnswer),
    /// Nobody who may answer is connected.
    NoResponder,
    /// Too many questions are open.
    TooManyOpen,
    /// Nobody answered in time.
    TimedOut,
}

/// The set of open questions.
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

/// A watcher that sees all questions and may answer them.
#[derive(Debug)]
pub struct QuestionWatcher {
    /// Questions that are already open.
    pub open: Vec<Arc<Question>>,
    /// Later events.
    pub events: broadcast::Receiver<QuestionEvent>,
    watchers: Arc<AtomicUsize>,
}

impl Drop for QuestionWatcher {
    fn drop(&mut self) {
        self.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Removes a question when its call ends for any reason.
struct OpenQuestionGuard<'q> {
    questions: &'q OpenQuestions,
    question: Arc<Question>,
    audience: QuestionAudience<'q>,
    close_reason: QuestionCloseReason,
}

impl Drop for OpenQuestionGuard<'_> {
    fn drop(&mut self) {
        self.questions.open.lock().remove(&self.question.id);
        let event = QuestionEvent::Closed(self.question.clone(), self.close_reason.clone());
        self.audience.send(&event);
        self.questions.notify_watchers(&event);
    }
}

impl OpenQuestions {
    /// Lists the open questions that a principal may see, oldest first.
    #[must_use]
    pub fn visible_to(&self, principal: &Principal) -> Vec<Arc<Question>> {
        let open = self.open.lock();
        let all = open.values().map(|open| &open.question);
        all.filter(|question| question.is_visible_to(principal)).cloned().collect()
    }

    /// Subscribes to all questions, for an owner. While a watcher exists, questions wait for an answer.
    #[must_use]
    pub fn watch(&self) -> QuestionWatcher {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        // Under the lock, so that each question is either in the list or among the events.
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
    /// [`AnswerError`]. Then the question stays open.
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
        // If its call ends at this moment, nothing waits for the answer.
        found.answer.send(answer).map_err(|_| AnswerError::NotOpen)?;
        Ok(found.question)
    }

    /// True if this question waits for an answer.
    #[must_use]
    pub fn is_open(&self, id: QuestionId) -> bool {
        self.open.lock().contains_key(&id)
    }

    /// Number of open questions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.lock().len()
    }

    /// True if no question is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Opens a question and waits for the answer.
    pub(crate) async fn ask(
        &self,
        question: Question,
        audience: QuestionAudience<'_>,
        timeout: Duration,
    ) -> AskOutcome {
        let question = Arc::new(question);
        let (answer, answered) = oneshot::channel();
        let asked = QuestionEvent::Asked(question.clone());
        {
            let mut open = self.open.lock();
            if audience.sink.is_none() && self.watchers.load(Ordering::SeqCst) == 0 {
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
            audience,
            close_reason: QuestionCloseReason::Withdrawn,
        };
        // Not under the lock, because the sink may answer at once.
        audience.send(&asked);
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
            // The last watcher may have disconnected.
            let _ = self.events.send(event.clone());
        }
    }
}

/// The effective answer: a permanent denial without a scope gets the longest scope that the person may
/// choose.
fn effective_answer(
    choice: ConsentDecision,
    scope: ConsentScope,
    by: &Principal,
    question: &Question,
) -> (ConsentDecision, ConsentScope) {
    match (choice, scope) {
        // Such a question concerns one state of the tool, so no grant is stored.
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
