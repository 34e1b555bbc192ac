//! Renders Markdown for a terminal: headings, emphasis, lists, quotes, code, tables, and links with their targets. All
//! text is escaped, so that a model's answer cannot send control sequences. Without colours, the Markdown marks stay,
//! so that no meaning is lost.

mod blocks;
mod spans;
mod stream;
mod table;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::environment::OutputStream;
pub(crate) use stream::MarkdownStream;

/// Maximum line width, for readability.
const MAX_WIDTH: usize = 100;
/// Minimum line width; narrower terminals wrap the lines themselves.
const MIN_WIDTH: usize = 20;
/// Line width if the terminal's width is unknown.
const DEFAULT_WIDTH: usize = 80;

/// Width and colours of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MarkdownLayout {
    /// Maximum line width in columns.
    pub(crate) width: usize,
    /// True if colours are allowed.
    pub(crate) colour: bool,
}

impl MarkdownLayout {
    /// Returns the layout for a stream.
    pub(crate) fn from_stream(stream: OutputStream) -> Self {
        Self {
            width: stream.width.unwrap_or(DEFAULT_WIDTH).clamp(MIN_WIDTH, MAX_WIDTH),
            colour: stream.colour,
        }
    }
}

/// Renders a complete text to lines.
pub(crate) fn render(text: &str, layout: MarkdownLayout) -> Vec<String> {
    blocks::render(text, None, layout)
}

fn parser(text: &str) -> Parser<'_> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// A top-level block of a text.
#[derive(Debug, PartialEq, Eq)]
struct MarkdownBlock {
    /// Byte range of its lines; lines between two blocks may belong to neither.
    lines: Range<usize>,
    kind: BlockKind,
}

#[derive(Debug, PartialEq, Eq)]
enum BlockKind {
    /// Fenced code.
    Fenced,
    /// A list, with the byte offsets of its items.
    List {
        first: Option<u64>,
        items: Vec<usize>,
    },
    Other,
}

/// Splits a text into top-level blocks.
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
