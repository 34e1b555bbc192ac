//! Embeds untrusted text in a Markdown document. Its own Markdown works only within its part.
//!
//! A text becomes a block quote whose every line is marked, so that it can't leave the quote. Within it, code
//! blocks and code spans get new fences that are longer than any in the text. Elsewhere, everything that
//! could start HTML or a heading is escaped, and remote images are not loaded. A heading in a quote would read like
//! one of the document's own: `## 9. Person`. If there may be code spans, a `$` starts no
//! formula: a formula that ends within a span would break the span.

mod heading;

use std::borrow::Cow;

use heading::escape_heading;

/// Maximum length of a run of backticks for which code spans get new fences; above it, backticks are text.
const MAX_BACKTICKS: usize = 16;

/// Formats a text as a block quote, which ends with a line feed.
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
            line(&neutralise_line(&escape_heading(&indented(now)), spans));
            continue;
        };
        let code: Vec<&str> = lines.by_ref().take_while(|next| !opening.is_closed_by(next)).collect();
        let fence = fence_for(&code.join("\n"));
        // Empty lines separate it from the text before and after it.
        line("");
        line(&format!("{fence}{}", opening.language));
        code.iter().for_each(|code| line(code));
        line(&fence);
        line("");
    }
    quoted
}

/// Formats a text as a code block, which ends with a line feed.
pub(super) fn code_block(language: &str, text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let fence = fence_for(&text);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// Escapes a short text for a line of Markdown.
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

/// Escapes a short text for a line of HTML.
pub(super) fn escape_html(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Removes characters that break a line or change its direction.
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

/// Returns a fence that does not occur in a text.
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

/// The opening fence of a code block.
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

    /// Returns the fence character at the start of a line, its count, and the rest.
    fn run(line: &str) -> Option<(char, usize, &str)> {
        let start = line.trim_start_matches(' ');
        let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = start.trim_start_matches(mark);
        let length = start.len() - rest.len();
        (line.len() - start.len() <= 3 && length >= 3).then_some((mark, length, rest))
    }
}

/// Replaces tabs in the indentation with spaces. The width of a tab depends on its column, and the mark of a
/// quote changes the column: a tab that indents by four on its own may indent by two within the quote, where
/// a fence may follow.
fn indented(line: &str) -> Cow<'_, str> {
    let text = line.trim_start_matches([' ', '\t']);
    let (space, _) = line.split_at(line.len() - text.len());
    if space.contains('\t') { Cow::Owned(space.replace('\t', "    ") + text) } else { Cow::Borrowed(line) }
}

/// Escapes everything in a line that could start HTML or load an image. Code spans in it get `spans`
/// backticks, a number that does not occur elsewhere in the text.
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
            // There are backticks: `spans` is one more than the longest run of them.
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

/// Returns whether the next character is escaped by a backslash that is not escaped itself.
fn is_escaped(before: &str) -> bool {
    let marks = before.len() - before.trim_end_matches('\\').len();
    marks % 2 == 1
}

/// Returns the code up to a run of backticks equal to the one before it, and the rest. `None` if a different
/// run comes first.
fn find_code_span<'t>(after: &'t str, run: &str) -> Option<(&'t str, &'t str)> {
    let at = after.find('`').filter(|at| *at > 0)?;
    let (code, closing) = after.split_at(at);
    let next = closing.trim_start_matches('`');
    (closing.len() - next.len() == run.len()).then_some((code, next))
}

#[cfg(test)]
mod tests;
