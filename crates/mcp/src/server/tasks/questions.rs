//! The open questions of one task: those of its tool, and those of the gateway. Several can be open at once, each
//! under a key that the task never uses again (tasks extension, "Task Update Requests").

use std::collections::{BTreeMap, HashSet};

use rmcp::model::{InputRequest, InputRequests, InputResponses};

use crate::server::pending_requests::PendingAnswer;
use crate::server::principal_quota::QuotaPermit;

/// Maximum number of open questions of one task.
const MAX_OPEN: usize = 16;
/// Maximum number of questions of one task in its lifetime.
const MAX_ASKED: usize = 256;

/// The open questions of a task.
#[derive(Default)]
pub(super) struct TaskQuestions {
    groups: Vec<QuestionGroup>,
    used_keys: HashSet<String>,
}

/// Questions that were asked together. Their asker gets all answers at once.
struct QuestionGroup {
    pending: PendingAnswer,
    /// The questions without an answer, by the task's key.
    open: BTreeMap<String, OpenTaskQuestion>,
    /// The answers so far, by the asker's key.
    received: InputResponses,
    _permit: QuotaPermit,
}

struct OpenTaskQuestion {
    /// The key that the asker used. It is unique only among the questions of one group.
    asker_key: String,
    request: InputRequest,
}

/// A group whose questions all have answers.
pub(super) struct AnsweredGroup {
    pub(super) pending: PendingAnswer,
    pub(super) answers: InputResponses,
}

impl TaskQuestions {
    /// Adds questions that are asked together.
    ///
    /// # Errors
    /// The receiver of the answers, if the task has too many questions.
    pub(super) fn add(
        &mut self,
        requests: InputRequests,
        pending: PendingAnswer,
        permit: QuotaPermit,
    ) -> Result<(), PendingAnswer> {
        self.remove_withdrawn();
        let open: usize = self.groups.iter().map(|group| group.open.len()).sum();
        if requests.is_empty()
            || open + requests.len() > MAX_OPEN
            || self.used_keys.len() + requests.len() > MAX_ASKED
        {
            return Err(pending);
        }
        let open = requests.into_iter().map(|(asker_key, request)| {
            (self.unused_key(&asker_key), OpenTaskQuestion { asker_key, request })
        });
        let open = open.collect();
        self.groups.push(QuestionGroup { pending, open, received: InputResponses::new(), _permit: permit });
        Ok(())
    }

    /// Takes the answers to open questions, and ignores others. Returns the groups that are complete now.
    pub(super) fn answer(&mut self, answers: InputResponses) -> Vec<AnsweredGroup> {
        self.remove_withdrawn();
        for (key, answer) in answers {
            let group = self.groups.iter_mut().find(|group| group.open.contains_key(&key));
            let Some(group) = group else { continue };
            if let Some(question) = group.open.remove(&key) {
                group.received.insert(question.asker_key, answer);
            }
        }
        let complete = self.groups.extract_if(.., |group| group.open.is_empty());
        complete.map(|group| AnsweredGroup { pending: group.pending, answers: group.received }).collect()
    }

    /// The open questions by key. Withdrawn ones are removed before.
    pub(super) fn open_requests(&mut self) -> BTreeMap<&str, &InputRequest> {
        self.remove_withdrawn();
        let open = self.groups.iter().flat_map(|group| &group.open);
        open.map(|(key, question)| (key.as_str(), &question.request)).collect()
    }

    /// Removes the questions whose asker does not wait any more: it gave up, or another person answered.
    fn remove_withdrawn(&mut self) {
        self.groups.retain(|group| !group.pending.is_closed());
    }

    /// Reserves the asker's key, with a number if the task has used it before.
    fn unused_key(&mut self, asker_key: &str) -> String {
        let mut key = asker_key.to_owned();
        let mut number = 2;
        while !self.used_keys.insert(key.clone()) {
            key = format!("{asker_key}-{number}");
            number += 1;
        }
        key
    }
}

#[cfg(test)]
mod tests;
