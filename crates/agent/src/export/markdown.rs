//! A session as Markdown.

use std::collections::HashMap;
use std::fmt::Write as _;

use toolway_models::{Part, ToolCall, ToolResult};
use toolway_store::{MessageRecord, SessionRecord, StoredRole, TurnRecord, TurnState};
use toolway_types::json::nests_deeper_than;
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ToolOutput};

use super::Whole;
use super::quote::{block_quote, code_block, html, words};
use crate::budget::amount;
use crate::transcript::part::{self, Read};

/// JSON that nests deeper is left on one line: each level indents all within it.
const MAX_DEPTH: usize = 32;

pub(super) fn write(session: &SessionRecord, whole: &Whole) -> String {
    let mut writer = Writer { text: String::new(), whole, results: results_of(&whole.messages) };
    writer.head(session);
    let mut messages = whole.messages.iter().peekable();
    while let Some(message) = messages.next() {
        writer.message(message);
        let is_last = messages.peek().is_none_or(|next| next.turn != message.turn);
        if let Some(turn) = whole.turns.iter().find(|turn| is_last && turn.id == message.turn) {
            writer.turn(turn);
        }
    }
    writer.text
}

/// The results of all calls, until each stands with its call.
fn results_of(messages: &[MessageRecord]) -> HashMap<CallId, ToolResult> {
    let results = messages.iter().filter(|message| message.role == StoredRole::Tool);
    let parts = results.flat_map(|message| part::read(&message.parts));
    let result = |read| match read {
        Read::Part(Part::ToolResult(result)) => Some((result.call_id, result)),
        _ => None,
    };
    parts.filter_map(result).collect()
}

struct Writer<'w> {
    text: String,
    whole: &'w Whole,
    /// Those that stand with no call yet.
    results: HashMap<CallId, ToolResult>,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A block of lines that ends with a line feed, and an empty line.
    fn block(&mut self, block: &str) {
        self.text.push_str(block);
        self.text.push('\n');
    }

    fn head(&mut self, session: &SessionRecord) {
        let title = session.title.as_deref().map_or_else(|| "Conversation".to_owned(), words);
        self.block(&format!("# {title}\n"));
        self.line(&format!("- Agent: {}", words(&session.agent)));
        self.line(&format!("- Session: {}", words(&session.id)));
        self.line(&format!("- From {} to {}", time(session.created_ms), time(session.updated_ms)));
        self.line("");
        if self.whole.left_out > 0 {
            self.block(&format!("*{} older messages are left out here.*\n", self.whole.left_out));
        }
    }

    fn message(&mut self, message: &MessageRecord) {
        let parts = part::read(&message.parts);
        let is_summary = parts.iter().any(|part| matches!(part, Read::Summary { .. }));
        let who = match message.role {
            _ if is_summary => "Summary",
            StoredRole::User => "Person",
            StoredRole::Assistant => "Answer",
            StoredRole::Tool => {
                return self.left_results(parts);
            }
        };
        self.block(&format!("## {}. {who} · {}\n", message.seq, time(message.created_ms)));
        for part in parts {
            match part {
                Read::Part(part) => self.part(part),
                Read::Summary { text, through } => {
                    self.block(&format!("*Of the messages up to {through}:*\n"));
                    self.block(&block_quote(&text));
                }
            }
        }
        if message.is_cut {
            self.block("*It ends here before it was whole.*\n");
        }
    }

    fn part(&mut self, part: Part) {
        match part {
            Part::Text { text, .. } => self.block(&block_quote(&text)),
            Part::Image { data, mime_type } => {
                let line = format!("*A picture: {}, {} bytes*\n", words(&mime_type), data.len() / 4 * 3);
                self.block(&line);
            }
            Part::Thinking { text, .. } if text.is_empty() => {}
            Part::Thinking { text, .. } => self.folded("Thinking", &[("text", &text)]),
            Part::ToolCall(call) => {
                let result = self.results.remove(&call.id);
                self.call(&call, result.as_ref());
            }
            Part::ToolResult(result) => self.result(&result),
        }
    }

    /// A call with how it ended, folded away.
    fn call(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        let mark = match result.map(|result| result.outcome.is_success()) {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "–",
        };
        let micros = self.whole.micros.get(&call.id);
        let took = micros.map(|micros| format!(" · {}", duration(*micros))).unwrap_or_default();
        let summary = format!("{mark} {}{took}", html(&call.name));
        let arguments = indented(&call.arguments);
        let (kind, outcome) = match result {
            Some(result) => told(&result.outcome),
            None => ("text", "It has no result.".to_owned()),
        };
        self.folded(&summary, &[("json", &arguments), (kind, &outcome)]);
    }

    /// Results whose calls stand nowhere.
    fn left_results(&mut self, parts: Vec<Read>) {
        for part in parts {
            match part {
                Read::Part(Part::ToolResult(result)) => {
                    if let Some(result) = self.results.remove(&result.call_id) {
                        self.result(&result);
                    }
                }
                Read::Part(part) => self.part(part),
                Read::Summary { text, .. } => self.block(&block_quote(&text)),
            }
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let (kind, outcome) = told(&result.outcome);
        self.folded(&format!("A result of {}", html(&result.name)), &[(kind, &outcome)]);
    }

    /// Blocks of code that are shown when somebody asks for them. `summary` is HTML.
    fn folded(&mut self, summary: &str, blocks: &[(&str, &str)]) {
        self.block(&format!("<details>\n<summary>{summary}</summary>\n"));
        for (language, text) in blocks {
            let block = code_block(language, text);
            self.block(&block);
        }
        self.block("</details>\n");
    }

    fn turn(&mut self, turn: &TurnRecord) {
        let how = match turn.state {
            TurnState::Done | TurnState::Running => None,
            TurnState::Aborted => Some("Somebody stopped it."),
            TurnState::Failed => Some("It failed."),
            TurnState::Interrupted => Some("The gateway stopped in the middle of it."),
        };
        if let Some(how) = how {
            let why = turn.message.as_deref().map(|why| format!(" {}", words(why))).unwrap_or_default();
            self.block(&format!("*{how}*{why}\n"));
        }
        let mut facts = vec![counted(turn.rounds, "request"), counted(turn.calls, "call")];
        if let Some(input) = turn.tokens.input {
            facts.push(format!("{input} tokens read"));
        }
        if let Some(output) = turn.tokens.output {
            facts.push(format!("{output} written"));
        }
        if let (Some(cost), Some(currency)) = (turn.cost, &turn.currency) {
            facts.push(format!("{} {}", amount(cost), words(currency)));
        }
        self.block(&format!("*{}*\n", facts.join(", ")));
    }
}

