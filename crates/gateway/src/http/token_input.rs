//! What a request may give a token: a role, names for people, an agent; and how these are described.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use toolway_types::Role;
use toolway_types::name::is_invisible;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::ApiError;

/// Longest text, in characters.
pub(super) const MAX_TEXT: usize = 128;
/// What a text may not consist of, as characters of a pattern: [`is_invisible`] but for the planes that patterns
/// write in different ways.
const INVISIBLE_CHARS: &str = "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\
                         \\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb";

/// The pattern of a text that can be seen whole, and has this in it.
pub(super) fn visible_pattern(part: &str) -> String {
    match part {
        "" => format!("^[^{INVISIBLE_CHARS}]*$"),
        part => format!("^[^{INVISIBLE_CHARS}]*{part}[^{INVISIBLE_CHARS}]*$"),
    }
}

/// Describes a short text that will be shown to people; [`read_text`] reads it.
pub(super) struct ShortTextSchema;

impl PartialSchema for ShortTextSchema {
    fn schema() -> RefOr<Schema> {
        let text =
            ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(MAX_TEXT));
        RefOr::T(
            text.pattern(Some(visible_pattern("")))
                .description(Some("Without control and invisible characters."))
                .into(),
        )
    }
}

impl ToSchema for ShortTextSchema {
    fn name() -> Cow<'static, str> {
        "ShortText".into()
    }
}

/// A short text that will be shown to people.
pub(super) fn read_text(field: &str, text: String) -> Result<String, ApiError> {
    let length = text.chars().count();
    if length == 0 || length > MAX_TEXT {
        let words = format!("{field} has {length} characters; it may have 1 to {MAX_TEXT}");
        return Err(ApiError::malformed(words));
    }
    match text.chars().find(|c| is_invisible(*c)) {
        Some(c) => {
            let words = format!("{field} has a control or invisible character (U+{:04X})", u32::from(c));
            Err(ApiError::malformed(words).with_hint("leave it out"))
        }
        None => Ok(text),
    }
}

/// A role that can be given away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AssignableRole {
    /// Offers tools.
    Device,
    /// Chats, lists and calls tools.
    Client,
    /// Both.
    Companion,
}

impl From<AssignableRole> for Role {
    fn from(role: AssignableRole) -> Self {
        match role {
            AssignableRole::Device => Self::Device,
            AssignableRole::Client => Self::Client,
            AssignableRole::Companion => Self::Companion,
        }
    }
}

/// An agent, where there is something to bind to it.
pub(super) fn read_agent(role: AssignableRole, agent: Option<String>) -> Result<Option<String>, ApiError> {
    match agent {
        Some(_) if role == AssignableRole::Device => {
            Err(ApiError::malformed("a device calls no tools, so it can't be bound to an agent")
                .with_hint("leave agent out, or choose the role client or companion"))
        }
        Some(agent) => read_text("agent", agent).map(Some),
        None => Ok(None),
    }
}

/// Describes a body with the fields `role` and `agent` as what it is: one of two, of which that for a device
/// has no agent.
pub(super) fn split_by_role(whole: RefOr<Schema>) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(whole)) = whole else { return whole };
    let (mut caller, mut device) = (whole.clone(), whole);
    caller.properties.insert("role".to_owned(), roles(&["client", "companion"]));
    // Where it may be left out, a device is meant.
    if !caller.required.iter().any(|name| name == "role") {
        caller.required.push("role".to_owned());
    }
    device.properties.insert("role".to_owned(), roles(&["device"]));
    device
        .properties
        .insert("agent".to_owned(), RefOr::T(ObjectBuilder::new().schema_type(Type::Null).into()));
    RefOr::T(OneOfBuilder::new().item(caller).item(device).into())
}

/// Makes a type that describes another [`by_role`].
macro_rules! described_by_role {
    ($name:ident, $body:ty) => {
        struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                crate::http::token_input::split_by_role(<$body as utoipa::PartialSchema>::schema())
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                <$body as utoipa::ToSchema>::name()
            }

            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
                <$body as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}
pub(super) use described_by_role;

fn roles(names: &[&str]) -> RefOr<Schema> {
    RefOr::T(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.iter().copied())).into())
}

/// Reads a number without a fraction, however it is written: `5.0` is an integer to JSON Schema.
pub(super) fn whole<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: TryFrom<i64>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WholeOrFloat {
        Whole(i64),
        Point(f64),
    }
    let value = match WholeOrFloat::deserialize(deserializer) {
        Ok(WholeOrFloat::Whole(value)) => Some(value),
        // Every whole number below 2^53 has one written form with a point; above, nobody means a time.
        #[allow(clippy::cast_possible_truncation, reason = "whole, and within the bound checked here")]
        Ok(WholeOrFloat::Point(value)) if value.fract() == 0.0 && value.abs() < 9e15 => Some(value as i64),
        _ => None,
    };
    value
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| serde::de::Error::custom("not a whole number that fits"))
}

/// The same for a field that may be left out or null.
pub(super) fn optional_whole<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: TryFrom<i64>,
{
    #[derive(Deserialize)]
    #[serde(bound(deserialize = "T: TryFrom<i64>"))]
    struct WholeNumber<T>(#[serde(deserialize_with = "whole")] T);
    Ok(Option::<WholeNumber<T>>::deserialize(deserializer)?.map(|WholeNumber(value)| value))
}
