//! Fits a conversation to its model: the whole conversation is sent if it fits. Else old results of
//! tools are replaced by a short note first, and then what is oldest by a summary, which the caller has made and keeps
//! as a message of its own. A call and its result stay together, and the person's last message always stays.
//!
//! Everything here only counts and chooses; nothing is asked and nothing kept. The same conversation gives the same
//! messages: what was shortened for one request is shortened in the next in the same way, so that the providers'
//! caches hold.

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

/// Part of the room from which on older messages are summarised.
const SUMMARISE_AT: f64 = 0.95;
/// Factor by which a request may exceed the model's limit while the token count is not calibrated.
const UNCALIBRATED_TOLERANCE: f64 = 1.3;

/// Settings for fitting conversations to models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextSettings {
    /// Part of what the model can read from which on it is said that it nears its end, and old results are shortened
    /// (0.8).
    pub warn_at: f64,
    /// So many newest rounds keep their results whole (3).
    pub keep_rounds: usize,
    /// Tokens that are kept free for the answer where nothing is said of its length (8,192), but not more than a
    /// quarter of what the model can read.
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
    /// Bytes of the instructions.
    pub system_bytes: usize,
    /// Bytes of the tools' definitions.
    pub tools_bytes: usize,
    /// Context size of the model in tokens, if known.
    pub context_tokens: Option<u64>,
    /// Most tokens that it may write, where that is said.
    pub max_output: Option<u64>,
}

/// The messages of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPlan {
    /// The messages, not mended yet.
    pub messages: Vec<ModelMessage>,
    /// Estimated tokens of the request.
    pub tokens: u64,
    /// The model's room is nearly used up: in words.
    pub warning: Option<String>,
    /// Something was left out: in words.
    pub compacted: Option<String>,
    /// A summary to be made first. Without it, the messages omit that part.
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

/// State while a plan is made.
struct ContextPlanner<'p> {
    history: MeasuredHistory<'p>,
    /// Tokens of instructions and tools.
    base: u64,
    /// Tokens that the model can read.
    context: u64,
    /// Of these, those that question and history may take.
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
            // Nothing is old enough to be summarised: the newest results are what takes the room.
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

    /// The plan where what stands before a place must go.
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

/// Tokens that question and history may take.
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
