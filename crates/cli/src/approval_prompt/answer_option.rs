//! Selects the answers to offer: those that the gateway accepts from this person for this approval.

use toolway_api::approvals::{AnswerApprovalRequest, ApprovalDecision, ApprovalScope, PendingApproval};

/// One answer to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerOption {
    /// Letter to type.
    key: char,
    /// Full word, accepted as well.
    word: &'static str,
    /// Text to show, with the letter in brackets.
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

/// Returns the answers to an approval, those that grant first.
pub(super) fn answer_options(question: &PendingApproval, is_owner: bool) -> Vec<AnswerOption> {
    let has_session = question.session_id.is_some();
    if question.changed_tool {
        // Grants for the old version of the tool do not apply to the new one: the answer is for this call, or
        // accepts the tool.
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

/// Returns the answer that the typed text selects.
pub(super) fn match_answer(offers: &[AnswerOption], typed: &str) -> Option<AnswerApprovalRequest> {
    let typed = typed.trim().to_lowercase();
    let fits = |offer: &&AnswerOption| typed == offer.word || typed.chars().eq([offer.key]);
    offers.iter().find(fits).map(|offer| offer.answer)
}

#[cfg(test)]
mod tests;
