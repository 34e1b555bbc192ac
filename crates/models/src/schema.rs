//! JSON Schemas as each provider wants them. A schema comes from a stranger and may be anything: however it is made,
//! saying it takes no more than milliseconds and comes out no larger than a few times its size. What a provider can't
//! be told is noted; nothing of it is lost, since arguments are held against the original.
//!
//! Nothing here checks values, compiles a schema, or fetches one.

use std::collections::HashSet;

use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

use crate::provider::NotExpressible;
use crate::tools::ArgumentForm;

mod combine;
mod convert;
mod dialect;
mod document;
mod hint;
mod json;
mod lost;
mod strict;

use convert::Converter;
use dialect::Dialect;
use document::Document;
use json::Fields;
pub(crate) use json::Json;
use strict::Strict;
pub(crate) use strict::undo;

/// The largest schema that is sent to a model, in bytes, and in values.
pub const MAX_BYTES: usize = 512 * 1024;
/// See [`MAX_BYTES`].
pub const MAX_VALUES: usize = 100_000;
/// How deep a schema may nest.
pub const MAX_LEVELS: usize = 100;

/// Whom a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// OpenAI's functions that are not strict, and whoever takes what they take.
    OpenAi,
    /// OpenAI's strict functions and structured outputs.
    OpenAiStrict,
    /// Anthropic's tools.
    Anthropic,
    /// Anthropic's structured outputs.
    AnthropicOutput,
    /// Gemini's `parametersJsonSchema` and `responseJsonSchema`.
    Gemini,
}

/// A schema for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedSchema {
    /// The schema; none where the target wants none for a tool without parameters.
    pub schema: Option<RawJson>,
    /// What of it could not be said, in words, each with its JSON pointer as a fragment (`#/properties/city: …`).
    pub lost: Vec<String>,
    /// How arguments that fit it become arguments of the tool.
    pub arguments: ArgumentForm,
}

/// The parameters of a tool. Null, absent, `{}`, `[]` and `true` mean that there are none.
///
/// # Errors
/// [`NotExpressible`] where they can't be said to this target in any way.
pub fn parameters(raw: Option<&RawJson>, target: Target) -> Result<ConvertedSchema, NotExpressible> {
    let Some(raw) = raw.filter(|raw| !means_none(raw)) else { return Ok(no_parameters(target)) };
    let root = parsed(raw)?;
    let document = Document::new(&root);
    match target {
        Target::OpenAi => {
            // Where the root stays as it is, every reference leads where it led.
            let stays =
                document.has_plain_references || !convert::must_be_folded(&document, &dialect::OPENAI);
            let same = stays && !document.has_old_forms;
            folded(&document, if same { &dialect::OPENAI } else { &dialect::OPENAI_WRITTEN_OUT }, Some(raw))
        }
        Target::Anthropic => folded(&document, &dialect::ANTHROPIC, None),
        Target::Gemini => folded(&document, &dialect::GEMINI, None),
        Target::OpenAiStrict => strictly(&document, &strict::OPENAI, true),
        Target::AnthropicOutput => strictly(&document, &strict::ANTHROPIC, true),
    }
}

/// The form of an answer, whose root may be anything that the target allows.
///
/// # Errors
/// [`NotExpressible`] where it can't be said to this target.
pub fn output(raw: &RawJson, target: Target) -> Result<ConvertedSchema, NotExpressible> {
    let root = parsed(raw)?;
    let document = Document::new(&root);
    let dialect = match target {
        Target::OpenAiStrict => return strictly(&document, &strict::OPENAI, true),
        Target::AnthropicOutput => return strictly(&document, &strict::ANTHROPIC, false),
        Target::OpenAi => &dialect::OPENAI,
        Target::Anthropic => &dialect::ANTHROPIC,
        Target::Gemini => &dialect::GEMINI,
    };
    let (schema, lost) = Converter::try_limits(&document, dialect, Converter::anything);
    Ok(ConvertedSchema {
        schema: Some(written(&schema)),
        lost: lost.into_notes(),
        arguments: ArgumentForm::default(),
    })
}

