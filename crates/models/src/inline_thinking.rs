//! Finds thinking inside the text of a response. Servers that do not separate it leave it there: between tags at the
//! start (`<think>…</think>`), or in the channels of gpt-oss (`<|channel|>analysis<|message|>…<|end|>`).
//!
//! Tags count only at the start of a text. Later they are part of the answer, which may be about such tags.

/// Pairs of tags that models put around their thinking.
const TAGS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
];

/// Starts a message of gpt-oss (OpenAI's Harmony format). The role follows.
const START: &str = "<|start|>";
/// Starts the header of a message. The channel follows.
const CHANNEL: &str = "<|channel|>";
/// Ends the header.
const MESSAGE: &str = "<|message|>";
/// Marks that end the content of a message.
const CONTENT_ENDS: &[&str] = &["<|end|>", "<|return|>", "<|call|>", START, CHANNEL];
/// Marks that end the role of a message.
const ROLE_ENDS: &[&str] = &[CHANNEL, MESSAGE];
/// Channel of the thinking.
const ANALYSIS: &str = "analysis";
/// Maximum length of a role or a header in bytes. A longer one is text.
const MAX_HEADER_BYTES: usize = 256;
/// Maximum white space before a tag, in bytes.
const MAX_LEADING_SPACE_BYTES: usize = 256;

/// A piece of a response's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextSegment {
    /// Part of the answer.
    Answer(String),
    /// Part of the thinking.
    Thinking(String),
}

/// Separates the text of one response, which comes in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct InlineThinking {
    state: State,
    /// Text whose meaning depends on what follows.
    pending: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before the first word.
    #[default]
    Start,
    /// After the end of tagged thinking.
    AfterTags,
    /// An answer to the end.
    Answer,
    /// Between tags, the second of which is this. `is_first` until there was a word.
    Tagged { close: &'static str, is_first: bool },
    /// After `<|start|>`.
    Role,
    /// After `<|channel|>`.
    Header,
    /// The content of a message of gpt-oss.
    Content { is_thinking: bool },
    /// After the content of a message.
    BetweenMessages,
}

impl InlineThinking {
    /// True if text was added that is not part of a segment yet.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Adds a piece of text and returns what is certain.
    pub(crate) fn push(&mut self, text: &str) -> Vec<TextSegment> {
        if self.state == State::Answer {
            return segment(false, text).into_iter().collect();
        }
        self.pending.push_str(text);
        let mut out = Vec::new();
        while self.step(&mut out) {}
        out
    }

    /// Returns the rest at the end of the response.
    pub(crate) fn finish(&mut self) -> Option<TextSegment> {
        let rest = std::mem::take(&mut self.pending);
        match std::mem::take(&mut self.state) {
            State::Start | State::Answer => segment(false, &rest),
            // The rest of a header says nothing.
            State::Role | State::Header => None,
            State::Tagged { is_first: true, .. } => segment(true, rest.trim()),
            State::Tagged { .. } => segment(true, rest.trim_end()),
            State::Content { is_thinking } => segment(is_thinking, &rest),
            State::AfterTags | State::BetweenMessages => segment(false, rest.trim_start()),
        }
    }

    /// Moves to the next state; false if that needs more text.
    fn step(&mut self, out: &mut Vec<TextSegment>) -> bool {
        match self.state {
            State::Start => self.at_start(false, State::Answer),
            State::AfterTags => self.at_start(true, State::Answer),
            State::BetweenMessages => self.at_start(true, State::Content { is_thinking: false }),
            State::Answer => {
                out.extend(segment(false, &std::mem::take(&mut self.pending)));
                false
            }
            State::Tagged { close, is_first } => self.in_tags(close, is_first, out),
            State::Role => self.in_role(out),
            State::Header => self.in_header(out),
            State::Content { is_thinking } => self.in_content(is_thinking, out),
        }
    }

    /// Looks for a mark. Other text begins the state `other`, with or without the white space before it.
    fn at_start(&mut self, drop_space: bool, other: State) -> bool {
        let text = self.pending.trim_start();
        let space = self.pending.len() - text.len();
        if drop_space && space > 0 {
            return self.enter(self.state, space);
        }
        if space > MAX_LEADING_SPACE_BYTES {
            return self.enter(other, 0);
        }
        let (state, used) = if let Some((open, close)) = TAGS.iter().find(|(open, _)| text.starts_with(open))
        {
            (State::Tagged { close, is_first: true }, space + open.len())
        } else if text.starts_with(START) {
            (State::Role, space + START.len())
        } else if text.starts_with(CHANNEL) {
            (State::Header, space + CHANNEL.len())
        } else {
            let mut marks = TAGS.iter().map(|(open, _)| *open).chain([START, CHANNEL]);
            if marks.any(|mark| mark.starts_with(text)) {
                return false;
            }
            (other, 0)
        };
        self.enter(state, used)
    }

