//! A turn as a person sees it: text laid out while it comes, tools as they run, what it took. Events go in, lines come
//! out: those that stay, and those that still change.

use toolway_types::RawJson;

use super::event::{ToolCall, ToolProgress, ToolResult, Totals, TurnEvent};
use crate::print::markdown::{MarkdownStream, Paper};
use crate::print::style::Style;
use crate::print::{amount, escape, json, live, time};

/// Of arguments no more is shown in one line, in columns.
const ARGUMENTS: usize = 60;
/// Of one tool's result no more lines are shown.
const RESULT_LINES: usize = 60;
/// A line of a result is cut here, in columns.
const RESULT_WIDTH: usize = 400;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Detail {
    /// Arguments and results of tools whole.
    pub(super) tools: bool,
    /// What the model thinks.
    pub(super) thinking: bool,
}

/// A tool that runs.
#[derive(Debug)]
struct Running {
    id: String,
    name: String,
    arguments: RawJson,
    progress: String,
}

/// What came last, as far as it matters for what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Text,
    Thinking,
    Tools,
}

/// One turn.
#[derive(Debug)]
pub(super) struct View {
    detail: Detail,
    paper: Paper,
    markdown: MarkdownStream,
    /// Thoughts that are no whole line yet.
    thoughts: String,
    /// Whether the model thinks, where that is not shown.
    is_thinking: bool,
    running: Vec<Running>,
    last: Last,
}

impl View {
    pub(super) fn new(detail: Detail, paper: Paper) -> Self {
        Self {
            detail,
            paper,
            markdown: MarkdownStream::new(paper),
            thoughts: String::new(),
            is_thinking: false,
            running: Vec::new(),
            last: Last::Nothing,
        }
    }

    /// Takes an event; gives the lines that stay.
    pub(super) fn take(&mut self, event: TurnEvent) -> Vec<String> {
        match event {
            TurnEvent::Chunk(text) => self.text(&text),
            TurnEvent::Thinking(text) => self.thinking(&text),
            TurnEvent::Reset => {
                let mut lines = self.break_off();
                lines.push(self.faint("(the answer begins again; what stands above does not count)"));
                lines
            }
            TurnEvent::ToolCall(call) => self.call(call),
            TurnEvent::ToolProgress(progress) => {
                self.progress(&progress);
                Vec::new()
            }
            TurnEvent::ToolResult(result) => self.result(&result),
            TurnEvent::Notice(message) => {
                let mut lines = self.break_off();
                let mark = Style::Warning.paint("note:", self.paper.colour);
                lines.push(format!("{mark} {}", escape::prose(&message)));
                lines
            }
            TurnEvent::Done(totals) => self.end(&totals, None),
            TurnEvent::Aborted(totals) => self.end(&totals, Some("(stopped; what was said stays)")),
            TurnEvent::Failed(_) => self.break_off(),
            TurnEvent::Started(_) => Vec::new(),
        }
    }

    /// The lines that still change.
    pub(super) fn rows(&self) -> Vec<String> {
        let mut rows = match self.last {
            Last::Text => self.markdown.tail(),
            Last::Thinking if !self.thoughts.is_empty() => vec![self.faint(&escape::prose(&self.thoughts))],
            Last::Nothing if !self.is_thinking => vec![self.faint("…")],
            _ => Vec::new(),
        };
        rows.extend(self.is_thinking.then(|| self.faint("thinking…")));
        for running in &self.running {
            let mut row = format!(
                "{} {}",
                self.faint("…"),
                Style::Name.paint(&escape::line(&running.name), self.paper.colour)
            );
            if !self.detail.tools {
                row.push_str(&self.short(&running.arguments));
            }
            if !running.progress.is_empty() {
                row.push_str(&format!("  {}", running.progress));
            }
            rows.push(row);
        }
        rows
    }

    /// What is finished of what has begun: something else is to be said.
    pub(super) fn break_off(&mut self) -> Vec<String> {
        let mut lines = self.markdown.finish();
        let thoughts = std::mem::take(&mut self.thoughts);
        if !thoughts.trim().is_empty() {
            lines.push(self.faint(&escape::prose(&thoughts)));
        }
        lines
    }

    fn text(&mut self, text: &str) -> Vec<String> {
        let mut lines = self.turn_to(Last::Text);
        lines.extend(self.markdown.push(text));
        lines
    }

