//! Patterns for single characters. `globset` treats each byte as a character, so a tool with a non-ASCII name
//! would escape `?` and `[…]`; this module matches such names.

use regex::{RegexSet, RegexSetBuilder};

/// The patterns of a list in which `?` or `[` matches one character.
#[derive(Debug, Clone)]
pub(super) struct CharPatterns {
    /// Indices in the list, in order.
    indices: Vec<usize>,
    set: RegexSet,
}

impl CharPatterns {
    /// Compiles these patterns, which `globset` has already accepted. None if there are none.
    pub(super) fn compile(patterns: &[String]) -> Result<Option<Self>, regex::Error> {
        let single = |(_, pattern): &(usize, &String)| pattern.contains(['?', '[']);
        let (places, expressions): (Vec<_>, Vec<_>) =
            patterns.iter().enumerate().filter(single).map(|(at, text)| (at, to_regex(text))).unzip();
        if places.is_empty() {
            return Ok(None);
        }
        let set = RegexSetBuilder::new(expressions).dot_matches_new_line(true).build()?;
        Ok(Some(Self { indices: places, set }))
    }

    /// Replaces the results of these patterns in `found`.
    pub(super) fn correct_matches(&self, found: &mut Vec<usize>, text: &str) {
        found.retain(|at| self.indices.binary_search(at).is_err());
        found.extend(self.set.matches(text).iter().filter_map(|at| self.indices.get(at)));
        found.sort_unstable();
    }
}

/// Converts a pattern to a regular expression.
fn to_regex(pattern: &str) -> String {
    let mut made = String::from("^(?:");
    let mut rest = pattern.chars();
    let mut depth = 0_usize;
    while let Some(c) = rest.next() {
        match c {
            '*' => made.push_str(".*"),
            '?' => made.push('.'),
            '{' => {
                depth += 1;
                made.push_str("(?:");
            }
            '}' => {
                depth = depth.saturating_sub(1);
                made.push(')');
            }
            ',' if depth > 0 => made.push('|'),
            '[' => push_class(&mut made, &mut rest),
            '\\' => push_literal(&mut made, rest.next().unwrap_or('\\')),
            other => push_literal(&mut made, other),
        }
    }
    made.push_str(")$");
    made
}

/// Converts a character class, after its opening bracket.
fn push_class(made: &mut String, rest: &mut std::str::Chars<'_>) {
    let mut members = Vec::new();
    let mut negated = false;
    for (at, c) in rest.enumerate() {
        match c {
            '!' | '^' if at == 0 => negated = true,
            ']' if at > usize::from(negated) => break,
            other => members.push(other),
        }
    }
    made.push_str(if negated { "[^" } else { "[" });
    let last = members.len().saturating_sub(1);
    for (at, c) in members.iter().enumerate() {
        // A dash forms a range only between two characters; otherwise it is literal.
        if *c == '-' && at != 0 && at != last {
            made.push('-');
        } else {
            push_literal(made, *c);
        }
    }
    made.push(']');
}

/// Appends a literal character.
fn push_literal(made: &mut String, c: char) {
    // A backslash before letters or non-ASCII characters would give them another meaning.
    if c.is_ascii_punctuation() {
        made.push('\\');
    }
    made.push(c);
}