    fn in_tags(&mut self, close: &'static str, is_first: bool, out: &mut Vec<TextSegment>) -> bool {
        let trimmed = |text: &str| if is_first { text.trim_start().to_owned() } else { text.to_owned() };
        if let Some(at) = self.pending.find(close) {
            let text = trimmed(self.pending.get(..at).unwrap_or_default());
            out.extend(segment(true, text.trim_end()));
            return self.enter(State::AfterTags, at + close.len());
        }
        // White space before the closing tag is no part of the thinking, so it waits too.
        let certain = self.pending.len() - partial_mark(&self.pending, &[close]);
        let certain = self.pending.get(..certain).unwrap_or_default().trim_end().len();
        let text = trimmed(self.pending.get(..certain).unwrap_or_default());
        let has_word = !text.is_empty();
        out.extend(segment(true, &text));
        self.pending.drain(..certain);
        self.state = State::Tagged { close, is_first: is_first && !has_word };
        false
    }

    fn in_role(&mut self, out: &mut Vec<TextSegment>) -> bool {
        match first_mark(&self.pending, ROLE_ENDS) {
            Some((at, mark)) if at <= MAX_HEADER_BYTES => {
                let state =
                    if mark == CHANNEL { State::Header } else { State::Content { is_thinking: false } };
                self.enter(state, at + mark.len())
            }
            found => self.wait_for_header(START, found.is_some(), out),
        }
    }

    fn in_header(&mut self, out: &mut Vec<TextSegment>) -> bool {
        let found = self.pending.find(MESSAGE);
        let Some(at) = found.filter(|at| *at <= MAX_HEADER_BYTES) else {
            return self.wait_for_header(CHANNEL, found.is_some(), out);
        };
        let header = self.pending.get(..at).unwrap_or_default();
        let is_thinking = header.trim_start().starts_with(ANALYSIS);
        if header.contains(" to=") && !is_thinking {
            // A call that the server did not recognise. Its arguments make sense only with its name.
            out.push(TextSegment::Answer(format!("{CHANNEL}{header}{MESSAGE}")));
        }
        self.enter(State::Content { is_thinking }, at + MESSAGE.len())
    }

    /// Waits for the rest of a header, unless it is too long for one.
    fn wait_for_header(&mut self, mark: &str, is_late: bool, out: &mut Vec<TextSegment>) -> bool {
        if !is_late && self.pending.len() < MAX_HEADER_BYTES + MESSAGE.len() {
            return false;
        }
        out.push(TextSegment::Answer(mark.to_owned()));
        self.enter(State::Answer, 0)
    }

    fn in_content(&mut self, is_thinking: bool, out: &mut Vec<TextSegment>) -> bool {
        if let Some((at, mark)) = first_mark(&self.pending, CONTENT_ENDS) {
            out.extend(segment(is_thinking, self.pending.get(..at).unwrap_or_default()));
            let state = match mark {
                START => State::Role,
                CHANNEL => State::Header,
                _ => State::BetweenMessages,
            };
            return self.enter(state, at + mark.len());
        }
        let certain = self.pending.len() - partial_mark(&self.pending, CONTENT_ENDS);
        out.extend(segment(is_thinking, self.pending.get(..certain).unwrap_or_default()));
        self.pending.drain(..certain);
        false
    }

    /// Enters a state after using up text.
    fn enter(&mut self, state: State, used: usize) -> bool {
        self.pending.drain(..used);
        self.state = state;
        true
    }
}

/// Returns a segment, unless it is empty.
fn segment(is_thinking: bool, text: &str) -> Option<TextSegment> {
    match (text.is_empty(), is_thinking) {
        (true, _) => None,
        (false, true) => Some(TextSegment::Thinking(text.to_owned())),
        (false, false) => Some(TextSegment::Answer(text.to_owned())),
    }
}

/// Returns the first of these marks in a text, and its place.
fn first_mark(text: &str, marks: &[&'static str]) -> Option<(usize, &'static str)> {
    marks.iter().filter_map(|mark| text.find(mark).map(|at| (at, *mark))).min_by_key(|(at, _)| *at)
}

/// Returns the length of the end of a text with which one of these marks may begin.
fn partial_mark(text: &str, marks: &[&str]) -> usize {
    let longest = |mark: &&str| {
        (1..mark.len()).rev().find(|length| mark.get(..*length).is_some_and(|start| text.ends_with(start)))
    };
    marks.iter().filter_map(longest).max().unwrap_or_default()
}

#[cfg(test)]
mod tests;
