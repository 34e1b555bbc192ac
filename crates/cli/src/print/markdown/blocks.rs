//! Blocks, one after the other: what each looks like, and what stands before its lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::spans::{Look, Span, paint, width, wrap};
use super::table::Table;
use super::{Paper, parser};
use crate::print::escape;

/// Before a line of code.
const CODE_INDENT: &str = "    ";
/// A rule is not longer than this.
const RULE: usize = 40;
/// However deep things stand in one another, so many columns are left for their text.
const LEAST: usize = 10;

/// The lines of a text. `first` is the number that its first list begins with, where that goes on from another.
pub(super) fn render(text: &str, first: Option<u64>, paper: Paper) -> Vec<String> {
    let parsed = parser(text);
    let mut defined: Vec<_> = parsed
        .reference_definitions()
        .iter()
        .map(|(name, link)| (link.span.start, format!("[{name}]: {}", link.dest)))
        .collect();
    defined.sort();
    let mut renderer = Renderer::new(first, paper);
    for event in parsed {
        renderer.take(event);
    }
    // Where a link leads is said at the end, as it was written: what refers to it may have been shown before.
    for (_, definition) in defined {
        renderer.begin_block();
        renderer.inline.push(Span::new(escape::prose(&definition), Look::FAINT));
        renderer.flush();
    }
    renderer.flush();
    renderer.lines
}

/// What stands before the first line of code.
pub(super) fn code_head(language: &str, paper: Paper) -> Option<String> {
    let language = escape::line(language.trim());
    match paper.colour {
        false => Some(format!("```{language}")),
        true if language.is_empty() => None,
        true => Some(paint(&[Span::new(format!("{CODE_INDENT}{language}"), Look::FAINT)], true)),
    }
}

/// A line of code. It is not broken: whoever copies it wants it as it is.
pub(super) fn code_line(line: &str, paper: Paper) -> String {
    let text = escape::line(line.replace('\t', "    ").trim_end());
    let indent = if paper.colour && !text.is_empty() { CODE_INDENT } else { "" };
    let span = Span::new(text, Look { code: true, ..Look::default() });
    format!("{indent}{}", paint(&[span], paper.colour))
}

/// What stands after the last line of code.
pub(super) fn code_end(paper: Paper) -> Option<String> {
    (!paper.colour).then(|| "```".to_owned())
}

/// What stands before the lines of what a block holds.
#[derive(Debug)]
struct Holder {
    /// Before the first line, until that has come.
    first: Option<String>,
    /// Before all others.
    rest: String,
}

#[derive(Debug)]
struct Code {
    language: String,
    text: String,
}

#[derive(Debug)]
struct Renderer {
    paper: Paper,
    lines: Vec<String>,
    holders: Vec<Holder>,
    /// The lists that are open, with the number that comes next.
    lists: Vec<Option<u64>>,
    first_number: Option<u64>,
    inline: Vec<Span>,
    looks: Vec<Look>,
    /// Where the links that are open lead, and where in the line they begin.
    links: Vec<(String, usize)>,
    code: Option<Code>,
    table: Option<Table>,
    /// Whether an empty line belongs before the next block.
    gap: bool,
}

impl Renderer {
    fn new(first_number: Option<u64>, paper: Paper) -> Self {
        Self {
            paper,
            lines: Vec::new(),
            holders: Vec::new(),
            lists: Vec::new(),
            first_number,
            inline: Vec::new(),
            looks: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            gap: false,
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or_default()
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(text) => {
                let look = Look { code: true, ..self.look() };
                let mark = if self.paper.colour { "" } else { "`" };
                self.inline.push(Span::new(format!("{mark}{}{mark}", escape::prose(&text)), look));
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                for line in text.split_inclusive('\n') {
                    self.push(line.trim_end_matches('\n'));
                    if line.ends_with('\n') {
                        self.inline.push(Span::new("\n", Look::default()));
                    }
                }
            }
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.inline.push(Span::new("\n", Look::default())),
            Event::Rule => {
                self.begin_block();
                let length = self.room().min(RULE);
                self.inline.push(Span::new("─".repeat(length), Look::FAINT));
                self.end_block();
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            // Not asked of the parser; what it would say of them is text.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text);
            }
        }
    }

    fn push(&mut self, text: &str) {
        let look = self.look();
        self.inline.push(Span::new(escape::prose(text), look));
    }

