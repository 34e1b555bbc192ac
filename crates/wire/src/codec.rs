//! Frames to messages and back.

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

/// How deep a frame's JSON may nest.
pub const MAX_DEPTH: usize = 128;

/// Why a frame could not be understood.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Not JSON, not an object, or nested too deep.
    #[error("the frame is not a JSON object: {0}")]
    InvalidJson(String),
    /// An object without a `type`, or with one that does not exist.
    #[error("there is no message type {0:?}")]
    UnknownType(String),
    /// A known message with a field of the wrong form.
    #[error("the message {kind:?} has a field of the wrong form: {reason}")]
    BadField {
        /// The message's type.
        kind: String,
        /// What is wrong.
        reason: String,
        /// The `id` it carried, where one could be read.
        id: Option<String>,
    },
}

impl FrameError {
    /// The `code` of the `error` message that answers it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidJson(_) => crate::error_code::INVALID_JSON,
            Self::UnknownType(_) => crate::error_code::UNKNOWN_MESSAGE_TYPE,
            Self::BadField { .. } => crate::error_code::INVALID_MESSAGE,
        }
    }
}

/// The tag alone.
#[derive(Deserialize)]
pub(crate) struct TypeTag<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<std::borrow::Cow<'a, str>>,
}

/// Reads the tag of a frame.
pub(crate) fn tag(text: &str) -> Result<std::borrow::Cow<'_, str>, FrameError> {
    if nests_deeper_than(text, MAX_DEPTH) {
        return Err(FrameError::InvalidJson(format!("it nests deeper than {MAX_DEPTH} levels")));
    }
    // Said here, because to serde an array of a struct's fields in order is the struct as well.
    if !is_object(text) {
        return Err(FrameError::InvalidJson("it does not start with {".into()));
    }
    match serde_json::from_str::<TypeTag<'_>>(text) {
        Ok(TypeTag { kind: Some(kind) }) => Ok(kind),
        Ok(TypeTag { kind: None }) => Err(FrameError::UnknownType(String::new())),
        Err(tag_error) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Err(FrameError::UnknownType(String::new())),
            Err(_) => Err(FrameError::InvalidJson(tag_error.to_string())),
        },
    }
}

/// Whether JSON text is an object, if it is JSON at all.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{')
}

/// Reads a field that may be left out and in which null is a value like any other.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// Reads the fields of a frame whose tag is known.
pub(crate) fn fields<'a, T: Deserialize<'a>>(kind: &str, text: &'a str) -> Result<T, FrameError> {
    #[derive(Deserialize)]
    struct IdField {
        id: String,
    }
    serde_json::from_str(text).map_err(|error| FrameError::BadField {
        kind: kind.to_owned(),
        reason: error.to_string(),
        id: serde_json::from_str::<IdField>(text).ok().map(|it| it.id),
    })
}

/// Writes a message as a frame.
pub(crate) fn write<T: Serialize>(message: &T) -> String {
    // Every field is a string, number, list or JSON text, so this can't fail; a peer ignores `{}`.
    serde_json::to_string(message).unwrap_or_else(|_| "{}".to_owned())
}

/// Defines one direction's messages: the enum, its tags, reading and writing.
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
            /// Every `type` of this direction.
            pub const TYPES: &'static [&'static str] = &[$($tag),+];

            /// Reads a frame. Unknown fields are ignored.
            ///
            /// # Errors
            /// [`FrameError`](crate::FrameError) says what is wrong; the connection can go on.
            pub fn decode(text: &str) -> Result<Self, $crate::FrameError> {
                let kind = $crate::codec::tag(text)?;
                match kind.as_ref() {
                    $($tag => $crate::codec::fields::<$fields>($tag, text).map(Self::$variant),)+
                    other => Err($crate::FrameError::UnknownType(other.to_owned())),
                }
            }

            /// Writes the frame.
            #[must_use]
            pub fn encode(&self) -> String {
                $crate::codec::write(self)
            }

            /// The `type`.
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

/// Defines what messages hold: structs whose fields are all public, and which are read and written as they are.
macro_rules! structs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* })+
    };
}
pub(crate) use structs;

/// Defines what a field may say: enums that are read and written as words.
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
