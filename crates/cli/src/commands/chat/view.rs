//! Renders a turn: text, reasoning, tool calls and totals. Events go in; final lines and lines that still change come
//! out.

use toolway_api::chat::{TurnToolCall, TurnToolProgress, TurnToolResult, TurnTotals};
use toolway_types::RawJson;

use super::event::TurnEvent;
use crate::print::markdown::{MarkdownLayout, MarkdownStream};
use crate::print::style::Style;
use crate::print::{amount, escape, json, live, time};

/// Maximum width of arguments in one line, in columns.
const MAX_ARGUMENTS_CHARS: usize = 60;
/// Maximum number of lines of a tool result.
const MAX_RESULT_LINES: usize = 60;
/// Maximum width of a line of a result, in columns.
const MAX_RESULT_WIDTH: usize = 400;

/// Level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DetailOptions {
    /// Print arguments and results of tools in full.
    pub(super) tools: bool,
    /// Print the model's reasoning.
    pub(super) thinking: bool,
}

/// A running tool call.
#[derive(Debug)]
struct ActiveToolCall {
    id: String,
    name: String,
    arguments: RawJson,
    progress: String,
}

/// Type of the last output, which decides about separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionKind {
    Nothing,
    Text,
    Thinking,
    Tools,
}

/// Renderer of one turn.
#[derive(Debug)]
pub(super) struct TurnRenderer {
    detail: DetailOptions,
    layout: MarkdownLayout,
    markdown: MarkdownStream,
    /// Reasoning text without a line end so far.
    thoughts: String,
    /// True while the model reasons and its reasoning is hidden.
    is_thinking: bool,
    active_calls: Vec<ActiveToolCall>,
    last_section: SectionKind,
}

impl TurnRenderer {
    pub(super) fn new(detail: DetailOptions, layout: MarkdownLayout) -> Self {
        Self {
            detail,
            layout,
            markdown: MarkdownStream::new(layout),
            thoughts: String::new(),
            is_thinking: false,
            active_calls: Vec::new(),
            last_section: SectionKind::Nothing,
        }
    }

    /// Handles an event and returns the final lines.
    pub(super) fn apply_event(&mut self, event: TurnEvent) -> Vec<String> {
        match event {
            TurnEvent::Chunk(text) => self.add_text(&text),
            TurnEvent::Thinking(text) => self.add_thinking(&text),
            TurnEvent::Reset => {
                let mut lines = self.finish_section();
                lines.push(self.paint_faint("(the model starts over; ignore the text above)"));
                lines
            }
            TurnEvent::ToolCall(call) => self.add_call(call),
            TurnEvent::ToolProgress(progress) => {
                self.update_progress(&progress);
                Vec::new()
            }
            TurnEvent::ToolResult(result) => self.add_result(&result),
            TurnEvent::Notice(message) => {
                let mut lines = self.finish_section();
                let mark = Style::Warning.paint("note:", self.layout.colour);
                lines.push(format!("{mark} {}", escape::prose(&message)));
                lines
            }
            TurnEvent::Done(totals) => self.add_totals(&totals, None),
            TurnEvent::Aborted(totals) => self.add_totals(&totals, Some("(stopped)")),
            TurnEvent::Failed(_) => self.finish_section(),
            TurnEvent::Started(_) => Vec::new(),
        }
    }

    /// Returns the lines that still change.
    pub(super) fn live_rows(&self) -> Vec<String> {
        let mut rows = match self.last_section {
            SectionKind::Text => self.markdown.unfinished_lines(),
            SectionKind::Thinking if !self.thoughts.is_empty() => {
                vec![self.paint_faint(&escape::prose(&self.thoughts))]
            }
            SectionKind::Nothing if !self.is_thinking => vec![self.paint_faint("…")],
            _ => Vec::new(),
        };
        rows.extend(self.is_thinking.then(|| self.paint_faint("thinking…")));
        for running in &self.active_calls {
            let mut row = format!(
                "{} {}",
                self.paint_faint("…"),
                Style::Name.paint(&escape::line(&running.name), self.layout.colour)
            );
            if !self.detail.tools {
                row.push_str(&self.shorten_arguments(&running.arguments));
            }
            if !running.progress.is_empty() {
                row.push_str(&format!("  {}", running.progress));
            }
            rows.push(row);
        }
        rows
    }

    /// Ends the current section and returns its remaining lines.
    pub(super) fn finish_section(&mut self) -> Vec<String> {
        let mut lines = self.markdown.finish();
        let thoughts = std::mem::take(&mut self.thoughts);
        if !thoughts.trim().is_empty() {
            lines.push(self.paint_faint(&escape::prose(&thoughts)));
        }
        lines
    }

    fn add_text(&mut self, text: &str) -> Vec<String> {
        let mut lines = self.start_section(SectionKind::Text);
        lines.extend(self.markdown.push(text));
        lines
    }

