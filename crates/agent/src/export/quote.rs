//! Somebody else's text in a Markdown document of ours: it keeps what Markdown it has, within its own part.
//!
//! A text is set as a block quote, whose every line is marked, so that nothing of it stands outside. Within it, blocks
//! of code are set anew with fences that are longer than anything in them, and spans of code likewise; everywhere else
//! what could begin HTML is written so that it does not, and pictures from elsewhere are not loaded. Where there may be
//! spans of code, a `$` begins no formula: one that ends within a span would take the span apart.

use std::borrow::Cow;

/// Longest run of backticks for which spans of code are set anew; past it they are text.
const MAX_BACKTICKS: usize = 16;

/// A text as a block quote. Ends with a line feed.
pub(super) fn block_quote(text: &str) -> String {
    // Markdown ends a line at any of these.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let spans = longest_run(&text) + 1;
    let mut quoted = String::with_capacity(text.len() + text.len() / 16 + 16);
    let mut line = |line: &str| {
        quoted.push_str(if line.is_empty() { ">" } else { "> " });
        quoted.push_str(line);
        quoted.push('\n');
    };
    let mut lines = text.split('\n');
    while let Some(now) = lines.next() {
        let Some(opening) = QuotedFence::opened_by(now) else {
            line(&neutralise_line(&indented(now), spans));
            continue;
        };
        let code: Vec<&str> = lines.by_ref().take_while(|next| !opening.is_closed_by(next)).collect();
        let fence = fence_for(&code.join("\n"));
        // Apart from what stands before and after: neither can take it in.
        line("");
        line(&format!("{fence}{}", opening.language));
        code.iter().for_each(|code| line(code));
        line(&fence);
        line("");
    }
    quoted
}

/// A text as a block of code. Ends with a line feed.
pub(super) fn code_block(language: &str, text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let fence = fence_for(&text);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// A short text within a line of Markdown: no mark in it means anything.
pub(super) fn escape_inline(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        if letter.is_ascii_punctuation() {
            words.push('\\');
        }
        words.push(letter);
    }
    words
}

/// A short text within a line of HTML.
pub(super) fn escape_html(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Without what breaks a line or changes its direction.
fn one_line(text: &str) -> String {
    let shown = |letter: char| {
        let turns =
            matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !turns
    };
    let plain = text.chars().filter(|letter| shown(*letter));
    let plain: String = plain.map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fence that nothing in a text closes.
fn fence_for(text: &str) -> String {
    "`".repeat((longest_run(text) + 1).max(3))
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// The start of a block of code.
struct QuotedFence<'t> {
    mark: char,
    length: usize,
    language: &'t str,
}

impl<'t> QuotedFence<'t> {
    fn opened_by(line: &'t str) -> Option<Self> {
        let (mark, length, info) = Self::run(line)?;
        if mark == '`' && info.contains('`') {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "+-.#_".contains(letter);
        Some(Self { mark, length, language: if language.chars().all(plain) { language } else { "" } })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        Self::run(line).is_some_and(|(mark, length, rest)| {
            mark == self.mark && length >= self.length && rest.trim().is_empty()
        })
    }

    /// The mark that a line begins with, how often, and what follows.
    fn run(line: &str) -> Option<(char, usize, &str)> {
        let start = line.trim_start_matches(' ');
        let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = start.trim_start_matches(mark);
        let length = start.len() - rest.len();
        (line.len() - start.len() <= 3 && length >= 3).then_some((mark, length, rest))
    }
}

/// A line whose indentation is of spaces alone. How wide a tab is depends on what stands before it, and a quote's mark
/// does: one that indents by four where the text stands alone may indent by two within the quote, where a fence may
/// stand behind it.
fn indented(line: &str) -> Cow<'_, str> {
    let text = line.trim_start_matches([' ', '\t']);
    let (space, _) = line.split_at(line.len() - text.len());
    if space.contains('\t') { Cow::Owned(space.replace('\t', "    ") + text) } else { Cow::Borrowed(line) }
}

/// A line without what could begin HTML or load a picture; spans of code in it are set with `spans` backticks, which
/// occur nowhere else in the text.
fn neutralise_line(line: &str, spans: usize) -> String {
    let mut safe = String::with_capacity(line.len() + 8);
    let mut rest = line;
    while let Some(at) = rest.find(['`', '<', '!', '$']) {
        let (before, from) = rest.split_at(at);
        safe.push_str(before);
        if from.starts_with('`') {
            let after = from.trim_start_matches('`');
            let (run, _) = from.split_at(from.len() - after.len());
            match find_code_span(after, run).filter(|_| spans <= MAX_BACKTICKS && !safe.ends_with('\\')) {
                Some((code, next)) => {
                    let marks = "`".repeat(spans);
                    safe.extend([marks.as_str(), code, &marks]);
                    rest = next;
                }
                None => {
                    safe.push_str(run);
                    rest = after;
                }
            }
        } else if let Some(next) = from.strip_prefix('<') {
            safe.push_str("&lt;");
            rest = next;
        } else if let Some(next) = from.strip_prefix('$') {
            // Backticks somewhere: `spans` is one more than the longest run of them.
            if spans > 1 && !is_escaped(&safe) {
                safe.push('\\');
            }
            safe.push('$');
            rest = next;
        } else if let Some(next) = from.strip_prefix("![") {
            safe.push_str("!\\[");
            rest = next;
        } else {
            safe.push('!');
            rest = from.strip_prefix('!').unwrap_or_default();
        }
    }
    safe.push_str(rest);
    safe
}

/// Reports whether the next character is escaped by a backslash that is not escaped itself.
fn is_escaped(before: &str) -> bool {
    let marks = before.len() - before.trim_end_matches('\\').len();
    marks % 2 == 1
}

/// The code up to a run of backticks like the one before it, and what follows. None where other backticks come first.
fn find_code_span<'t>(after: &'t str, run: &str) -> Option<(&'t str, &'t str)> {
    let at = after.find('`').filter(|at| *at > 0)?;
    let (code, closing) = after.split_at(at);
    let next = closing.trim_start_matches('`');
    (closing.len() - next.len() == run.len()).then_some((code, next))
}

#[cfg(test)]
mod tests;
