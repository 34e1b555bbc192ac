//! Queue of pending approvals, shown one at a time. It has no access to terminal, gateway or clock: events and typed
//! lines go in, lines to print and answers to send come out.

use std::collections::{HashMap, VecDeque};

use toolway_api::approvals::{AnswerApprovalRequest, ApprovalResolved, PendingApproval};

use super::answer_option::{answer_options, match_answer};
use super::approval::{describe_answer, describe_resolution, requested_permission};
use crate::error::CliError;
use crate::print::style::Style;
use crate::print::{escape, time};

/// Lines typed sooner than this after an approval was shown are not taken as its answer, in milliseconds.
const MIN_ANSWER_DELAY_MS: i64 = 500;
/// Maximum number of characters of the arguments to show.
const MAX_ARGUMENTS_CHARS: usize = 2000;

/// Result of a step of the queue.
#[derive(Debug, Default)]
pub(super) struct QueueOutput {
    /// Lines to print, escaped.
    pub(super) lines: Vec<String>,
    /// Answer to send.
    pub(super) answer: Option<(PendingApproval, AnswerApprovalRequest)>,
}

/// Pending approvals of one person.
#[derive(Debug)]
pub(super) struct ApprovalQueue {
    is_owner: bool,
    labels: HashMap<String, String>,
    colour: bool,
    /// The first one is shown now.
    open: VecDeque<PendingApproval>,
    /// Time when the first one was first shown, in milliseconds since the epoch.
    shown_ms: i64,
    input_ended: bool,
}

impl ApprovalQueue {
    pub(super) fn new(is_owner: bool, labels: HashMap<String, String>, colour: bool) -> Self {
        Self { is_owner, labels, colour, open: VecDeque::new(), shown_ms: 0, input_ended: false }
    }

    /// True if the queue waits for an answer.
    pub(super) fn is_asking(&self) -> bool {
        !self.open.is_empty() && !self.input_ended
    }

    /// Adds an approval.
    pub(super) fn add_approval(&mut self, question: PendingApproval, now_ms: i64) -> QueueOutput {
        let mut turn = QueueOutput::default();
        // The gateway sends it again after a lost event, and twice to a principal that watches and calls at once.
        if self.open.iter().any(|open| open.id == question.id) {
            return turn;
        }
        self.open.push_back(question);
        match self.open.len() {
            1 => self.show_next(&mut turn, now_ms),
            2 => turn.lines.push(self.paint_faint("(1 more approval is pending)")),
            waiting => {
                turn.lines.push(self.paint_faint(&format!("({} more approvals are pending)", waiting - 1)))
            }
        }
        turn
    }

    /// Removes an approval that has ended. Prints nothing if it was answered here.
    pub(super) fn close_approval(&mut self, over: &ApprovalResolved, now_ms: i64) -> QueueOutput {
        let mut turn = QueueOutput::default();
        let Some(at) = self.open.iter().position(|open| open.id == over.id) else { return turn };
        let Some(question) = self.open.remove(at) else { return turn };
        let words = escape::line(&format!("{}: {}", question.tool_id, describe_resolution(over)));
        turn.lines.push(self.paint_faint(&format!("({words})")));
        if at == 0 {
            self.show_next(&mut turn, now_ms);
        }
        turn
    }

    /// Handles a typed line.
    pub(super) fn handle_line(&mut self, line: &str, now_ms: i64) -> QueueOutput {
        let mut turn = QueueOutput::default();
        let Some(question) = self.open.front() else { return turn };
        if (0..MIN_ANSWER_DELAY_MS).contains(&now_ms.saturating_sub(self.shown_ms)) {
            turn.lines.push(
                self.note_line("ignored: you typed this before the question appeared. Please answer again:"),
            );
            self.show(&mut turn, now_ms);
            return turn;
        }
        let Some(answer) = match_answer(&answer_options(question, self.is_owner), line) else {
            turn.lines.push(self.choices_line(question, now_ms));
            return turn;
        };
        turn.answer = self.open.pop_front().map(|question| (question, answer));
        turn
    }

