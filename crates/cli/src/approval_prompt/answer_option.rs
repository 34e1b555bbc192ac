//! Which answers a person is offered: those that the gateway would take from this person for this question.

use toolway_api::approvals::{AnswerApprovalRequest, ApprovalDecision, ApprovalScope, PendingApproval};

/// One answer that may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerOption {
    /// The letter to type.
    key: char,
    /// The whole word, which does as well.
    word: &'static str,
    /// How it is shown, the letter in brackets.
    pub(super) label: &'static str,
    pub(super) answer: AnswerApprovalRequest,
}

const fn answer_option(
    key: char,
    word: &'static str,
    shown: &'static str,
    decision: ApprovalDecision,
    scope: ApprovalScope,
) -> AnswerOption {
    AnswerOption { key, word, label: shown, answer: AnswerApprovalRequest { decision, scope } }
}

const ONCE: AnswerOption =
    answer_option('g', "grant", "[g]rant once", ApprovalDecision::Granted, ApprovalScope::Once);
const SESSION: AnswerOption =
    answer_option('s', "session", "for this [s]ession", ApprovalDecision::Granted, ApprovalScope::Session);
const AGENT: AnswerOption =
    answer_option('t', "agent", "for this agen[t]", ApprovalDecision::Granted, ApprovalScope::Agent);
const ALWAYS: AnswerOption =
    answer_option('a', "always", "[a]lways", ApprovalDecision::Granted, ApprovalScope::Always);
const ACCEPT: AnswerOption = answer_option(
    'a',
    "accept",
    "[a]ccept it as it is now",
    ApprovalDecision::Granted,
    ApprovalScope::Always,
);
const DENY: AnswerOption =
    answer_option('d', "deny", "[d]eny", ApprovalDecision::Denied, ApprovalScope::Once);
const NEVER: AnswerOption =
    answer_option('n', "never", "[n]ever", ApprovalDecision::DeniedAlways, ApprovalScope::Always);
const NEVER_HERE: AnswerOption = answer_option(
    'n',
    "never",
    "[n]ever in this session",
    ApprovalDecision::DeniedAlways,
    ApprovalScope::Session,
);

/// The answers to a question, those that grant first.
pub(super) fn answer_options(question: &PendingApproval, is_owner: bool) -> Vec<AnswerOption> {
    let has_session = question.session_id.is_some();
    if question.changed_tool {
        // What was said of the old tool is not kept for the new one: it is this once, or accepted.
        return vec![ONCE, ACCEPT, DENY];
    }
    let kept = |wanted: bool, offer: AnswerOption| wanted.then_some(offer);
    [
        Some(ONCE),
        kept(has_session, SESSION),
        kept(is_owner && question.agent.is_some(), AGENT),
        kept(is_owner, ALWAYS),
        Some(DENY),
        if is_owner { Some(NEVER) } else { kept(has_session, NEVER_HERE) },
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The answer that was typed.
pub(super) fn match_answer(offers: &[AnswerOption], typed: &str) -> Option<AnswerApprovalRequest> {
    let typed = typed.trim().to_lowercase();
    let fits = |offer: &&AnswerOption| typed == offer.word || typed.chars().eq([offer.key]);
    offers.iter().find(fits).map(|offer| offer.answer)
}

#[cfg(test)]
mod tests;
