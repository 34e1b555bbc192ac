//! Renders Markdown blocks with the prefixes of their lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::spans::{StyledSpan, TextStyle, paint, width, wrap};
use super::table::MarkdownTable;
use super::{MarkdownLayout, parser};
use crate::print::escape;

/// Indentation of code.
const CODE_INDENT: &str = "    ";
/// Maximum length of a horizontal rule.
const RULE_WIDTH: usize = 40;
/// Minimum text width inside nested blocks.
const MIN_WIDTH: usize = 10;

/// Renders a text. `first` is the first number of its first list if that continues an earlier one.
pub(super) fn render(text: &str, first: Option<u64>, layout: MarkdownLayout) -> Vec<String> {
    let parsed = parser(text);
    let mut defined: Vec<_> = parsed
        .reference_definitions()
        .iter()
        .map(|(name, link)| (link.span.start, format!("[{name}]: {}", link.dest)))
        .collect();
    defined.sort();
    let mut renderer = MarkdownRenderer::new(first, layout);
    for event in parsed {
        renderer.handle_event(event);
    }
    // Print link definitions at the end: the references to them may already be on the screen.
    for (_, definition) in defined {
        renderer.begin_block();
        renderer.inline.push(StyledSpan::new(escape::prose(&definition), TextStyle::FAINT));
        renderer.flush();
    }
    renderer.flush();
    renderer.lines
}

/// Returns the line before code.
pub(super) fn code_head(language: &str, layout: MarkdownLayout) -> Option<String> {
    let language = escape::line(language.trim());
    match layout.colour {
        false => Some(format!("```{language}")),
        true if language.is_empty() => None,
        true => Some(paint(&[StyledSpan::new(format!("{CODE_INDENT}{language}"), TextStyle::FAINT)], true)),
    }
}

/// Formats a line of code. It is not wrapped, so that users can copy it.
pub(super) fn code_line(line: &str, layout: MarkdownLayout) -> String {
    let text = escape::line(line.replace('\t', "    ").trim_end());
    let indent = if layout.colour && !text.is_empty() { CODE_INDENT } else { "" };
    let span = StyledSpan::new(text, TextStyle { code: true, ..TextStyle::default() });
    format!("{indent}{}", paint(&[span], layout.colour))
}

/// Returns the line after code.
pub(super) fn code_end(layout: MarkdownLayout) -> Option<String> {
    (!layout.colour).then(|| "```".to_owned())
}

/// Line prefixes of a container block.
#[derive(Debug)]
struct ContainerPrefix {
    /// Prefix of the first line, until it is used.
    first: Option<String>,
    /// Prefix of all other lines.
    rest: String,
}

#[derive(Debug)]
struct PendingCodeBlock {
    language: String,
    text: String,
}

#[derive(Debug)]
struct MarkdownRenderer {
    layout: MarkdownLayout,
    lines: Vec<String>,
    containers: Vec<ContainerPrefix>,
    /// Open lists, with the number of the next item.
    lists: Vec<Option<u64>>,
    first_number: Option<u64>,
    inline: Vec<StyledSpan>,
    styles: Vec<TextStyle>,
    /// Targets of the open links, and their start in the line.
    links: Vec<(String, usize)>,
    code: Option<PendingCodeBlock>,
    table: Option<MarkdownTable>,
    /// True if an empty line belongs before the next block.
    needs_blank_line: bool,
}

impl MarkdownRenderer {
    fn new(first_number: Option<u64>, layout: MarkdownLayout) -> Self {
        Self {
            layout,
            lines: Vec::new(),
            containers: Vec::new(),
            lists: Vec::new(),
            first_number,
            inline: Vec::new(),
            styles: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            needs_blank_line: false,
        }
    }