    fn add_thinking(&mut self, text: &str) -> Vec<String> {
        if !self.detail.thinking {
            self.is_thinking = true;
            return Vec::new();
        }
        let mut lines = self.start_section(SectionKind::Thinking);
        self.thoughts.push_str(text);
        while let Some(end) = self.thoughts.find('\n') {
            let rest = self.thoughts.split_off(end + 1);
            let line = std::mem::replace(&mut self.thoughts, rest);
            lines.push(self.paint_faint(&escape::prose(line.trim_end())));
        }
        lines
    }

    fn add_call(&mut self, call: TurnToolCall) -> Vec<String> {
        let mut lines = self.start_section(SectionKind::Tools);
        if self.detail.tools {
            lines.push(format!("{} {}", self.paint_faint("→"), self.paint_name(&call.name)));
            lines.extend(self.indented(&json::pretty(call.args.get())));
        }
        let TurnToolCall { id, name, args: arguments } = call;
        self.active_calls.push(ActiveToolCall { id, name, arguments, progress: String::new() });
        lines
    }

    fn update_progress(&mut self, progress: &TurnToolProgress) {
        let Some(running) = self.active_calls.iter_mut().find(|running| running.id == progress.id) else {
            return;
        };
        let part = match progress.total {
            Some(total) if total > 0.0 => Some(progress.progress / total),
            _ => Some(progress.progress).filter(|part| (0.0..=1.0).contains(part)),
        };
        let amount =
            part.map_or_else(|| progress.progress.to_string(), |part| format!("{:.0} %", 100.0 * part));
        running.progress = match &progress.message {
            Some(message) => format!("{amount}  {}", escape::line(message)),
            None => amount,
        };
    }

    fn add_result(&mut self, result: &TurnToolResult) -> Vec<String> {
        let mut lines = self.start_section(SectionKind::Tools);
        let at = self.active_calls.iter().position(|running| running.id == result.id);
        let arguments = at.map(|at| self.active_calls.remove(at).arguments);
        let (mark, style) = if result.is_success() { ("✓", Style::Good) } else { ("✗", Style::Error) };
        let mut line =
            format!("{} {}", Style::paint(style, mark, self.layout.colour), self.paint_name(&result.name));
        if let Some(arguments) = arguments.filter(|_| !self.detail.tools) {
            line.push_str(&self.shorten_arguments(&arguments));
        }
        if let Some(took) = result.duration_ms {
            line.push_str(&self.paint_faint(&format!("  {}", time::format_duration(took))));
        }
        if !result.is_success() {
            let code = result.code.as_deref().unwrap_or("error");
            let words = match &result.message {
                Some(message) => format!("{message} ({code})"),
                None => code.to_owned(),
            };
            line.push_str(&format!("  {}", Style::Error.paint(&escape::line(&words), self.layout.colour)));
        }
        lines.push(line);
        if let Some(hint) = result.hint.as_ref().filter(|_| !result.is_success()) {
            lines.push(self.paint_faint(&format!("  hint: {}", escape::line(hint))));
        }
        if let Some(result) = result.result.as_ref().filter(|_| self.detail.tools) {
            let text = result.to::<String>().unwrap_or_else(|_| json::pretty(result.get()));
            lines.extend(self.indented(&text));
        }
        lines
    }

    fn add_totals(&mut self, totals: &TurnTotals, note: Option<&str>) -> Vec<String> {
        let mut lines = self.finish_section();
        lines.extend(note.map(|note| self.paint_faint(note)));
        let took = amount::format_turn_usage(
            &totals.usage.unwrap_or_default(),
            totals.cost,
            totals.currency.as_deref(),
        );
        lines.extend(took.map(|took| self.paint_faint(&took)));
        self.active_calls.clear();
        self.is_thinking = false;
        lines
    }

    /// Starts a section and returns the lines to print before it. Sections are separated by an empty line.
    fn start_section(&mut self, next: SectionKind) -> Vec<String> {
        self.is_thinking = false;
        if self.last_section == next {
            return Vec::new();
        }
        let mut lines = self.finish_section();
        if self.last_section != SectionKind::Nothing {
            lines.push(String::new());
        }
        self.last_section = next;
        lines
    }

    /// Returns the arguments in one short line; empty if there are none.
    fn shorten_arguments(&self, arguments: &RawJson) -> String {
        match arguments.get() {
            "{}" => String::new(),
            text => {
                self.paint_faint(&format!(" {}", live::truncate(&escape::line(text), MAX_ARGUMENTS_CHARS)))
            }
        }
    }

    fn paint_name(&self, name: &str) -> String {
        Style::Name.paint(&escape::line(name), self.layout.colour)
    }

    fn paint_faint(&self, text: &str) -> String {
        Style::Faint.paint(text, self.layout.colour)
    }

    /// Returns the lines of a value, indented and limited.
    fn indented(&self, text: &str) -> Vec<String> {
        let escaped = escape::lines(text).replace('\t', "    ");
        let mut lines: Vec<_> = escaped
            .lines()
            .take(MAX_RESULT_LINES)
            .map(|line| self.paint_faint(&format!("    {}", live::truncate(line, MAX_RESULT_WIDTH))))
            .collect();
        let left = escaped.lines().count().saturating_sub(MAX_RESULT_LINES);
        if left > 0 {
            lines.push(self.paint_faint(&format!("    ({left} more lines; see `toolway calls show`)")));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
