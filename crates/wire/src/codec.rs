//! Encoding and decoding of frames.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use memchr::{memchr, memchr2, memmem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolway_types::json::{MAX_VALUES, has_more_values_than, nests_deeper_than};
use toolway_types::text::shorten_error;
use toolway_types::{RawJson, foreign_json};

/// Maximum nesting depth of a frame's JSON.
pub const MAX_DEPTH: usize = 128;

/// Reason why a frame is invalid.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The frame is not JSON, is not an object, or is nested too deeply.
    #[error("the frame is not a JSON object: {0}")]
    InvalidJson(String),
    /// The object has no `type`, or an unknown one.
    #[error("there is no message type {0:?}")]
    UnknownType(String),
    /// A field of a known message has the wrong form.
    #[error("the message {kind:?} has a field of the wrong form: {reason}")]
    BadField {
        /// Type of the message.
        kind: String,
        /// Description of the error.
        reason: String,
        /// The message's `id`, if it was readable.
        id: Option<String>,
    },
}

impl FrameError {
    /// Code of the `error` message sent as the answer.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidJson(_) => crate::error_code::INVALID_JSON,
            Self::UnknownType(_) => crate::error_code::UNKNOWN_MESSAGE_TYPE,
            Self::BadField { .. } => crate::error_code::INVALID_MESSAGE,
        }
    }
}

/// Type and id of a frame that can't be decoded, as far as they are readable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UndecodedFrame {
    /// Type of the message.
    pub kind: Option<String>,
    /// The message's `id`.
    pub id: Option<String>,
}

impl UndecodedFrame {
    /// Finds type and id in a frame, which need not be JSON.
    #[must_use]
    pub fn find(frame: &str) -> Self {
        let mut found = Self::default();
        for member in foreign_json::broken_members(frame.as_bytes()) {
            let field = match member.name {
                b"type" => &mut found.kind,
                b"id" => &mut found.id,
                _ => continue,
            };
            *field = member.as_text().or_else(|| member.as_word().map(Cow::into_owned));
            if found.kind.is_some() && found.id.is_some() {
                break;
            }
        }
        found
    }

    /// Id of the call that a device wanted to answer with this frame.
    #[must_use]
    pub fn answered_call(&self) -> Option<&str> {
        self.id.as_deref().filter(|_| matches!(self.kind.as_deref(), Some("tool_result" | "tool_error")))
    }
}

/// Only the tag of a frame.
#[derive(Deserialize)]
pub(crate) struct TypeTag {
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// Fields whose values are passed on or read later, with their own bytes.
const RAW_FIELDS: &[&str] =
    &["args", "authorize_intent", "messages", "output", "result", "structured", "tools"];

/// Search for a name `type`. Its preparation takes longer than the search of a short frame.
static TYPE_NAME: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(r#""type""#));

/// Tag of an ordinary frame, whose first member is a plain `type`, without parsing the rest. `None` if the tag has to be
/// read with [`tag`]: another member could be named `type` too, or the frame could be too large.
pub(crate) fn leading_tag(text: &str) -> Option<&str> {
    let value = text.strip_prefix(r#"{"type":"#)?.trim_start_matches(' ').strip_prefix('"')?;
    let end = memchr(b'"', value.as_bytes())?;
    let (tag, rest) = (value.get(..end)?, value.as_bytes().get(end + 1..)?);
    // A name can be escaped. Most frames have neither an escape nor that text anywhere, and these searches take many bytes
    // at a time.
    let may_be_repeated = memchr(b'\\', rest).is_some() || TYPE_NAME.find(rest).is_some();
    let is_repeated = may_be_repeated && has_member_named_type(rest);
    let is_ordinary = !tag.contains('\\')
        && !is_repeated
        && !nests_deeper_than(text, MAX_DEPTH)
        && !has_more_values_than(text.as_bytes(), MAX_VALUES);
    is_ordinary.then_some(tag)
}

/// True if one of the members of a frame could be named `type`. Takes the text after the value of its first member. Exact
/// for valid JSON, apart from names with an escape, which count.
fn has_member_named_type(members: &[u8]) -> bool {
    // Within the object of the frame.
    let mut depth = 1_usize;
    let mut is_name = false;
    let mut rest = members;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => is_name = depth == 1,
            b'"' => {
                let Some((string, after)) = split_string(rest) else { return true };
                if is_name && (string == b"type" || string.contains(&b'\\')) {
                    return true;
                }
                is_name = false;
                rest = after;
            }
            _ => {}
        }
    }
    false
}

/// Splits at the end of a string: into the string without its quotation marks, and the text after it. Takes the text
/// after the opening mark.
fn split_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
        from = at + 2;
    }
}

