//! JSON in its original text.
//!
//! A tool's schema, arguments and structured result belong to someone else. Toolway passes them on byte for
//! byte (key order, number forms) and parses them only when it must understand them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use memchr::memchr2_iter;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::foreign_json;

/// Maximum number of values in a JSON document from outside. Each takes tens of bytes when it is parsed, so a
/// few megabytes of `[0,0,…` would take hundreds.
pub const MAX_VALUES: usize = 500_000;

/// A parsed JSON object.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// One valid JSON value as its original text. Cheap to clone.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// Parses text that must be exactly one JSON value.
    ///
    /// # Errors
    /// Returns the parser's error if the text is not JSON.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Box<RawValue>>(text).map(Self::from)
    }

    /// Serializes a value as JSON text.
    ///
    /// # Errors
    /// Fails if the value has no JSON form (a map whose keys are not strings).
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::from_value(&JsonObject::new()).unwrap_or_else(|_| Self::null())
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned().into())
    }

    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Deserializes the text into a type. Half a surrogate pair reads as U+FFFD.
    ///
    /// # Errors
    /// Fails if the value does not have the type's form.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        foreign_json::from_str(self.0.get())
    }

    /// Deserializes the text into a type that borrows from it.
    ///
    /// # Errors
    /// Fails if the value does not have the type's form, or if a text in it has half a surrogate pair.
    pub fn to_borrowed<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// The parsed value; `null` if it is nested deeper than the parser allows.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        self.to().unwrap_or_default()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

