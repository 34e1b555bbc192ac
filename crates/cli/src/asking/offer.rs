//! Which answers a person is offered: those that the gateway would take from this person for this question.

use super::question::{Answer, Decision, Question, Scope};

/// One answer that may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    /// The letter to type.
    key: char,
    /// The whole word, which does as well.
    word: &'static str,
    /// How it is shown, the letter in brackets.
    pub(super) shown: &'static str,
    pub(super) answer: Answer,
}

const fn offer(
    key: char,
    word: &'static str,
    shown: &'static str,
    decision: Decision,
    scope: Scope,
) -> Offer {
    Offer { key, word, shown, answer: Answer { decision, scope } }
}

const ONCE: Offer = offer('g', "grant", "[g]rant once", Decision::Granted, Scope::Once);
const SESSION: Offer = offer('s', "session", "for this [s]ession", Decision::Granted, Scope::Session);
const AGENT: Offer = offer('t', "agent", "for this agen[t]", Decision::Granted, Scope::Agent);
const ALWAYS: Offer = offer('a', "always", "[a]lways", Decision::Granted, Scope::Always);
const ACCEPT: Offer = offer('a', "accept", "[a]ccept it as it is now", Decision::Granted, Scope::Always);
const DENY: Offer = offer('d', "deny", "[d]eny", Decision::Denied, Scope::Once);
const NEVER: Offer = offer('n', "never", "[n]ever", Decision::DeniedAlways, Scope::Always);
const NEVER_HERE: Offer =
    offer('n', "never", "[n]ever in this session", Decision::DeniedAlways, Scope::Session);

/// The answers to a question, those that grant first.
pub(super) fn offers(question: &Question, is_owner: bool) -> Vec<Offer> {
    let has_session = question.session.is_some();
    if question.changed_tool {
        // What was said of the old tool is not kept for the new one: it is this once, or accepted.
        return vec![ONCE, ACCEPT, DENY];
    }
    let kept = |wanted: bool, offer: Offer| wanted.then_some(offer);
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
pub(super) fn chosen(offers: &[Offer], typed: &str) -> Option<Answer> {
    let typed = typed.trim().to_lowercase();
    let fits = |offer: &&Offer| typed == offer.word || typed.chars().eq([offer.key]);
    offers.iter().find(fits).map(|offer| offer.answer)
}

#[cfg(test)]
mod tests;
