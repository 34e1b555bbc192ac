//! Scans a pattern once, from left to right, without recursion. It knows only what multiplies cost: groups,
//! classes and repetitions. Everything else counts as a literal character.

use super::{PatternCost, PatternError};

/// Size of a literal character and of the states around it.
const LITERAL: u64 = 160;
/// Size of a class of ASCII characters, for each of its members.
const ASCII_MEMBER: u64 = 48;
/// Size of a class that includes nearly all of Unicode, like `.` or `[^,]`.
const ANY: u64 = 3 << 10;
/// Size of a range or character outside ASCII within a class.
const WIDE_MEMBER: u64 = 3 << 10;
/// Size of a class by property, like `\p{L}`.
const PROPERTY: u64 = 64 << 10;
/// Size of the states of a repetition or a group.
const BRANCH: u64 = 128;
/// Factor for patterns that ignore case.
const IGNORED_CASE: u64 = 4;
/// Size of a compiled pattern apart from its states.
const BASE: u64 = 8 << 10;

/// Cost of a part of a pattern.
#[derive(Debug, Clone, Copy, Default)]
struct PartCost {
    bytes: u64,
    positions: u64,
}

impl PartCost {
    fn atom(bytes: u64) -> Self {
        Self { bytes, positions: 1 }
    }

    fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.positions = self.positions.saturating_add(other.positions);
    }

    fn repeat(self, times: u64) -> Self {
        let times = times.max(1);
        Self {
            bytes: self.bytes.saturating_add(BRANCH).saturating_mul(times),
            positions: self.positions.saturating_mul(times),
        }
    }
}

/// An open group.
#[derive(Debug, Default)]
struct OpenGroup {
    /// Parts before the last atom.
    finished: PartCost,
    /// The last atom, which a repetition may follow.
    last: Option<PartCost>,
}

impl OpenGroup {
    fn push(&mut self, atom: PartCost) {
        if let Some(last) = self.last.replace(atom) {
            self.finished.add(last);
        }
    }

    fn repeat_last(&mut self, times: u64) {
        self.last = self.last.map(|last| last.repeat(times));
    }

    fn total(self) -> PartCost {
        let mut total = self.finished;
        total.add(self.last.unwrap_or_default());
        total
    }
}

/// Returns the cost of a pattern.
pub(super) fn scan(pattern: &str) -> Result<PatternCost, PatternError> {
    let mut scanner = Scanner::new(pattern, is_passed_on_unchanged(pattern));
    while let Some(c) = scanner.next() {
        scanner.step(c)?;
    }
    let Scanner { mut open, mut outer, factor, .. } = scanner;
    // An unclosed group does not compile. It is counted all the same.
    while let Some(mut parent) = outer.pop() {
        parent.push(open.total());
        open = parent;
    }
    let total = open.total();
    // A validator counts the characters of `^X{m,n}$` instead of building a program for it.
    let bytes = single_repeated_class(pattern).unwrap_or(total.bytes);
    Ok(PatternCost { bytes: bytes.saturating_mul(factor).saturating_add(BASE), positions: total.positions })
}

/// True if a validator passes the pattern to its engine unchanged, because it has look-around or
/// back-references. Then `\d`, `\w` and `\s` are the engine's own, which include all of Unicode.
fn is_passed_on_unchanged(pattern: &str) -> bool {
    let pairs = pattern.as_bytes().windows(2);
    let mut back_references = pairs.filter(|pair| matches!(pair, [b'\\', b'1'..=b'9' | b'k']));
    back_references.next().is_some() || ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|it| pattern.contains(it))
}

struct Scanner<'p> {
    rest: &'p str,
    /// True if `\d` and the like include all of Unicode.
    is_unicode: bool,
    open: OpenGroup,
    /// The groups around the open one.
    outer: Vec<OpenGroup>,
    factor: u64,
}