    /// Handles an answer that the gateway accepted.
    pub(super) fn handle_accepted(
        &mut self,
        question: &PendingApproval,
        answer: &AnswerApprovalRequest,
        now_ms: i64,
    ) -> QueueOutput {
        let mut turn = QueueOutput::default();
        let words = format!("{}: {}", question.tool_id, describe_answer(*answer));
        turn.lines.push(self.paint_faint(&escape::line(&words)));
        self.show_next(&mut turn, now_ms);
        turn
    }

    /// Handles an answer that the gateway rejected. Asks again, unless the approval has ended.
    pub(super) fn handle_rejected(
        &mut self,
        question: PendingApproval,
        failure: &CliError,
        now_ms: i64,
    ) -> QueueOutput {
        let mut turn = QueueOutput::default();
        turn.lines.push(self.note_line(&escape::line(failure.message())));
        if failure.code() != "approval_not_pending" {
            self.open.push_front(question);
        }
        self.show_next(&mut turn, now_ms);
        turn
    }

    /// Handles the end of standard input.
    pub(super) fn handle_input_end(&mut self) -> QueueOutput {
        self.input_ended = true;
        let note = "the input ended. To answer, use `toolway approvals answer`";
        QueueOutput { lines: vec![self.note_line(note)], answer: None }
    }

    /// Shows the approval that is now the first.
    fn show_next(&mut self, turn: &mut QueueOutput, now_ms: i64) {
        self.shown_ms = now_ms;
        self.show(turn, now_ms);
    }

    /// Shows the first approval, if there is one.
    fn show(&self, turn: &mut QueueOutput, now_ms: i64) {
        let Some(question) = self.open.front() else { return };
        turn.lines.push(format!(
            "{} {}",
            Style::Warning.paint("?", self.colour),
            escape::line(&question.reason)
        ));
        let mut fields = vec![
            ("tool", Style::Name.paint(&escape::line(&question.tool_id), self.colour)),
            ("wants", escape::line(&requested_permission(question))),
            ("caller", self.caller_label(question)),
        ];
        fields.extend(question.session_id.as_ref().map(|session| ("session", escape::line(session))));
        fields.push(("arguments", shortened_arguments(question)));
        turn.lines.extend(fields.into_iter().map(|(label, value)| {
            let padding = " ".repeat(10_usize.saturating_sub(label.len()));
            format!("  {}{padding}{value}", Style::Label.paint(label, self.colour))
        }));
        turn.lines.push(self.choices_line(question, now_ms));
    }

    fn caller_label(&self, question: &PendingApproval) -> String {
        let mut caller = match self.labels.get(&question.principal) {
            Some(label) if !label.is_empty() => format!("{label} ({})", question.principal),
            _ => question.principal.clone(),
        };
        if let Some(agent) = &question.agent {
            caller.push_str(&format!(", agent {agent}"));
        }
        escape::line(&caller)
    }

    fn choices_line(&self, question: &PendingApproval, now_ms: i64) -> String {
        let shown: Vec<_> = answer_options(question, self.is_owner).into_iter().map(|it| it.label).collect();
        #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
        let left = time::format_duration(question.expires_ms.saturating_sub(now_ms).max(0) as f64);
        let question = format!("{}?", shown.join(", "));
        format!("  {} {}", Style::Hint.paint(&question, self.colour), self.paint_faint(&format!("({left})")))
    }

    fn paint_faint(&self, text: &str) -> String {
        Style::Faint.paint(text, self.colour)
    }

    fn note_line(&self, text: &str) -> String {
        format!("{} {text}", Style::Warning.paint("note:", self.colour))
    }
}

fn shortened_arguments(question: &PendingApproval) -> String {
    let shown = escape::line(question.arguments.get());
    match shown.char_indices().nth(MAX_ARGUMENTS_CHARS) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None => shown,
    }
}

#[cfg(test)]
mod tests;
