//! Cost of the regular expressions in a schema, estimated from their text. A few bytes of a pattern can stand
//! for megabytes of compiled program (`[\p{L}]{100}`), so a schema is measured before it is compiled, and
//! refused if its patterns are too expensive.

mod scanner;

use std::collections::HashSet;

use serde_json::Value;

use crate::text::truncate;

/// Maximum length of a pattern, in bytes.
pub const MAX_PATTERN_LENGTH: usize = 16 << 10;
/// Maximum size of a compiled pattern, in bytes.
pub const MAX_PATTERN_BYTES: u64 = 8 << 20;
/// Maximum number of different patterns in a schema.
pub const MAX_PATTERNS: usize = 200;
/// Maximum size of all compiled patterns of a schema, in bytes.
pub const MAX_SCHEMA_PATTERN_BYTES: u64 = 16 << 20;
/// Limit for a regex engine that builds one pattern, in bytes. An engine builds two programs for a pattern,
/// one for each direction, and applies its limit to each of them. The estimate counts both.
pub const ENGINE_SIZE_LIMIT: usize = 8 << 20;
/// Maximum size of the cache that a regex engine fills while a pattern matches, in bytes.
pub const ENGINE_CACHE_LIMIT: usize = 64 << 10;
/// Maximum number of backtracking attempts of a pattern with look-around or back-references on one text.
pub const BACKTRACK_LIMIT: usize = 10_000;

/// Maximum length of a pattern in a message, in bytes.
const MAX_SHOWN_PATTERN: usize = 60;
/// Maximum length of a place in a message, in bytes.
const MAX_SHOWN_PLACE: usize = 200;

/// The estimated cost of one pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PatternCost {
    /// Size of the compiled pattern, in bytes.
    pub bytes: u64,
    /// Number of characters that the pattern can be at, with repetitions written out. Matching takes at most
    /// this number times the length of the text.
    pub positions: u64,
}

/// Reason why a pattern is refused before it is compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The text is too long.
    #[error("is {0} bytes long; at most {MAX_PATTERN_LENGTH} are allowed")]
    TooLong(usize),
    /// The compiled pattern would be too large.
    #[error("would take more than {MAX_PATTERN_BYTES} bytes when compiled; use smaller repetitions")]
    TooLarge,
    /// The pattern uses a construct that ECMA-262 does not have and whose cost is unknown.
    #[error("uses {0}, which patterns of JSON Schema do not have")]
    Unsupported(&'static str),
}

impl PatternCost {
    /// Estimates the cost of a pattern, in time linear in its length.
    ///
    /// # Errors
    /// [`PatternError`] if the pattern must not be compiled.
    pub fn of(pattern: &str) -> Result<Self, PatternError> {
        if pattern.len() > MAX_PATTERN_LENGTH {
            return Err(PatternError::TooLong(pattern.len()));
        }
        let cost = scanner::scan(pattern)?;
        if cost.bytes > MAX_PATTERN_BYTES { Err(PatternError::TooLarge) } else { Ok(cost) }
    }
}

/// The estimated cost of all patterns of a schema. Equal patterns count once, because they are compiled once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchemaPatterns {
    /// Number of different patterns.
    pub count: usize,
    /// Size of the compiled patterns, in bytes.
    pub bytes: u64,
}

impl SchemaPatterns {
    /// Measures the patterns of a schema: the values of `pattern`, and the names in `patternProperties`,
    /// wherever they are.
    ///
    /// # Errors
    /// A description of the first problem with its place, which continues "the schema …".
    pub fn of(schema: &Value) -> Result<Self, String> {
        let mut walk = PatternWalk::default();
        walk.visit(schema, &mut Vec::new())?;
        Ok(walk.found)
    }

    /// Size of the compiled patterns with everything that matching may cache, in bytes.
    #[must_use]
    pub fn bytes_in_use(self) -> u64 {
        let caches = 2 * ENGINE_CACHE_LIMIT as u64;
        self.bytes.saturating_add(caches.saturating_mul(self.count as u64))
    }

    /// Adds the patterns of another schema.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

#[derive(Default)]
struct PatternWalk<'s> {
    seen: HashSet<&'s str>,
    found: SchemaPatterns,
}

impl<'s> PatternWalk<'s> {
    /// Visits a value. Recursion is safe, because a parsed value has a limited depth.
    fn visit(&mut self, value: &'s Value, place: &mut Vec<Step<'s>>) -> Result<(), String> {
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.visit_part(item, Step::Item(at), place)?;
                }
            }
            Value::Object(fields) => {
                for (name, inner) in fields {
                    place.push(Step::Field(name));
                    match (name.as_str(), inner) {
                        ("pattern", Value::String(pattern)) => self.count(pattern, place)?,
                        ("patternProperties", Value::Object(by_pattern)) => {
                            by_pattern.keys().try_for_each(|pattern| self.count(pattern, place))?;
                        }
                        _ => {}
                    }
                    place.pop();
                    self.visit_part(inner, Step::Field(name), place)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_part(
        &mut self,
        value: &'s Value,
        step: Step<'s>,
        place: &mut Vec<Step<'s>>,
    ) -> Result<(), String> {
        if !value.is_array() && !value.is_object() {
            return Ok(());
        }
        place.push(step);
        self.visit(value, place)?;
        place.pop();
        Ok(())
    }

    fn count(&mut self, pattern: &'s str, place: &[Step<'_>]) -> Result<(), String> {
        if !self.seen.insert(pattern) {
            return Ok(());
        }
        let cost = PatternCost::of(pattern).map_err(|problem| {
            let shown = truncate(pattern, MAX_SHOWN_PATTERN);
            format!("has the pattern {shown:?} at {}, which {problem}", pointer(place))
        })?;
        self.found.add(SchemaPatterns { count: 1, bytes: cost.bytes });
        if self.found.count > MAX_PATTERNS {
            return Err(format!("has more than {MAX_PATTERNS} different patterns"));
        }
        if self.found.bytes > MAX_SCHEMA_PATTERN_BYTES {
            return Err(format!(
                "has patterns of more than {MAX_SCHEMA_PATTERN_BYTES} bytes in total when compiled, counted \
                 up to {}",
                pointer(place)
            ));
        }
        Ok(())
    }
}

/// One step from a value to a part of it.
enum Step<'s> {
    Field(&'s str),
    Item(usize),
}

/// JSON pointer of a place.
fn pointer(place: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in place {
        text.push('/');
        match step {
            Step::Field(name) => text.push_str(&name.replace('~', "~0").replace('/', "~1")),
            Step::Item(at) => text.push_str(&at.to_string()),
        }
    }
    truncate(&text, MAX_SHOWN_PLACE)
}

#[cfg(test)]
mod tests;