/// Reads the tag of a frame.
pub(crate) fn tag(text: &str) -> Result<String, FrameError> {
    if nests_deeper_than(text, MAX_DEPTH) {
        return Err(FrameError::InvalidJson(format!("it is nested deeper than {MAX_DEPTH} levels")));
    }
    if has_more_values_than(text.as_bytes(), MAX_VALUES) {
        return Err(FrameError::InvalidJson(format!("it has more than {MAX_VALUES} values")));
    }
    // serde accepts an array of a struct's fields in place of the object, so it is refused here.
    if !is_object(text) {
        return Err(FrameError::InvalidJson("it must be a JSON object, which starts with {".into()));
    }
    match foreign_json::from_str::<TypeTag>(text) {
        Ok(TypeTag { kind: Some(kind) }) => Ok(kind),
        Ok(TypeTag { kind: None }) => Err(FrameError::UnknownType(String::new())),
        Err(tag_error) => match foreign_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Err(FrameError::UnknownType(String::new())),
            Err(_) => Err(FrameError::InvalidJson(shorten_error(&tag_error))),
        },
    }
}

/// True if the text starts like a JSON object. Assumes valid JSON.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{')
}

/// Deserializes an optional field whose value may be null: null is a value, not absence.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// Deserializes the fields of a frame with a known tag.
pub(crate) fn fields<T: DeserializeOwned>(kind: &str, text: &str) -> Result<T, FrameError> {
    let error = match serde_json::from_str(text) {
        Ok(fields) => return Ok(fields),
        Err(error) => error,
    };
    // Half a surrogate pair costs only itself. Values of other parties keep theirs, if they are passed on as bytes.
    for repaired in [repair_own_fields(text), foreign_json::replace_lone_surrogates(text)] {
        if let Cow::Owned(repaired) = repaired
            && let Ok(fields) = serde_json::from_str(&repaired)
        {
            return Ok(fields);
        }
    }
    let id = UndecodedFrame::find(text).id;
    Err(FrameError::BadField { kind: kind.to_owned(), reason: shorten_error(&error), id })
}

/// Replaces half surrogate pairs, except in [`RAW_FIELDS`].
fn repair_own_fields(text: &str) -> Cow<'_, str> {
    let Ok(fields) = serde_json::from_str::<BTreeMap<Cow<'_, str>, &RawValue>>(text) else {
        return Cow::Borrowed(text);
    };
    let offset = |raw: &RawValue| raw.get().as_ptr().addr() - text.as_ptr().addr();
    let kept: Vec<_> = fields
        .iter()
        .filter(|(name, _)| RAW_FIELDS.contains(&name.as_ref()))
        .map(|(_, raw)| offset(raw)..offset(raw) + raw.get().len())
        .collect();
    foreign_json::replace_lone_surrogates_except(text, |at| kept.iter().any(|range| range.contains(&at)))
}

/// Serializes a message as a frame.
pub(crate) fn write<T: Serialize>(message: &T) -> String {
    // Every field is a string, number, list or JSON text, so this cannot fail. A peer ignores `{}`.
    serde_json::to_string(message).unwrap_or_else(|_| "{}".to_owned())
}

/// Defines one direction's messages: the enum, its tags, encoding and decoding.
macro_rules! messages {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $tag:literal => $variant:ident($fields:ty),)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type")]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $tag)] $variant($fields),)+
        }

        impl $name {
            /// All message types of this direction.
            pub const TYPES: &'static [&'static str] = &[$($tag),+];

            /// Decodes a frame. Ignores unknown fields.
            ///
            /// # Errors
            /// [`FrameError`](crate::FrameError) describes the problem; the connection remains usable.
            pub fn decode(text: &str) -> Result<Self, $crate::FrameError> {
                // Reads an ordinary frame once. Any other one, and any fault, is read again below.
                match $crate::codec::leading_tag(text) {
                    $(Some($tag) => {
                        if let Ok(fields) = serde_json::from_str::<$fields>(text) {
                            return Ok(Self::$variant(fields));
                        }
                    })+
                    _ => {}
                }
                Self::decode_any(text)
            }

            /// Decodes a frame whose members may have any order and form.
            pub(crate) fn decode_any(text: &str) -> Result<Self, $crate::FrameError> {
                let kind = $crate::codec::tag(text)?;
                match kind.as_str() {
                    $($tag => $crate::codec::fields::<$fields>($tag, text).map(Self::$variant),)+
                    other => Err($crate::FrameError::UnknownType(toolway_types::text::truncate(
                        other,
                        toolway_types::text::MAX_QUOTE,
                    ))),
                }
            }

            /// Encodes the message as a frame.
            #[must_use]
            pub fn encode(&self) -> String {
                $crate::codec::write(self)
            }

            /// Type of the message.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $tag),+ }
            }
        }

        $(impl From<$fields> for $name {
            fn from(fields: $fields) -> Self {
                Self::$variant(fields)
            }
        })+
    };
}
pub(crate) use messages;

/// Defines message fields as structs with public fields, serialized as they are.
macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* })+
    };
}
pub(crate) use structs;

/// Defines enums that are serialized as names.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident,)+ })+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$word_doc])* $word,)+ })+
    };
}
pub(crate) use words;

#[cfg(test)]
mod tests;