    fn current_style(&self) -> TextStyle {
        self.styles.last().copied().unwrap_or_default()
    }

    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.push_text(&text),
            },
            Event::Code(text) => {
                let look = TextStyle { code: true, ..self.current_style() };
                let mark = if self.layout.colour { "" } else { "`" };
                self.inline.push(StyledSpan::new(format!("{mark}{}{mark}", escape::prose(&text)), look));
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                for line in text.split_inclusive('\n') {
                    self.push_text(line.trim_end_matches('\n'));
                    if line.ends_with('\n') {
                        self.inline.push(StyledSpan::new("\n", TextStyle::default()));
                    }
                }
            }
            Event::SoftBreak => self.push_text(" "),
            Event::HardBreak => self.inline.push(StyledSpan::new("\n", TextStyle::default())),
            Event::Rule => {
                self.begin_block();
                let length = self.available_width().min(RULE_WIDTH);
                self.inline.push(StyledSpan::new("─".repeat(length), TextStyle::FAINT));
                self.end_block();
            }
            Event::TaskListMarker(done) => self.push_text(if done { "[x] " } else { "[ ] " }),
            // These extensions are disabled; treat them as text.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push_text(&text);
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        let look = self.current_style();
        self.inline.push(StyledSpan::new(escape::prose(text), look));
    }

    /// Adds a Markdown mark if there are no colours to replace it.
    fn add_marker(&mut self, mark: &str) {
        if !self.layout.colour {
            self.inline.push(StyledSpan::new(mark, TextStyle::default()));
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        let look = self.current_style();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.add_marker(&format!("{} ", "#".repeat(level as usize)));
                let underlined = level == HeadingLevel::H1;
                self.styles.push(TextStyle { bold: true, underlined, ..look });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                let mark = if self.layout.colour { "│ " } else { "> " };
                self.push_container(None, mark.to_owned());
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(PendingCodeBlock { language, text: String::new() });
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
                    _ if self.layout.colour => "• ".to_owned(),
                    _ => "- ".to_owned(),
                };
                let rest = " ".repeat(marker.chars().count());
                self.push_container(Some(marker), rest);
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead => {
                self.styles.push(TextStyle { bold: true, ..look });
                self.table.iter_mut().for_each(MarkdownTable::row);
            }
            Tag::TableRow => self.table.iter_mut().for_each(MarkdownTable::row),
            Tag::Emphasis => {
                self.add_marker("*");
                self.styles.push(TextStyle { italic: true, ..look });
            }
            Tag::Strong => {
                self.add_marker("**");
                self.styles.push(TextStyle { bold: true, ..look });
            }
            Tag::Strikethrough => {
                self.add_marker("~~");
                self.styles.push(TextStyle { struck: true, ..look });
            }
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.inline.len()));
                self.styles.push(TextStyle { underlined: true, ..look });
            }
            Tag::Image { dest_url, .. } => {
                self.push_text("[image: ");
                self.links.push((dest_url.to_string(), self.inline.len()));
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.needs_blank_line = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.needs_blank_line = true;
                }
            }
            TagEnd::Item => {
                self.flush();
                // Show an empty item, too.
                if self.containers.last().is_some_and(|holder| holder.first.is_some()) {
                    self.emit(&[]);
                }
                self.containers.pop();
            }
            TagEnd::Table => {
                let lines =
                    self.table.take().map(|table| table.lines(self.available_width())).unwrap_or_default();
                for line in lines {
                    self.emit(&line);
                }
                self.needs_blank_line = true;
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Emphasis => self.end_style("*"),
            TagEnd::Strong => self.end_style("**"),
            TagEnd::Strikethrough => self.end_style("~~"),
            TagEnd::Link => {
                self.styles.pop();
                self.end_link("");
            }
            TagEnd::Image => self.end_link("]"),
            _ => {}
        }
    }

    fn end_style(&mut self, mark: &str) {
        self.styles.pop();
        self.add_marker(mark);
    }

    /// Adds the target of a link, unless its text already shows it.
    fn end_link(&mut self, close: &str) {
        let Some((leads_to, start)) = self.links.pop() else { return };
        if !close.is_empty() {
            self.push_text(close);
        }
        let shown: String = self.inline.iter().skip(start).map(|span| span.text.as_str()).collect();
        let leads_to = escape::prose(&leads_to);
        if shown != leads_to && !leads_to.is_empty() {
            self.inline.push(StyledSpan::new(format!(" ({leads_to})"), TextStyle::FAINT));
        }
    }

    fn end_code(&mut self) {
        let Some(PendingCodeBlock { language, text }) = self.code.take() else { return };
        let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
        let code = lines.map(|line| code_line(line.trim_end_matches('\r'), self.layout));
        let whole = code_head(&language, self.layout).into_iter().chain(code).chain(code_end(self.layout));
        for line in whole.collect::<Vec<_>>() {
            self.emit_painted(&line);
        }
        self.needs_blank_line = true;
    }

    /// Starts a block, with an empty line before it if needed.
    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.needs_blank_line) && !self.lines.is_empty() {
            let before = self.line_prefix();
            self.lines.push(before.trim_end().to_owned());
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.needs_blank_line = true;
    }

    /// Starts a container block. Drops its prefix if too little width would remain.
    fn push_container(&mut self, first: Option<String>, rest: String) {
        let leaves = self.available_width().saturating_sub(rest.chars().count());
        let (first, rest) = if leaves > MIN_WIDTH { (first, rest) } else { (None, String::new()) };
        self.containers.push(ContainerPrefix { first, rest });
    }

    /// Returns the width available for text.
    fn available_width(&self) -> usize {
        let taken: usize = self.containers.iter().map(|holder| holder.rest.chars().count()).sum();
        self.layout.width.saturating_sub(taken).max(MIN_WIDTH)
    }

    /// Returns the prefix of the next line.
    fn line_prefix(&mut self) -> String {
        self.containers.iter_mut().map(|it| it.first.take().unwrap_or_else(|| it.rest.clone())).collect()
    }

    /// Ends the current text and emits its lines.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.is_empty() || (width(&inline) == 0 && self.containers.is_empty()) {
            return;
        }
        let mut lines = wrap(&inline, self.available_width());
        // Ignore a line break at the end.
        while lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        for line in lines {
            self.emit(&line);
        }
    }

    fn emit(&mut self, line: &[StyledSpan]) {
        let text = paint(line, self.layout.colour);
        self.emit_painted(&text);
    }

    fn emit_painted(&mut self, text: &str) {
        let before = self.line_prefix();
        self.lines.push(format!("{before}{text}").trim_end().to_owned());
    }
}
