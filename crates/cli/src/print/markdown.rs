//! Markdown as a terminal can show it: headings, emphasis, lists, quotes, code, tables, and links with where they
//! lead. All text is escaped, however it was written: what a model says can move no cursor. Where there is no colour
//! the marks stay, so that nothing of the meaning goes.

mod blocks;
mod spans;
mod stream;
mod table;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::environment::OutputStream;
pub(crate) use stream::MarkdownStream;

/// Lines longer than this are hard to read.
const MAX_WIDTH: usize = 100;
/// Narrower than this nothing is laid out; a terminal breaks its own lines then.
const MIN_WIDTH: usize = 20;
/// How wide a terminal is taken to be that does not say it.
const DEFAULT_WIDTH: usize = 80;

/// What Markdown is laid out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MarkdownLayout {
    /// Columns that a line may take.
    pub(crate) width: usize,
    /// Whether colour may be used.
    pub(crate) colour: bool,
}

impl MarkdownLayout {
    /// As a stream is.
    pub(crate) fn from_stream(stream: OutputStream) -> Self {
        Self {
            width: stream.width.unwrap_or(DEFAULT_WIDTH).clamp(MIN_WIDTH, MAX_WIDTH),
            colour: stream.colour,
        }
    }
}

/// The lines of a whole text.
pub(crate) fn render(text: &str, paper: MarkdownLayout) -> Vec<String> {
    blocks::render(text, None, paper)
}

fn parser(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// What stands at the top of a text, one after the other.
#[derive(Debug, PartialEq, Eq)]
struct MarkdownBlock {
    /// Where its lines are; those between two blocks may belong to neither.
    lines: Range<usize>,
    kind: BlockKind,
}

#[derive(Debug, PartialEq, Eq)]
enum BlockKind {
    /// Code between fences.
    Fenced,
    /// A list: where the lines of its items start.
    List {
        first: Option<u64>,
        items: Vec<usize>,
    },
    Other,
}

/// The blocks of a text.
fn split_blocks(text: &str) -> Vec<MarkdownBlock> {
    let mut found: Vec<MarkdownBlock> = Vec::new();
    let mut depth = 0_usize;
    let line_start =
        |at: usize| text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    for (event, range) in parser(text).into_offset_iter() {
        match &event {
            Event::Start(tag) if depth == 0 => {
                let kind = match tag {
                    Tag::CodeBlock(pulldown_cmark::CodeBlockKind::Fenced(_)) => BlockKind::Fenced,
                    Tag::List(first) => BlockKind::List { first: *first, items: Vec::new() },
                    _ => BlockKind::Other,
                };
                found.push(MarkdownBlock { lines: line_start(range.start)..range.end, kind });
            }
            Event::Start(Tag::Item) if depth == 1 => {
                if let Some(MarkdownBlock { kind: BlockKind::List { items, .. }, .. }) = found.last_mut() {
                    items.push(line_start(range.start));
                }
            }
            Event::Rule if depth == 0 => {
                found.push(MarkdownBlock {
                    lines: line_start(range.start)..range.end,
                    kind: BlockKind::Other,
                });
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
