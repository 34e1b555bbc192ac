//! Fits a conversation to its model. The whole conversation is sent if it fits. Otherwise, old tool results
//! are replaced by a short note, and then the oldest messages by a summary, which the caller creates and
//! stores as a message. A call and its result stay together, and the person's last message always stays.
//!
//! This module only counts and chooses; it sends and stores nothing. The same conversation always gives the
//! same messages: a result that was shortened for one request is shortened in the same way in the next, so
//! that the providers' caches stay valid.

mod measured_history;
mod shortened_results;
mod summary;
mod token_counter;

use toolway_models::ModelMessage;

use crate::transcript::TranscriptEntry;
use crate::transcript::history::entries_for_model;

pub use summary::{SummaryRequest, fallback_summary};
pub use token_counter::TokenCounter;

use measured_history::MeasuredHistory;

/// Fraction of the context from which older messages are summarized.
const SUMMARISE_AT: f64 = 0.95;
/// Factor by which a request may exceed the model's limit while the token count is not calibrated.
const UNCALIBRATED_TOLERANCE: f64 = 1.3;

/// Settings for fitting conversations to models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextSettings {
    /// Fraction of the context from which the user is warned and old results are shortened (0.8).
    pub warn_at: f64,
    /// Number of newest rounds whose results are never shortened (3).
    pub keep_rounds: usize,
    /// Tokens reserved for an answer without a known maximum length (8,192), at most a quarter of the
    /// context.
    pub reserve: u64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { warn_at: 0.8, keep_rounds: 3, reserve: 8192 }
    }
}

/// Input of a plan.
#[derive(Debug, Clone, Copy)]
pub struct ContextPlanInput<'a> {
    /// The conversation.
    pub entries: &'a [TranscriptEntry],
    /// Size of the system prompt in bytes.
    pub system_bytes: usize,
    /// Size of the tool definitions in bytes.
    pub tools_bytes: usize,
    /// Context size of the model in tokens, if known.
    pub context_tokens: Option<u64>,
    /// Maximum number of output tokens, if set.
    pub max_output: Option<u64>,
}

/// The messages of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPlan {
    /// The messages, before the repair.
    pub messages: Vec<ModelMessage>,
    /// Estimated tokens of the request.
    pub tokens: u64,
    /// Warning that the context is nearly full.
    pub warning: Option<String>,
    /// Notice that messages or results were omitted.
    pub compacted: Option<String>,
    /// A summary to create first. Without it, the messages omit that part.
    pub summary_request: Option<SummaryRequest>,
    /// True if the messages fit, or the model's context size is not known.
    pub fits: bool,
}

/// Plans the messages of a request.
#[must_use]
pub fn plan(input: ContextPlanInput<'_>, settings: &ContextSettings, counter: &TokenCounter) -> ContextPlan {
    let base = counter.tokens(input.system_bytes.saturating_add(input.tools_bytes));
    let pieces = MeasuredHistory::measure(entries_for_model(input.entries), counter);
    match input.context_tokens {
        None => ContextPlan {
            messages: pieces.messages(0),
            tokens: base + pieces.tokens(0),
            warning: None,
            compacted: None,
            summary_request: None,
            fits: true,
        },
        Some(context) => {
            let room = history_budget(context, input.max_output, settings);
            ContextPlanner { history: pieces, base, context, history_budget: room, settings, counter }.plan()
        }
    }
}

/// State of a plan in progress.
struct ContextPlanner<'p> {
    history: MeasuredHistory<'p>,
    /// Tokens of system prompt and tools.
    base: u64,
    /// Context size in tokens.
    context: u64,
    /// Tokens that are available for the messages.
    history_budget: u64,
    settings: &'p ContextSettings,
    counter: &'p TokenCounter,
}

impl ContextPlanner<'_> {
    fn plan(&self) -> ContextPlan {
        let (pieces, keep_rounds) = (&self.history, self.settings.keep_rounds);
        let nearly = fraction_of(self.history_budget, self.settings.warn_at);
        let mut shortened = pieces.shortened(self.base, nearly, keep_rounds);
        let mut tokens = self.base + pieces.tokens(shortened);
        if tokens > fraction_of(self.history_budget, SUMMARISE_AT) {
            if let Some(cut) =
                summary::cut_point(pieces, self.base, self.history_budget, shortened, keep_rounds)
            {
                return self.without_oldest(cut, shortened);
            }
            // No message is old enough to be summarized: the newest results take the space.
            shortened = pieces.rounds();
            tokens = self.base + pieces.tokens(shortened);
        }
        ContextPlan {
            messages: pieces.messages(shortened),
            tokens,
            warning: self.warning(tokens),
            compacted: shortened_notice(pieces.shortened_results(shortened)),
            summary_request: None,
            fits: self.fits(tokens),
        }
    }

    /// Creates the plan without the messages before a place.
    fn without_oldest(&self, cut: usize, mut shortened: usize) -> ContextPlan {
        let pieces = &self.history;
        let mut messages: Vec<ModelMessage> = pieces.summary().into_iter().collect();
        messages.push(ModelMessage::user(summary::LEFT_OUT));
        let instead: u64 = messages.iter().map(|message| self.counter.message_tokens(message)).sum();
        let rest = |shortened| self.base + instead + pieces.tokens_after(cut, shortened);
        let mut tokens = rest(shortened);
        if tokens > self.history_budget {
            shortened = pieces.rounds();
            tokens = rest(shortened);
        }
        messages.extend(pieces.messages_after(cut, shortened));
        let count = pieces.count_before(cut);
        ContextPlan {
            messages,
            tokens,
            warning: self.warning(tokens),
            compacted: Some(format!("{count} older messages were omitted to make room")),
            summary_request: Some(summary::summary_request(pieces, cut, self.history_budget, self.counter)),
            fits: self.fits(tokens),
        }
    }

    fn fits(&self, tokens: u64) -> bool {
        let is_sure = self.counter.is_calibrated();
        tokens <= if is_sure { self.context } else { fraction_of(self.context, UNCALIBRATED_TOLERANCE) }
    }

    fn warning(&self, tokens: u64) -> Option<String> {
        (tokens > fraction_of(self.history_budget, self.settings.warn_at)).then(|| {
            let percent = tokens.saturating_mul(100).checked_div(self.history_budget).unwrap_or(100).min(100);
            format!("the conversation takes about {percent} % of what the model can read")
        })
    }
}

/// Returns the number of tokens that are available for the messages.
fn history_budget(context: u64, max_output: Option<u64>, settings: &ContextSettings) -> u64 {
    let reserve = match max_output {
        Some(most) => most.min(context / 2),
        None => settings.reserve.min(context / 4),
    };
    context - reserve
}

fn shortened_notice(results: usize) -> Option<String> {
    match results {
        0 => None,
        1 => Some("an older tool result was omitted to make room".to_owned()),
        count => Some(format!("{count} older tool results were omitted to make room")),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "no model reads so many tokens that it would matter"
)]
fn fraction_of(tokens: u64, part: f64) -> u64 {
    (tokens as f64 * part.clamp(0.0, 2.0)) as u64
}

#[cfg(test)]
mod tests;
