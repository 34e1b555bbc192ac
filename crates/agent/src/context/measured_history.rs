//! A conversation with the size of each message, whole and shortened, in rounds.

use toolway_models::{MessageRole, ModelMessage};

use super::shortened_results;
use super::token_counter::TokenCounter;
use crate::transcript::TranscriptEntry;

/// A message with its size.
struct MeasuredEntry<'e> {
    entry: &'e TranscriptEntry,
    /// Tokens of the whole message.
    whole: u64,
    /// Tokens with shortened results; `None` if shortening saves nothing.
    short: Option<u64>,
    /// Round of the message, from 1: a model's message with calls, and their results. 0 for any other.
    round: usize,
}

/// A measured conversation.
pub(super) struct MeasuredHistory<'e> {
    entries: Vec<MeasuredEntry<'e>>,
    rounds: usize,
    /// Index of the person's last message.
    last_user: Option<usize>,
}

impl<'e> MeasuredHistory<'e> {
    pub(super) fn measure(entries: Vec<&'e TranscriptEntry>, counter: &TokenCounter) -> Self {
        let (mut rounds, mut open) = (0, false);
        let mut pieces = Vec::with_capacity(entries.len());
        for entry in entries {
            let message = &entry.message;
            let calls = message.role == MessageRole::Assistant && message.tool_calls().next().is_some();
            if calls {
                rounds += 1;
            }
            open = calls || (open && message.role == MessageRole::Tool);
            let short = (shortened_results::count_shortenable(message) > 0)
                .then(|| counter.message_tokens(&shortened_results::shortened_message(message)));
            let whole = counter.message_tokens(message);
            let short = short.filter(|short| *short < whole);
            pieces.push(MeasuredEntry { entry, whole, short, round: if open { rounds } else { 0 } });
        }
        let is_user = |piece: &MeasuredEntry<'_>| {
            piece.entry.message.role == MessageRole::User && piece.entry.summary_through.is_none()
        };
        let last_user = pieces.iter().rposition(is_user);
        Self { entries: pieces, rounds, last_user }
    }

    /// Returns the number of rounds.
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// Returns the index of the person's last message.
    pub(super) fn last_user(&self) -> Option<usize> {
        self.last_user
    }

    /// Returns the summary of earlier messages, if there is one. It comes first.
    pub(super) fn summary(&self) -> Option<ModelMessage> {
        let first = self.entries.first().filter(|piece| piece.entry.summary_through.is_some())?;
        Some(first.entry.message.clone())
    }

    /// Returns the next index, from `at`, of a person's message.
    pub(super) fn next_user(&self, at: usize) -> Option<usize> {
        let is_user = |piece: &MeasuredEntry<'_>| piece.entry.message.role == MessageRole::User;
        self.entries.iter().skip(at).position(is_user).map(|found| at + found)
    }

    /// Returns whether a message contains the results of the previous message's calls.
    pub(super) fn belongs_to_previous(&self, at: usize) -> bool {
        self.entries.get(at).is_some_and(|piece| piece.entry.message.role == MessageRole::Tool)
    }

    /// Returns the index at which the newest `rounds` rounds begin (at least one); `None` if there are no
    /// rounds.
    pub(super) fn start_of_newest_rounds(&self, rounds: usize) -> Option<usize> {
        let first = (self.rounds + 1).saturating_sub(rounds.max(1)).max(1);
        self.entries.iter().position(|piece| piece.round >= first)
    }

    /// Returns the number of the message at an index.
    pub(super) fn seq(&self, at: usize) -> u64 {
        self.entries.get(at).map_or(0, |piece| piece.entry.seq)
    }

    /// Returns the round up to which results are shortened, so that a request has at most `most` tokens if
    /// possible. Decided as before each earlier request: shortened results stay shortened, and no more are
    /// shortened while there is space.
    pub(super) fn shortened(&self, base: u64, most: u64, keep_rounds: usize) -> usize {
        let (mut total, mut seen, mut shortened) = (base, 0, 0);
        for (at, piece) in self.entries.iter().enumerate() {
            if piece.entry.message.role == MessageRole::Assistant {
                self.shorten(at, most, seen, keep_rounds, &mut total, &mut shortened);
            }
            total += piece.tokens(shortened);
            seen = seen.max(piece.round);
        }
        self.shorten(self.entries.len(), most, seen, keep_rounds, &mut total, &mut shortened);
        shortened
    }

    fn shorten(
        &self,
        before: usize,
        most: u64,
        seen: usize,
        keep_rounds: usize,
        total: &mut u64,
        shortened: &mut usize,
    ) {
        let next = seen.saturating_sub(keep_rounds);
        if *total <= most || next <= *shortened {
            return;
        }
        for piece in self.entries.iter().take(before) {
            *total -= piece.tokens(*shortened).saturating_sub(piece.tokens(next));
        }
        *shortened = next;
    }

    /// Returns the tokens of all messages, with the results of the first `shortened` rounds shortened.
    pub(super) fn tokens(&self, shortened: usize) -> u64 {
        self.entries.iter().map(|piece| piece.tokens(shortened)).sum()
    }

    /// Returns the tokens of the remaining messages if all before `cut` are omitted.
    pub(super) fn tokens_after(&self, cut: usize, shortened: usize) -> u64 {
        self.after(cut).map(|piece| piece.tokens(shortened)).sum()
    }

    /// Returns the messages, with the results of the first `shortened` rounds shortened.
    pub(super) fn messages(&self, shortened: usize) -> Vec<ModelMessage> {
        self.entries.iter().map(|piece| piece.message(shortened)).collect()
    }

    /// Returns the remaining messages if all before `cut` are omitted.
    pub(super) fn messages_after(&self, cut: usize, shortened: usize) -> impl Iterator<Item = ModelMessage> {
        self.after(cut).map(move |piece| piece.message(shortened))
    }

    /// Returns the messages before an index with shortened results, and their sizes.
    pub(super) fn before(&self, cut: usize) -> impl DoubleEndedIterator<Item = (ModelMessage, u64)> {
        self.entries.iter().take(cut).map(|piece| (piece.message(self.rounds), piece.tokens(self.rounds)))
    }

    /// Returns the number of messages omitted before an index, without summaries.
    pub(super) fn count_before(&self, cut: usize) -> usize {
        let left_out = |(at, piece): &(usize, &MeasuredEntry<'_>)| {
            piece.entry.summary_through.is_none() && Some(*at) != self.last_user
        };
        self.entries.iter().enumerate().take(cut).filter(left_out).count()
    }

    /// Returns the number of shortened results.
    pub(super) fn shortened_results(&self, shortened: usize) -> usize {
        let left_out = self.entries.iter().filter(|piece| piece.is_shortened(shortened));
        left_out.map(|piece| shortened_results::count_shortenable(&piece.entry.message)).sum()
    }

    /// Returns the remaining entries: the person's last message, and all entries from `cut` on.
    fn after(&self, cut: usize) -> impl Iterator<Item = &MeasuredEntry<'e>> {
        let stays = move |(at, _): &(usize, &MeasuredEntry<'e>)| *at >= cut || Some(*at) == self.last_user;
        self.entries.iter().enumerate().filter(stays).map(|(_, piece)| piece)
    }
}

impl MeasuredEntry<'_> {
    fn is_shortened(&self, shortened: usize) -> bool {
        self.round > 0 && self.round <= shortened && self.short.is_some()
    }

    fn tokens(&self, shortened: usize) -> u64 {
        match self.short {
            Some(short) if self.is_shortened(shortened) => short,
            _ => self.whole,
        }
    }

    fn message(&self, shortened: usize) -> ModelMessage {
        if self.is_shortened(shortened) {
            shortened_results::shortened_message(&self.entry.message)
        } else {
            self.entry.message.clone()
        }
    }
}