/// An outcome as a block of code: its language, its text.
fn told(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Success(ToolOutput { content, structured: Some(value) }) if content.is_empty() => {
            ("json", indented(value.get()))
        }
        Outcome::Success(output) => {
            let parts = output.content.iter().map(content);
            let structured = output.structured.iter().map(|value| indented(value.get()));
            ("text", parts.chain(structured).collect::<Vec<_>>().join("\n"))
        }
        Outcome::Error(error) => {
            let hint = error.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            ("text", format!("{}: {}{hint}", error.code, error.message))
        }
    }
}

fn content(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Image { data, mime_type } => {
            format!("[a picture: {mime_type}, {} bytes]", data.len() / 4 * 3)
        }
        ContentPart::Audio { data, mime_type } => {
            format!("[sound: {mime_type}, {} bytes]", data.len() / 4 * 3)
        }
        ContentPart::Resource { resource } => indented(RawJson::from(resource).get()),
        ContentPart::ResourceLink { uri, name, .. } => format!("{name}: {uri}"),
    }
}

/// JSON over several lines, its texts and numbers as they were written; any other text as it is.
fn indented(text: &str) -> String {
    if RawJson::parse(text).is_err() || nests_deeper_than(text, MAX_DEPTH) {
        return text.to_owned();
    }
    let mut lines = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if in_string {
            lines.push(letter);
            in_string = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            continue;
        }
        match letter {
            '"' => {
                in_string = true;
                lines.push(letter);
            }
            '{' | '[' => {
                lines.push(letter);
                let inner = rest.as_str().trim_start();
                if let Some(close) = inner.chars().next().filter(|next| matches!(next, '}' | ']')) {
                    lines.push(close);
                    rest = inner.get(1..).unwrap_or_default().chars();
                } else {
                    depth += 1;
                    new_line(&mut lines, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut lines, depth);
                lines.push(letter);
            }
            ',' => {
                lines.push(letter);
                new_line(&mut lines, depth);
            }
            ':' => lines.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => lines.push(other),
        }
    }
    lines
}

fn new_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.extend(std::iter::repeat_n("  ", depth));
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn time(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map_or_else(|_| at_ms.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

fn duration(micros: u64) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = match micros {
        0..=9_999_999 => write!(text, "{} ms", micros.div_ceil(1000)),
        _ => write!(text, "{} s", micros / 1_000_000),
    };
    text
}

#[cfg(test)]
mod tests;
