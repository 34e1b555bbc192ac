//! Renders streamed Markdown: returns lines once they cannot change any more, and a preview of the rest.

use super::blocks::{code_end, code_head, code_line, render};
use super::{BlockKind, MarkdownBlock, MarkdownLayout, split_blocks};

/// Maximum size of unfinished text in bytes; longer text counts as finished.
const MAX_OPEN: usize = 64 << 10;
/// Maximum size of a preview in bytes.
const MAX_SHOWN: usize = 16 << 10;

/// Fenced code that is not closed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CodeFence {
    mark: char,
    length: usize,
}

/// Separation between the printed lines and the next ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockSpacing {
    /// Nothing was printed yet.
    Start,
    /// An empty line separates them.
    Separate,
    /// They belong together.
    Adjoining,
}

/// Renderer of streamed Markdown.
#[derive(Debug)]
pub(crate) struct MarkdownStream {
    layout: MarkdownLayout,
    /// Text that was not printed yet.
    pending: String,
    fence: Option<CodeFence>,
    spacing: BlockSpacing,
    /// Number of the next item, if the open list began in printed text.
    number: Option<u64>,
}

impl MarkdownStream {
    /// Creates an empty stream.
    pub(crate) fn new(layout: MarkdownLayout) -> Self {
        Self { layout, pending: String::new(), fence: None, spacing: BlockSpacing::Start, number: None }
    }

    /// Adds text and returns the lines that it finishes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        self.pending.push_str(text);
        let mut lines = Vec::new();
        if text.contains('\n') {
            while self.emit_finished(&mut lines) {}
        }
        lines
    }

    /// Returns a preview of the unfinished text.
    pub(crate) fn unfinished_lines(&self) -> Vec<String> {
        if self.pending.len() > MAX_SHOWN {
            return vec!["…".to_owned()];
        }
        if self.fence.is_some() {
            let line = self.pending.trim_end_matches('\n');
            return if line.is_empty() { Vec::new() } else { vec![code_line(line, self.layout)] };
        }
        let mut lines = render(&self.pending, self.number, self.layout);
        if self.spacing == BlockSpacing::Separate && !lines.is_empty() {
            lines.insert(0, String::new());
        }
        lines
    }

    /// Ends the text and returns the remaining lines. The stream is empty afterwards.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.pending.is_empty() && !self.pending.ends_with('\n') {
            self.pending.push('\n');
        }
        while self.emit_finished(&mut lines) {}
        if self.fence.take().is_some() {
            lines.extend(code_end(self.layout));
        }
        let all = self.pending.len();
        self.emit(all, &mut lines);
        *self = Self::new(self.layout);
        lines
    }

    /// Number of unfinished bytes.
    #[cfg(test)]
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Emits finished blocks. Returns true if there may be more.
    fn emit_finished(&mut self, lines: &mut Vec<String>) -> bool {
        if self.fence.is_some() {
            return self.emit_finished_code(lines);
        }
        let whole = self.pending.rfind('\n').map_or(0, |end| end + 1);
        let blocks = split_blocks(self.pending.get(..whole).unwrap_or_default());
        match blocks.as_slice() {
            [] => false,
            [.., _, last] => {
                self.emit(last.lines.start, lines);
                true
            }
            [MarkdownBlock { lines: at, kind: BlockKind::Fenced }] => {
                let start = at.start;
                self.begin_code(start, lines);
                true
            }
            [MarkdownBlock { kind: BlockKind::List { first, items }, .. }] if items.len() > 1 => {
                let (first, given) = (*first, items.len() - 1);
                let end = items.last().copied().unwrap_or_default();
                let is_loose = self.pending.get(..end).is_some_and(|before| before.ends_with("\n\n"));
                let number = self.number.or(first);
                self.emit(end, lines);
                self.number = first.and(number).map(|number| number.saturating_add(given as u64));
                self.spacing = if is_loose { BlockSpacing::Separate } else { BlockSpacing::Adjoining };
                false
            }
            [_] if whole > MAX_OPEN => {
                self.emit(whole, lines);
                self.spacing = BlockSpacing::Adjoining;
                true
            }
            [_] => false,
        }
    }

    /// Emits the first `length` bytes.
    fn emit(&mut self, length: usize, lines: &mut Vec<String>) {
        let rest = self.pending.split_off(length);
        let text = std::mem::replace(&mut self.pending, rest);
        let shown = render(&text, self.number.take(), self.layout);
        if shown.is_empty() {
            return;
        }
        if self.spacing == BlockSpacing::Separate {
            lines.push(String::new());
        }
        lines.extend(shown);
        self.spacing = BlockSpacing::Separate;
    }

    /// Starts fenced code after its opening line.
    fn begin_code(&mut self, start: usize, lines: &mut Vec<String>) {
        let after = self.pending.get(start..).unwrap_or_default();
        let line = after.lines().next().unwrap_or_default();
        let opening = line.trim_start();
        let mark = opening.chars().next().unwrap_or('`');
        let language = opening.trim_start_matches(mark);
        let length = opening.chars().count() - language.chars().count();
        if self.spacing == BlockSpacing::Separate {
            lines.push(String::new());
        }
        lines.extend(code_head(language, self.layout));
        let end = start + line.len() + 1;
        self.fence = Some(CodeFence { mark, length });
        self.spacing = BlockSpacing::Separate;
        self.pending.drain(..end.min(self.pending.len()));
    }

    /// Emits complete lines of code. Returns true if the code has ended.
    fn emit_finished_code(&mut self, lines: &mut Vec<String>) -> bool {
        let Some(fence) = self.fence.clone() else { return true };
        let mut given = 0;
        let mut ended = false;
        for line in self.pending.split_inclusive('\n') {
            let Some(text) = line.strip_suffix('\n') else { break };
            given += line.len();
            if fence.is_closed_by(text) {
                ended = true;
                break;
            }
            lines.push(code_line(text.trim_end_matches('\r'), self.layout));
        }
        self.pending.drain(..given);
        if ended {
            self.fence = None;
            lines.extend(code_end(self.layout));
        }
        ended
    }
}

impl CodeFence {
    /// True if the line closes the fence: at least as many of the same marks, indented by at most three spaces, and
    /// nothing after them (CommonMark 0.31, 4.5).
    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let marks = text.trim_end();
        line.len() - text.len() <= 3
            && marks.chars().all(|c| c == self.mark)
            && marks.chars().count() >= self.length
    }
}