impl Default for RawJson {
    fn default() -> Self {
        Self::null()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl Hash for RawJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl From<&serde_json::Value> for RawJson {
    fn from(value: &serde_json::Value) -> Self {
        Self::from_value(value).unwrap_or_else(|_| Self::null())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RawJson {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyJson".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// Deserializes null like an absent field: `#[serde(default, deserialize_with = "null_is_default")]`.
///
/// # Errors
/// Fails if the value has another form.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Appends a text as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    // Most texts need no escape. Without an end within a block, the compiler checks all its bytes at once.
    let needs_escape = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    let block_needs_escape = |block: &[u8]| block.iter().fold(false, |any, byte| any | needs_escape(*byte));
    let (blocks, rest) = text.as_bytes().as_chunks::<16>();
    if !blocks.iter().any(|block| block_needs_escape(block)) && !block_needs_escape(rest) {
        out.reserve(text.len() + 2);
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    // A text has a JSON form always.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Appends a number as JSON; `null` if it is not finite.
pub fn push_number(out: &mut String, number: f64) {
    match serde_json::Number::from_f64(number) {
        Some(number) => out.push_str(&number.to_string()),
        None => out.push_str("null"),
    }
}

/// True if arrays and objects in `text` are nested deeper than `limit`. Reads the text once, without
/// recursion. Exact for valid JSON; other text is left to the parser to reject.
#[must_use]
pub fn nests_deeper_than(text: &str, limit: usize) -> bool {
    // Most texts have fewer brackets, and brackets in strings count here too.
    if memchr2_iter(b'{', b'[', text.as_bytes()).nth(limit).is_none() {
        return false;
    }
    let mut depth = 0_usize;
    bytes_outside_strings(text.as_bytes()).any(|byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > limit
    })
}

/// True if a JSON text has more values than `limit`: elements, members and the whole. Reads the text at most
/// once, and not at all if it is too short for so many. Exact for valid JSON, up to one value for each empty
/// array or object.
#[must_use]
pub fn has_more_values_than(text: &[u8], limit: usize) -> bool {
    // Each value but the first needs a byte of its own and a comma or bracket.
    if text.len() / 2 <= limit {
        return false;
    }
    let starts_value = |byte: &u8| matches!(byte, b',' | b'[' | b'{');
    // The whole is a value too.
    limit == 0 || bytes_outside_strings(text).filter(starts_value).nth(limit - 1).is_some()
}

/// Memory of a value that is an element of an array, in bytes: an array has up to twice the places that it needs.
const ELEMENT_SIZE: usize = 64;
/// Memory of an array with at most four elements, in bytes.
const ARRAY_SIZE: usize = 144;
/// Memory of an object with at most eleven members, in bytes: one node of a B-tree.
const OBJECT_SIZE: usize = 648;
/// Memory of a member in addition to that of an element, in bytes: a part of a node that is half full.
const MEMBER_SIZE: usize = 100;
/// Memory of a text in addition to its bytes, in bytes.
const TEXT_SIZE: usize = 32;

/// Returns the memory that a JSON text takes as a [`serde_json::Value`] on a 64-bit machine, in bytes. It is never
/// less than what the value takes, and up to twice as much. Reads the text once.
#[must_use]
pub fn parsed_size(text: &[u8]) -> usize {
    let (mut is_in_string, mut is_escaped) = (false, false);
    let mut size = text.len().saturating_add(ELEMENT_SIZE);
    for byte in text {
        let more = match byte {
            _ if is_escaped => {
                is_escaped = false;
                0
            }
            b'\\' if is_in_string => {
                is_escaped = true;
                0
            }
            b'"' => {
                is_in_string = !is_in_string;
                if is_in_string { TEXT_SIZE } else { 0 }
            }
            _ if is_in_string => 0,
            b',' => ELEMENT_SIZE,
            b'[' => ARRAY_SIZE,
            b'{' => OBJECT_SIZE,
            b':' => MEMBER_SIZE,
            _ => 0,
        };
        size = size.saturating_add(more);
    }
    size
}

/// The bytes of a JSON text that are not part of a string, without quotation marks.
fn bytes_outside_strings(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let (mut is_in_string, mut is_escaped) = (false, false);
    text.iter().copied().filter(move |byte| {
        if !is_in_string {
            is_in_string = *byte == b'"';
            return !is_in_string;
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_in_string = false,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_parsed_text_is_never_less_than_its_memory() {
        // 32 bytes a value; twice as many places as elements.
        assert!(parsed_size(format!("[{}0]", "0,".repeat(99_999)).as_bytes()) >= 100_000 * 64);
        // A node of eleven keys and values for each object.
        let node = 11 * (size_of::<String>() + size_of::<serde_json::Value>()) + 16;
        assert!(
            parsed_size(format!("[{}]", vec![r#"{"a":0}"#; 1000].join(",")).as_bytes()) >= 1000 * (node + 32)
        );
        // Nodes that are half full, and keys of 24 bytes with the allocator's 8.
        let members: Vec<String> = (0..1000).map(|n| format!("\"{n:024}\":0")).collect();
        let text = format!("{{{}}}", members.join(","));
        assert!(parsed_size(text.as_bytes()) >= 1000 * (node / 6 + 32));
        // Four places for one element.
        assert!(parsed_size(format!("[{}]", vec!["[0]"; 1000].join(",")).as_bytes()) >= 1000 * (4 * 32 + 32));
        // Commas, brackets and escaped quotation marks within a text are not counted.
        assert_eq!(parsed_size(br#""a,[{:\",b""#), br#""a,[{:\",b""#.len() + ELEMENT_SIZE + TEXT_SIZE);
    }

    #[test]
    fn values_are_counted_outside_strings() {
        // An object, an array, two numbers, a text.
        let text = br#"{"a":[1,2],"b":"[,,,[[{"}"#;
        assert!(!has_more_values_than(text, 5));
        assert!(has_more_values_than(text, 4));
        assert!(!has_more_values_than(br#""\",,,,,,,,""#, 1));
        assert!(!has_more_values_than(b"1", 1));
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert!(has_more_values_than(many.as_bytes(), MAX_VALUES));
        let most = format!("[{}0]", "0,".repeat(MAX_VALUES - 2));
        assert!(!has_more_values_than(most.as_bytes(), MAX_VALUES), "the array and its elements");
    }

    proptest::proptest! {
        #[test]
        fn texts_and_numbers_are_written_as_by_serde(
            text in "\\PC*|[\u{0}-\u{7f}]*",
            number in proptest::num::f64::ANY,
        ) {
            let (mut string, mut digits) = (String::new(), String::new());
            push_string(&mut string, &text);
            push_number(&mut digits, number);
            assert_eq!(string, serde_json::to_string(&text).unwrap());
            assert_eq!(digits, serde_json::to_string(&number).unwrap());
        }
    }

    #[test]
    fn keeps_key_order_and_number_forms() {
        let text = r#"{"b":1.0,"a":1e3,"n":12345678901234567890123}"#;
        let raw: RawJson = serde_json::from_str(text).unwrap();
        assert_eq!(raw.get(), text);
        assert_eq!(serde_json::to_string(&raw).unwrap(), text);
    }

    #[test]
    fn half_a_surrogate_pair_stays_in_the_text_and_reads_as_a_replacement() {
        let raw = RawJson::parse(r#"{"a":"x \ud83d"}"#).unwrap();
        assert_eq!(raw.get(), r#"{"a":"x \ud83d"}"#);
        assert_eq!(raw.to_value(), serde_json::json!({"a": "x \u{FFFD}"}));
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert!(!nests_deeper_than(r#"{"a":["[[[[\"[["]}"#, 2));
        assert!(nests_deeper_than(r#"{"a":[[]]}"#, 2));
        assert!(!nests_deeper_than("[[],[],[]]", 2));
    }
}
