//! Chooses the place where a conversation is cut, and the input of its summary.

use toolway_models::{MessagePart, MessageRole, ModelMessage};

use super::fraction_of;
use super::measured_history::MeasuredHistory;
use super::token_counter::TokenCounter;

/// Text instead of messages that are omitted without a summary.
pub(super) const LEFT_OUT: &str = "[Older messages of this conversation are left out here to make room.]";

/// Fraction of the context for the messages that stay.
const KEPT_FRACTION: f64 = 0.5;
/// Fraction of the context for the messages that are summarized.
const SUMMARISED_FRACTION: f64 = 0.8;
/// Approximate size of a summary in tokens.
const SUMMARY_TOKENS: u64 = 1500;
/// Maximum length of each message's excerpt in the text without a summary, in characters.
const GIST_CHARS: usize = 200;
/// Maximum number of messages in that text.
const GIST_MESSAGES: usize = 20;

/// A request for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRequest {
    /// Number of the last message that the summary covers.
    pub through: u64,
    /// Input of the summary: the messages without their results, as many as the model can read at once. An
    /// earlier summary comes first.
    pub messages: Vec<ModelMessage>,
}

/// Returns the index before which everything is summarized, so that the rest takes half of the context. It is
/// never between a call and its result, and never includes all of the newest rounds. `None` if nothing can be
/// summarized.
pub(super) fn cut_point(
    pieces: &MeasuredHistory<'_>,
    base: u64,
    room: u64,
    shortened: usize,
    keep_rounds: usize,
) -> Option<usize> {
    let last_user = pieces.last_user().unwrap_or(0);
    // In a long turn, the rounds after the person's message can be summarized too, except for the newest.
    let last = pieces.start_of_newest_rounds(keep_rounds).unwrap_or(0).max(last_user);
    // An earlier summary alone, or with the person's last message, which stays, needs no summary.
    let is_possible = |at: &usize| !pieces.belongs_to_previous(*at) && pieces.count_before(*at) > 0;
    let fits = |at: usize| {
        base.saturating_add(SUMMARY_TOKENS).saturating_add(pieces.tokens_after(at, shortened))
            <= fraction_of(room, KEPT_FRACTION)
    };
    let mut best = None;
    for at in (1..=last).filter(is_possible) {
        best = Some(at);
        if fits(at) {
            break;
        }
    }
    // Preferably at the start of a turn, if there is one before the last.
    best.map(|at| pieces.next_user(at).filter(|user| *user <= last_user).unwrap_or(at))
}

/// Creates the input for a summary of everything before an index.
pub(super) fn summary_request(
    pieces: &MeasuredHistory<'_>,
    cut: usize,
    room: u64,
    counter: &TokenCounter,
) -> SummaryRequest {
    let most = fraction_of(room, SUMMARISED_FRACTION);
    let mut taken: Vec<ModelMessage> = Vec::new();
    let mut tokens = counter.tokens(LEFT_OUT.len());
    let summary = pieces.summary();
    tokens += summary.as_ref().map_or(0, |message| counter.message_tokens(message));
    let oldest = usize::from(summary.is_some());
    let mut left_out = false;
    // The newest first, because the conversation continues from them.
    for (message, takes) in pieces.before(cut).skip(oldest).collect::<Vec<_>>().into_iter().rev() {
        tokens = tokens.saturating_add(takes);
        if tokens > most {
            left_out = true;
            break;
        }
        taken.push(message);
    }
    if left_out {
        taken.push(ModelMessage::user(LEFT_OUT));
    }
    taken.extend(summary);
    taken.reverse();
    SummaryRequest { through: pieces.seq(cut.saturating_sub(1)), messages: taken }
}

/// Returns the text instead of a summary that the model could not write: a note that messages are omitted,
/// and the first words of the newest messages.
#[must_use]
pub fn fallback_summary(messages: &[ModelMessage]) -> String {
    let gist = |message: &ModelMessage| {
        let text =
            message.parts.iter().filter_map(MessagePart::as_text).find(|text| !text.trim().is_empty())?;
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let start: String = line.chars().take(GIST_CHARS).collect();
        let more = if start.len() < line.len() { "…" } else { "" };
        let who = match message.role {
            MessageRole::User => "Person",
            _ => "Answer",
        };
        Some(format!("\n{who}: {start}{more}"))
    };
    let mut lines: Vec<String> = messages.iter().rev().filter_map(gist).take(GIST_MESSAGES).collect();
    lines.reverse();
    format!("{LEFT_OUT} How the newest of them begin:{}", lines.concat())
}