impl<'p> Scanner<'p> {
    fn new(rest: &'p str, is_unicode: bool) -> Self {
        Self { rest, is_unicode, open: OpenGroup::default(), outer: Vec::new(), factor: 1 }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn step(&mut self, c: char) -> Result<(), PatternError> {
        match c {
            '(' => self.open_group()?,
            ')' => {
                if let Some(mut parent) = self.outer.pop() {
                    let group = std::mem::take(&mut self.open).total();
                    parent.push(PartCost { bytes: group.bytes.saturating_add(BRANCH), ..group });
                    self.open = parent;
                }
            }
            '[' => {
                let class = self.class();
                self.open.push(class);
            }
            '\\' => {
                let escape = self.escape()?;
                self.open.push(escape);
            }
            '.' => self.open.push(PartCost::atom(ANY)),
            '{' => match self.counts() {
                Some(times) => self.open.repeat_last(times),
                None => self.open.push(PartCost::atom(LITERAL)),
            },
            '*' | '+' | '?' => self.open.repeat_last(1),
            '|' | '^' | '$' => self.open.push(PartCost { bytes: BRANCH, positions: 0 }),
            c => self.open.push(PartCost::atom(literal_bytes(c))),
        }
        Ok(())
    }

    /// Reads what follows an opening parenthesis.
    fn open_group(&mut self) -> Result<(), PatternError> {
        if let Some(kind) = self.rest.strip_prefix('?') {
            let flags = kind.find(|c: char| !matches!(c, 'i' | 'm' | 's' | 'u' | 'U' | '-')).unwrap_or(0);
            let (said, after) = kind.split_at(flags);
            if said.contains('i') {
                self.factor = IGNORED_CASE;
            }
            let lookaround = ["<=", "<!", "=", "!", ">", ":"];
            if let Some(rest) = lookaround.iter().find_map(|prefix| after.strip_prefix(prefix)) {
                self.rest = rest;
            } else if let Some(rest) = after.strip_prefix(')') {
                // Flags for the rest of the group.
                self.rest = rest;
                return Ok(());
            } else if let Some(name) = after.strip_prefix("P<").or_else(|| after.strip_prefix('<')) {
                self.rest = name.split_once('>').map_or("", |(_, rest)| rest);
            } else if after.starts_with('x') {
                return Err(PatternError::Unsupported("the flag x"));
            } else {
                return Err(PatternError::Unsupported(
                    "a group that starts with (? and an unknown character",
                ));
            }
        }
        self.outer.push(std::mem::take(&mut self.open));
        Ok(())
    }

    /// Reads an escape after its backslash.
    fn escape(&mut self) -> Result<PartCost, PatternError> {
        Ok(match self.next() {
            Some('p' | 'P') => {
                self.property_name();
                PartCost::atom(PROPERTY)
            }
            Some(c @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => PartCost::atom(self.shorthand_bytes(c)),
            Some('g' | 'G' | 'K') => {
                return Err(PatternError::Unsupported("an escape \\g, \\G or \\K"));
            }
            Some(c) => PartCost::atom(literal_bytes(c)),
            None => PartCost::default(),
        })
    }

    /// Size of a class like `\d`.
    fn shorthand_bytes(&self, c: char) -> u64 {
        match (c, self.is_unicode) {
            ('w' | 'W', true) => PROPERTY,
            ('d' | 'D', true) => WIDE_MEMBER * 6,
            ('s' | 'S', _) => WIDE_MEMBER * 3,
            ('D' | 'W', false) => ANY,
            _ => ASCII_MEMBER * 4,
        }
    }

    /// Skips the name after `\p`: a letter, or a name in braces.
    fn property_name(&mut self) {
        if let Some(name) = self.rest.strip_prefix('{') {
            self.rest = name.split_once('}').map_or("", |(_, rest)| rest);
        } else {
            self.next();
        }
    }

    /// Reads a class after its opening bracket. As in the engine, a bracket right at its start is a member.
    fn class(&mut self) -> PartCost {
        let mut bytes = 0_u64;
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
            bytes = ANY;
        }
        let mut is_first = true;
        while let Some(c) = self.next() {
            let member = match c {
                ']' if !is_first => break,
                '\\' => match self.next() {
                    Some('p' | 'P') => {
                        self.property_name();
                        PROPERTY
                    }
                    Some(c @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => self.shorthand_bytes(c),
                    Some('u' | 'x' | 'U') => WIDE_MEMBER,
                    _ => ASCII_MEMBER * 4,
                },
                c if c.is_ascii() => ASCII_MEMBER,
                _ => WIDE_MEMBER,
            };
            bytes = bytes.saturating_add(member);
            is_first = false;
        }
        PartCost::atom(bytes.saturating_add(LITERAL))
    }

    /// Reads the counts of a repetition after its opening brace: the number of copies that are written out.
    /// None if these are no counts, and the brace is a literal.
    fn counts(&mut self) -> Option<u64> {
        let (inside, rest) = self.rest.split_once('}')?;
        let count = |text: &str| {
            let text = text.trim();
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
        };
        let times = match inside.split_once(',') {
            None => count(inside)?,
            Some((least, most)) if most.trim().is_empty() => count(least)?.saturating_add(1),
            Some((least, most)) if least.trim().is_empty() => count(most)?,
            Some((least, most)) => count(least)?.max(count(most)?),
        };
        self.rest = rest;
        Some(times)
    }
}

fn literal_bytes(c: char) -> u64 {
    LITERAL.saturating_mul(c.len_utf8() as u64)
}

/// Size of the class in a pattern that is one class, repeated, between anchors.
fn single_repeated_class(pattern: &str) -> Option<u64> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut scanner = Scanner::new(inner, false);
    let class = match scanner.next()? {
        '[' => scanner.class(),
        '.' => PartCost::atom(ANY),
        '\\' => scanner.escape().ok()?,
        _ => return None,
    };
    if scanner.next()? != '{' {
        return None;
    }
    scanner.counts()?;
    scanner.rest.is_empty().then_some(class.bytes)
}