    fn thinking(&mut self, text: &str) -> Vec<String> {
        if !self.detail.thinking {
            self.is_thinking = true;
            return Vec::new();
        }
        let mut lines = self.turn_to(Last::Thinking);
        self.thoughts.push_str(text);
        while let Some(end) = self.thoughts.find('\n') {
            let rest = self.thoughts.split_off(end + 1);
            let line = std::mem::replace(&mut self.thoughts, rest);
            lines.push(self.faint(&escape::prose(line.trim_end())));
        }
        lines
    }

    fn call(&mut self, call: ToolCall) -> Vec<String> {
        let mut lines = self.turn_to(Last::Tools);
        if self.detail.tools {
            lines.push(format!("{} {}", self.faint("→"), self.name(&call.name)));
            lines.extend(self.indented(&json::pretty(call.args.get())));
        }
        let ToolCall { id, name, args: arguments } = call;
        self.running.push(Running { id, name, arguments, progress: String::new() });
        lines
    }

    fn progress(&mut self, progress: &ToolProgress) {
        let Some(running) = self.running.iter_mut().find(|running| running.id == progress.id) else { return };
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

    fn result(&mut self, result: &ToolResult) -> Vec<String> {
        let mut lines = self.turn_to(Last::Tools);
        let at = self.running.iter().position(|running| running.id == result.id);
        let arguments = at.map(|at| self.running.remove(at).arguments);
        let (mark, style) = if result.is_success() { ("✓", Style::Good) } else { ("✗", Style::Error) };
        let mut line =
            format!("{} {}", Style::paint(style, mark, self.paper.colour), self.name(&result.name));
        if let Some(arguments) = arguments.filter(|_| !self.detail.tools) {
            line.push_str(&self.short(&arguments));
        }
        if let Some(took) = result.duration_ms {
            line.push_str(&self.faint(&format!("  {}", time::duration(took))));
        }
        if !result.is_success() {
            let code = result.code.as_deref().unwrap_or("error");
            let words = match &result.message {
                Some(message) => format!("{message} ({code})"),
                None => code.to_owned(),
            };
            line.push_str(&format!("  {}", Style::Error.paint(&escape::line(&words), self.paper.colour)));
        }
        lines.push(line);
        if let Some(hint) = result.hint.as_ref().filter(|_| !result.is_success()) {
            lines.push(self.faint(&format!("  hint: {}", escape::line(hint))));
        }
        if let Some(result) = result.result.as_ref().filter(|_| self.detail.tools) {
            let text = result.to::<String>().unwrap_or_else(|_| json::pretty(result.get()));
            lines.extend(self.indented(&text));
        }
        lines
    }

    fn end(&mut self, totals: &Totals, said: Option<&str>) -> Vec<String> {
        let mut lines = self.break_off();
        lines.extend(said.map(|said| self.faint(said)));
        let took =
            amount::of_turn(&totals.usage.unwrap_or_default(), totals.cost, totals.currency.as_deref());
        lines.extend(took.map(|took| self.faint(&took)));
        self.running.clear();
        self.is_thinking = false;
        lines
    }

    /// Something begins; gives what has to be said first. Text, thoughts and tools stand apart.
    fn turn_to(&mut self, next: Last) -> Vec<String> {
        self.is_thinking = false;
        if self.last == next {
            return Vec::new();
        }
        let mut lines = self.break_off();
        if self.last != Last::Nothing {
            lines.push(String::new());
        }
        self.last = next;
        lines
    }

    /// Arguments in a few words; nothing where there are none.
    fn short(&self, arguments: &RawJson) -> String {
        match arguments.get() {
            "{}" => String::new(),
            text => self.faint(&format!(" {}", live::cut(&escape::line(text), ARGUMENTS))),
        }
    }

    fn name(&self, name: &str) -> String {
        Style::Name.paint(&escape::line(name), self.paper.colour)
    }

    fn faint(&self, text: &str) -> String {
        Style::Faint.paint(text, self.paper.colour)
    }

    /// Lines of a value, set in, and no more of them than somebody reads.
    fn indented(&self, text: &str) -> Vec<String> {
        let escaped = escape::lines(text).replace('\t', "    ");
        let mut lines: Vec<_> = escaped
            .lines()
            .take(RESULT_LINES)
            .map(|line| self.faint(&format!("    {}", live::cut(line, RESULT_WIDTH))))
            .collect();
        let left = escaped.lines().count().saturating_sub(RESULT_LINES);
        if left > 0 {
            lines
                .push(self.faint(&format!("    (and {left} more lines; `toolway calls show` has them all)")));
        }
        lines
    }
}

#[cfg(test)]
mod tests;