/// A schema as its author wrote it.
pub(crate) fn parsed(raw: &RawJson) -> Result<Json, NotExpressible> {
    let bytes = raw.get().len();
    if bytes > MAX_BYTES {
        return Err(NotExpressible(format!(
            "its schema has {bytes} bytes; models are told of at most {MAX_BYTES}"
        )));
    }
    if nests_deeper_than(raw.get(), MAX_LEVELS) {
        return Err(NotExpressible(format!("its schema nests more than {MAX_LEVELS} levels deep")));
    }
    let json: Json =
        raw.to().map_err(|error| NotExpressible(format!("its schema can't be read: {error}")))?;
    if json.size() > MAX_VALUES {
        return Err(NotExpressible(format!("its schema is made of more than {MAX_VALUES} values")));
    }
    match json {
        Json::Object(_) | Json::Bool(_) => Ok(json),
        other => Err(NotExpressible(format!("its schema is of type {}, not an object", other.kind()))),
    }
}

fn means_none(raw: &RawJson) -> bool {
    let text: String = raw.get().chars().filter(|c| !c.is_whitespace()).collect();
    matches!(text.as_str(), "null" | "{}" | "[]" | "true")
}

fn no_parameters(target: Target) -> ConvertedSchema {
    let text = match target {
        Target::Gemini => None,
        Target::OpenAi | Target::Anthropic => Some(r#"{"type":"object","properties":{}}"#),
        Target::OpenAiStrict | Target::AnthropicOutput => {
            Some(r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#)
        }
    };
    ConvertedSchema {
        schema: text.and_then(|text| RawJson::parse(text).ok()),
        lost: Vec::new(),
        arguments: ArgumentForm::default(),
    }
}

/// Converted, and the author's own text where that says the same.
fn folded(
    document: &Document<'_>,
    dialect: &'static Dialect,
    raw: Option<&RawJson>,
) -> Result<ConvertedSchema, NotExpressible> {
    let (root, lost) = Converter::try_limits(document, dialect, Converter::root);
    let root = root?;
    let arguments = ArgumentForm { is_strict: false, renamed: root.renamed };
    let is_same = document.start().node.as_object() == Some(&root.fields);
    let schema = match raw.filter(|_| is_same) {
        Some(raw) => Some(raw.clone()),
        None if dialect.leaves_out_nothing && names_nothing(&root.fields) => None,
        None => Some(written(&Json::Object(root.fields))),
    };
    Ok(ConvertedSchema { schema, lost: lost.into_notes(), arguments })
}

/// Whether parameters name no property and let none be there.
fn names_nothing(fields: &Fields) -> bool {
    fields.iter().all(|(name, value)| match (name, value) {
        ("properties", Json::Object(properties)) => properties.is_empty(),
        ("required", Json::List(names)) => names.is_empty(),
        ("additionalProperties", value) => *value == Json::Bool(false),
        ("type" | "title" | "description", _) => true,
        _ => false,
    })
}

fn strictly(
    document: &Document<'_>,
    rules: &'static strict::Rules,
    must_be_object: bool,
) -> Result<ConvertedSchema, NotExpressible> {
    let mut strict = Strict::new(document, rules);
    let fields = strict.whole(must_be_object)?;
    let arguments = ArgumentForm { is_strict: rules.fills_with_null(), renamed: Vec::new() };
    let schema = Some(written(&Json::Object(fields)));
    Ok(ConvertedSchema { schema, lost: strict.lost.into_notes(), arguments })
}

fn written(json: &Json) -> RawJson {
    RawJson::from_value(json).unwrap_or_default()
}

/// The names among `required`.
fn names(value: Option<&Json>) -> HashSet<&str> {
    value.and_then(Json::as_list).into_iter().flatten().filter_map(Json::as_text).collect()
}