    /// A mark of Markdown's own, where colour does not say the same.
    fn mark(&mut self, mark: &str) {
        if !self.paper.colour {
            self.inline.push(Span::new(mark, Look::default()));
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let look = self.look();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.mark(&format!("{} ", "#".repeat(level as usize)));
                let underlined = level == HeadingLevel::H1;
                self.looks.push(Look { bold: true, underlined, ..look });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                let mark = if self.paper.colour { "│ " } else { "> " };
                self.hold(None, mark.to_owned());
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Code { language, text: String::new() });
            }
            Tag::List(first) => {
                self.begin_block();
                let first = first.map(|first| self.first_number.take().unwrap_or(first));
                self.lists.push(first);
            }
            Tag::Item => {
                self.begin_block();
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ if self.paper.colour => "• ".to_owned(),
                    _ => "- ".to_owned(),
                };
                let rest = " ".repeat(marker.chars().count());
                self.hold(Some(marker), rest);
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead => {
                self.looks.push(Look { bold: true, ..look });
                self.table.iter_mut().for_each(Table::row);
            }
            Tag::TableRow => self.table.iter_mut().for_each(Table::row),
            Tag::Emphasis => {
                self.mark("*");
                self.looks.push(Look { italic: true, ..look });
            }
            Tag::Strong => {
                self.mark("**");
                self.looks.push(Look { bold: true, ..look });
            }
            Tag::Strikethrough => {
                self.mark("~~");
                self.looks.push(Look { struck: true, ..look });
            }
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.inline.len()));
                self.looks.push(Look { underlined: true, ..look });
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ");
                self.links.push((dest_url.to_string(), self.inline.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.looks.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.holders.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.gap = true;
                }
            }
            TagEnd::Item => {
                self.flush();
                // An item of nothing is one all the same.
                if self.holders.last().is_some_and(|holder| holder.first.is_some()) {
                    self.emit(&[]);
                }
                self.holders.pop();
            }
            TagEnd::Table => {
                let lines = self.table.take().map(|table| table.lines(self.room())).unwrap_or_default();
                for line in lines {
                    self.emit(&line);
                }
                self.gap = true;
            }
            TagEnd::TableHead => {
                self.looks.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Emphasis => self.end_look("*"),
            TagEnd::Strong => self.end_look("**"),
            TagEnd::Strikethrough => self.end_look("~~"),
            TagEnd::Link => {
                self.looks.pop();
                self.end_link("");
            }
            TagEnd::Image => self.end_link("]"),
            _ => {}
        }
    }

    fn end_look(&mut self, mark: &str) {
        self.looks.pop();
        self.mark(mark);
    }

    /// Says where a link leads, where its text does not.
    fn end_link(&mut self, close: &str) {
        let Some((leads_to, start)) = self.links.pop() else { return };
        if !close.is_empty() {
            self.push(close);
        }
        let shown: String = self.inline.iter().skip(start).map(|span| span.text.as_str()).collect();
        let leads_to = escape::prose(&leads_to);
        if shown != leads_to && !leads_to.is_empty() {
            self.inline.push(Span::new(format!(" ({leads_to})"), Look::FAINT));
        }
    }

    fn end_code(&mut self) {
        let Some(Code { language, text }) = self.code.take() else { return };
        let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
        let code = lines.map(|line| code_line(line.trim_end_matches('\r'), self.paper));
        let whole = code_head(&language, self.paper).into_iter().chain(code).chain(code_end(self.paper));
        for line in whole.collect::<Vec<_>>() {
            self.emit_painted(&line);
        }
        self.gap = true;
    }

    /// What comes is apart from what came.
    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let before = self.before();
            self.lines.push(before.trim_end().to_owned());
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Puts what follows behind a mark, as far as that leaves room.
    fn hold(&mut self, first: Option<String>, rest: String) {
        let leaves = self.room().saturating_sub(rest.chars().count());
        let (first, rest) = if leaves > LEAST { (first, rest) } else { (None, String::new()) };
        self.holders.push(Holder { first, rest });
    }

    /// The columns that are left for text.
    fn room(&self) -> usize {
        let taken: usize = self.holders.iter().map(|holder| holder.rest.chars().count()).sum();
        self.paper.width.saturating_sub(taken).max(LEAST)
    }

    /// What stands before the next line.
    fn before(&mut self) -> String {
        self.holders.iter_mut().map(|it| it.first.take().unwrap_or_else(|| it.rest.clone())).collect()
    }

    /// Ends the text that has come.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.is_empty() || (width(&inline) == 0 && self.holders.is_empty()) {
            return;
        }
        let mut lines = wrap(&inline, self.room());
        // A line break at the very end breaks nothing.
        while lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        for line in lines {
            self.emit(&line);
        }
    }

    fn emit(&mut self, line: &[Span]) {
        let text = paint(line, self.paper.colour);
        self.emit_painted(&text);
    }

    fn emit_painted(&mut self, text: &str) {
        let before = self.before();
        self.lines.push(format!("{before}{text}").trim_end().to_owned());
    }
}
