//! Formats a session as Markdown.

use std::collections::HashMap;
use std::fmt::Write as _;

use toolway_models::{MessagePart, ToolCall, ToolResult};
use toolway_store::{MessageRecord, SessionRecord, StoredRole, TurnRecord, TurnState};
use toolway_types::json::nests_deeper_than;
use toolway_types::{CallId, ContentPart, Outcome, RawJson, ToolOutput};

use super::SessionContents;
use super::quote::{block_quote, code_block, escape_html, escape_inline};
use crate::budget::format_amount;
use crate::transcript::part::{self, TranscriptPart};

/// Nesting above which JSON is written on one line, because each level adds indentation.
const MAX_DEPTH: usize = 32;

pub(super) fn write(session: &SessionRecord, whole: &SessionContents) -> String {
    let mut writer =
        SessionMarkdownWriter { text: String::new(), contents: whole, results: results_of(&whole.messages) };
    writer.write_heading(session);
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

/// Returns the results of all calls.
fn results_of(messages: &[MessageRecord]) -> HashMap<CallId, ToolResult> {
    let results = messages.iter().filter(|message| message.role == StoredRole::Tool);
    let parts = results.flat_map(|message| part::decode_parts(&message.parts));
    let result = |read| match read {
        TranscriptPart::Part(MessagePart::ToolResult(result)) => Some((result.call_id, result)),
        _ => None,
    };
    parts.filter_map(result).collect()
}

struct SessionMarkdownWriter<'w> {
    text: String,
    contents: &'w SessionContents,
    /// Results that have not been written with their call yet.
    results: HashMap<CallId, ToolResult>,
}

impl SessionMarkdownWriter<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a block of lines, which ends with a line feed, and an empty line.
    fn block(&mut self, block: &str) {
        self.text.push_str(block);
        self.text.push('\n');
    }

    fn write_heading(&mut self, session: &SessionRecord) {
        let title = session.title.as_deref().map_or_else(|| "Conversation".to_owned(), escape_inline);
        self.block(&format!("# {title}\n"));
        self.line(&format!("- Agent: {}", escape_inline(&session.agent)));
        self.line(&format!("- Session: {}", escape_inline(&session.id)));
        self.line(&format!(
            "- From {} to {}",
            format_time(session.created_ms),
            format_time(session.updated_ms)
        ));
        self.line("");
        if self.contents.left_out > 0 {
            self.block(&format!("*{} older messages are left out here.*\n", self.contents.left_out));
        }
    }

    fn message(&mut self, message: &MessageRecord) {
        let parts = part::decode_parts(&message.parts);
        let is_summary = parts.iter().any(|part| matches!(part, TranscriptPart::Summary { .. }));
        let who = match message.role {
            _ if is_summary => "Summary",
            StoredRole::User => "Person",
            StoredRole::Assistant => "Answer",
            StoredRole::Tool => {
                return self.write_unmatched_results(parts);
            }
        };
        self.block(&format!("## {}. {who} · {}\n", message.seq, format_time(message.created_ms)));
        for part in parts {
            match part {
                TranscriptPart::Part(part) => self.part(part),
                TranscriptPart::Summary { text, through, .. } => {
                    self.block(&format!("*Of the messages up to {through}:*\n"));
                    self.block(&block_quote(&text));
                }
            }
        }
        if message.is_cut {
            self.block("*This message is incomplete.*\n");
        }
    }

    fn part(&mut self, part: MessagePart) {
        match part {
            MessagePart::Text { text, .. } => self.block(&block_quote(&text)),
            MessagePart::Image { data, mime_type } => {
                let line =
                    format!("*A picture: {}, {} bytes*\n", escape_inline(&mime_type), data.len() / 4 * 3);
                self.block(&line);
            }
            MessagePart::Thinking { text, .. } if text.is_empty() => {}
            MessagePart::Thinking { text, .. } => self.folded("Thinking", &[("text", &text)]),
            MessagePart::ToolCall(call) => {
                let result = self.results.remove(&call.id);
                self.call(&call, result.as_ref());
            }
            MessagePart::ToolResult(result) => self.result(&result),
        }
    }

    /// Writes a collapsed section with a call and its outcome.
    fn call(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        let mark = match result.map(|result| result.outcome.is_success()) {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "–",
        };
        let micros = self.contents.call_micros.get(&call.id);
        let took = micros.map(|micros| format!(" · {}", format_duration(*micros))).unwrap_or_default();
        let summary = format!("{mark} {}{took}", escape_html(&call.name));
        let arguments = indented(&call.arguments);
        let (kind, outcome) = match result {
            Some(result) => outcome_block(&result.outcome),
            None => ("text", "It has no result.".to_owned()),
        };
        self.folded(&summary, &[("json", &arguments), (kind, &outcome)]);
    }

    /// Writes the results without a call.
    fn write_unmatched_results(&mut self, parts: Vec<TranscriptPart>) {
        for part in parts {
            match part {
                TranscriptPart::Part(MessagePart::ToolResult(result)) => {
                    if let Some(result) = self.results.remove(&result.call_id) {
                        self.result(&result);
                    }
                }
                TranscriptPart::Part(part) => self.part(part),
                TranscriptPart::Summary { text, .. } => self.block(&block_quote(&text)),
            }
        }
    }

    fn result(&mut self, result: &ToolResult) {
        let (kind, outcome) = outcome_block(&result.outcome);
        self.folded(&format!("A result of {}", escape_html(&result.name)), &[(kind, &outcome)]);
    }

    /// Writes collapsed blocks of code. `summary` is HTML.
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
            let why =
                turn.message.as_deref().map(|why| format!(" {}", escape_inline(why))).unwrap_or_default();
            self.block(&format!("*{how}*{why}\n"));
        }
        let mut facts = vec![pluralise(turn.rounds, "request"), pluralise(turn.calls, "call")];
        if let Some(input) = turn.tokens.input {
            facts.push(format!("{input} tokens read"));
        }
        if let Some(output) = turn.tokens.output {
            facts.push(format!("{output} written"));
        }
        if let (Some(cost), Some(currency)) = (turn.cost, &turn.currency) {
            facts.push(format!("{} {}", format_amount(cost), escape_inline(currency)));
        }
        self.block(&format!("*{}*\n", facts.join(", ")));
    }
}

/// Formats an outcome as a block of code: its language and its text.
fn outcome_block(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Success(ToolOutput { content, structured: Some(value), .. }) if content.is_empty() => {
            ("json", indented(value.get()))
        }
        Outcome::Success(output) => {
            let parts = output.content.iter().map(content_text);
            let structured = output.structured.iter().map(|value| indented(value.get()));
            ("text", parts.chain(structured).collect::<Vec<_>>().join("\n"))
        }
        Outcome::Error(error) => {
            let hint = error.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            ("text", format!("{}: {}{hint}", error.code, error.message))
        }
    }
}

fn content_text(part: &ContentPart) -> String {
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

/// Indents JSON, without changing strings and numbers; other text is unchanged.
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

fn pluralise(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn format_time(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map_or_else(|_| at_ms.to_string(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

fn format_duration(micros: u64) -> String {
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
