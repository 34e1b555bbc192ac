//! Texts that people see.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Maximum length of a text, in characters.
const MAX_CHARS: usize = 128;
/// Characters that a text must not contain, in the syntax of patterns: `toolway_types::name::is_invisible` without the
/// supplementary planes, because pattern dialects write these in different ways.
const INVISIBLE_CHARS: &str = "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\
                         \\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb";

/// Pattern of a text without invisible characters that contains `part`.
fn visible_pattern(part: &str) -> String {
    match part {
        "" => format!("^[^{INVISIBLE_CHARS}]*$"),
        part => format!("^[^{INVISIBLE_CHARS}]*{part}[^{INVISIBLE_CHARS}]*$"),
    }
}

fn visible_text(part: &str, description: &str) -> RefOr<Schema> {
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(MAX_CHARS));
    RefOr::T(text.pattern(Some(visible_pattern(part))).description(Some(description)).into())
}

/// Schema of a short text without invisible characters.
#[derive(Debug)]
pub struct ShortTextSchema;

impl PartialSchema for ShortTextSchema {
    fn schema() -> RefOr<Schema> {
        visible_text("", "Without control and invisible characters.")
    }
}

impl ToSchema for ShortTextSchema {
    fn name() -> Cow<'static, str> {
        "ShortText".into()
    }
}

/// Schema of a pattern for `source/tool`.
#[derive(Debug)]
pub struct ToolPatternSchema;

impl PartialSchema for ToolPatternSchema {
    fn schema() -> RefOr<Schema> {
        visible_text(
            "/",
            "A pattern for `source/tool`: `*` matches any text, `?` one character, `{a,b}` one of several, `[a-z]` one \
             of a range. Without control and invisible characters.",
        )
    }
}

impl ToSchema for ToolPatternSchema {
    fn name() -> Cow<'static, str> {
        "ToolPattern".into()
    }
}
