//! Markdown that is still being written: what can't change any more is given out for good, the rest as it looks now.

use super::blocks::{code_end, code_head, code_line, render};
use super::{Block, BlockKind, Paper, blocks_of};

/// Text that is not finished is held back up to this, in bytes; beyond it, it counts as finished.
const MAX_OPEN: usize = 64 << 10;
/// Of more than this, in bytes, it is not shown how it looks before it is finished.
const MAX_SHOWN: usize = 16 << 10;

/// Code between fences whose end has not come.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
}

/// What stands between what was given out and what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Between {
    /// Nothing was given out.
    Nothing,
    /// They are apart.
    Apart,
    /// They belong together.
    Together,
}

/// Markdown as it comes.
#[derive(Debug)]
pub(crate) struct MarkdownStream {
    paper: Paper,
    /// What was not given out.
    open: String,
    fence: Option<Fence>,
    between: Between,
    /// The number of the next item, where the list that is open began before what is held.
    number: Option<u64>,
}

impl MarkdownStream {
    /// Nothing yet.
    pub(crate) fn new(paper: Paper) -> Self {
        Self { paper, open: String::new(), fence: None, between: Between::Nothing, number: None }
    }

    /// Takes more text; gives the lines that are finished by it.
    pub(crate) fn push(&mut self, text: &str) -> Vec<String> {
        self.open.push_str(text);
        let mut lines = Vec::new();
        if text.contains('\n') {
            while self.settle(&mut lines) {}
        }
        lines
    }

    /// How what is not finished looks now.
    pub(crate) fn tail(&self) -> Vec<String> {
        if self.open.len() > MAX_SHOWN {
            return vec!["…".to_owned()];
        }
        if self.fence.is_some() {
            let line = self.open.trim_end_matches('\n');
            return if line.is_empty() { Vec::new() } else { vec![code_line(line, self.paper)] };
        }
        let mut lines = render(&self.open, self.number, self.paper);
        if self.between == Between::Apart && !lines.is_empty() {
            lines.insert(0, String::new());
        }
        lines
    }

    /// The rest: nothing more comes. Afterwards it is as new.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.open.is_empty() && !self.open.ends_with('\n') {
            self.open.push('\n');
        }
        while self.settle(&mut lines) {}
        if self.fence.take().is_some() {
            lines.extend(code_end(self.paper));
        }
        let all = self.open.len();
        self.give(all, &mut lines);
        *self = Self::new(self.paper);
        lines
    }

    /// How many bytes are held back.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.open.len()
    }

    /// Gives out what can't change any more; whether there may be more.
    fn settle(&mut self, lines: &mut Vec<String>) -> bool {
        if self.fence.is_some() {
            return self.settle_code(lines);
        }
        let whole = self.open.rfind('\n').map_or(0, |end| end + 1);
        let blocks = blocks_of(self.open.get(..whole).unwrap_or_default());
        match blocks.as_slice() {
            [] => false,
            [.., _, last] => {
                self.give(last.lines.start, lines);
                true
            }
            [Block { lines: at, kind: BlockKind::Fenced }] => {
                let start = at.start;
                self.begin_code(start, lines);
                true
            }
            [Block { kind: BlockKind::List { first, items }, .. }] if items.len() > 1 => {
                let (first, given) = (*first, items.len() - 1);
                let end = items.last().copied().unwrap_or_default();
                let is_loose = self.open.get(..end).is_some_and(|before| before.ends_with("\n\n"));
                let number = self.number.or(first);
                self.give(end, lines);
                self.number = first.and(number).map(|number| number.saturating_add(given as u64));
                self.between = if is_loose { Between::Apart } else { Between::Together };
                false
            }
            [_] if whole > MAX_OPEN => {
                self.give(whole, lines);
                self.between = Between::Together;
                true
            }
            [_] => false,
        }
    }

    /// Gives out so many bytes.
    fn give(&mut self, length: usize, lines: &mut Vec<String>) {
        let rest = self.open.split_off(length);
        let text = std::mem::replace(&mut self.open, rest);
        let shown = render(&text, self.number.take(), self.paper);
        if shown.is_empty() {
            return;
        }
        if self.between == Between::Apart {
            lines.push(String::new());
        }
        lines.extend(shown);
        self.between = Between::Apart;
    }

    /// The line that opens code has come; what stands before it is empty.
    fn begin_code(&mut self, start: usize, lines: &mut Vec<String>) {
        let after = self.open.get(start..).unwrap_or_default();
        let line = after.lines().next().unwrap_or_default();
        let opening = line.trim_start();
        let mark = opening.chars().next().unwrap_or('`');
        let language = opening.trim_start_matches(mark);
        let length = opening.chars().count() - language.chars().count();
        if self.between == Between::Apart {
            lines.push(String::new());
        }
        lines.extend(code_head(language, self.paper));
        let end = start + line.len() + 1;
        self.fence = Some(Fence { mark, length });
        self.between = Between::Apart;
        self.open.drain(..end.min(self.open.len()));
    }

    /// Gives out the lines of code that are whole; whether the code has ended.
    fn settle_code(&mut self, lines: &mut Vec<String>) -> bool {
        let Some(fence) = self.fence.clone() else { return true };
        let mut given = 0;
        let mut ended = false;
        for line in self.open.split_inclusive('\n') {
            let Some(text) = line.strip_suffix('\n') else { break };
            given += line.len();
            if fence.is_closed_by(text) {
                ended = true;
                break;
            }
            lines.push(code_line(text.trim_end_matches('\r'), self.paper));
        }
        self.open.drain(..given);
        if ended {
            self.fence = None;
            lines.extend(code_end(self.paper));
        }
        ended
    }
}

impl Fence {
    /// As CommonMark 0.31, 4.5: at least as many of the same marks, indented by three spaces at most, and nothing
    /// after them.
    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let marks = text.trim_end();
        line.len() - text.len() <= 3
            && marks.chars().all(|c| c == self.mark)
            && marks.chars().count() >= self.length
    }
}
