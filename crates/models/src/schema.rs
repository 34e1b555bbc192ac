//! JSON Schemas as each provider wants them. A schema comes from a stranger and may be anything: however it is made,
//! saying it takes no more than milliseconds and comes out no larger than a few times its size. What a provider can't
//! be told is noted; nothing of it is lost, since arguments are held against the original.
//!
//! Nothing here checks values, compiles a schema, or fetches one.

use std::collections::HashSet;

use toolway_types::RawJson;
use toolway_types::json::nests_deeper_than;

mod argument_mapping;
mod converter;
mod dialect;
mod document;
mod hint;
mod json;
mod merge;
mod notes;
mod strict;

pub use argument_mapping::ArgumentMapping;
use converter::SchemaConverter;
use dialect::SchemaDialect;
use document::ParsedSchema;
use json::OrderedFields;
pub(crate) use json::OrderedJson;
use strict::StrictConverter;
use strict::remove_filler_nulls;

/// The largest schema that is sent to a model, in bytes, and in values.
pub const MAX_BYTES: usize = 512 * 1024;
/// See [`MAX_BYTES`].
pub const MAX_VALUES: usize = 100_000;
/// How deep a schema may nest.
pub const MAX_LEVELS: usize = 100;

/// Whom a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaTarget {
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

/// Why a tool can't be offered to a provider's models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotExpressible(pub String);

/// A schema for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedSchema {
    /// The schema; none where the target wants none for a tool without parameters.
    pub schema: Option<RawJson>,
    /// What of it could not be said, in words, each with its JSON pointer as a fragment (`#/properties/city: …`).
    pub losses: Vec<String>,
    /// How arguments that fit it become arguments of the tool.
    pub arguments: ArgumentMapping,
}

/// The parameters of a tool. Null, absent, `{}`, `[]` and `true` mean that there are none.
///
/// # Errors
/// [`NotExpressible`] where they can't be said to this target in any way.
pub fn convert_parameters(
    raw: Option<&RawJson>,
    target: SchemaTarget,
) -> Result<ConvertedSchema, NotExpressible> {
    let Some(raw) = raw.filter(|raw| !has_no_parameters(raw)) else { return Ok(no_parameters(target)) };
    let root = parse_schema(raw)?;
    let document = ParsedSchema::new(&root);
    match target {
        SchemaTarget::OpenAi => {
            // Where the root stays as it is, every reference leads where it led.
            let stays =
                document.has_plain_references || !converter::must_be_folded(&document, &dialect::OPENAI);
            let same = stays && !document.has_legacy_forms;
            convert_folded(
                &document,
                if same { &dialect::OPENAI } else { &dialect::OPENAI_INLINED },
                Some(raw),
            )
        }
        SchemaTarget::Anthropic => convert_folded(&document, &dialect::ANTHROPIC, None),
        SchemaTarget::Gemini => convert_folded(&document, &dialect::GEMINI, None),
        SchemaTarget::OpenAiStrict => convert_strict(&document, &strict::OPENAI, true),
        SchemaTarget::AnthropicOutput => convert_strict(&document, &strict::ANTHROPIC, true),
    }
}

/// The form of an answer, whose root may be anything that the target allows.
///
/// # Errors
/// [`NotExpressible`] where it can't be said to this target.
pub fn convert_output_schema(raw: &RawJson, target: SchemaTarget) -> Result<ConvertedSchema, NotExpressible> {
    let root = parse_schema(raw)?;
    let document = ParsedSchema::new(&root);
    let dialect = match target {
        SchemaTarget::OpenAiStrict => return convert_strict(&document, &strict::OPENAI, true),
        SchemaTarget::AnthropicOutput => return convert_strict(&document, &strict::ANTHROPIC, false),
        SchemaTarget::OpenAi => &dialect::OPENAI,
        SchemaTarget::Anthropic => &dialect::ANTHROPIC,
        SchemaTarget::Gemini => &dialect::GEMINI,
    };
    let (schema, lost) = SchemaConverter::try_limits(&document, dialect, SchemaConverter::convert_any_value);
    Ok(ConvertedSchema {
        schema: Some(to_raw_json(&schema)),
        losses: lost.into_notes(),
        arguments: ArgumentMapping::default(),
    })
}

/// A schema as its author wrote it.
pub(crate) fn parse_schema(raw: &RawJson) -> Result<OrderedJson, NotExpressible> {
    let bytes = raw.get().len();
    if bytes > MAX_BYTES {
        return Err(NotExpressible(format!(
            "its schema has {bytes} bytes; models are told of at most {MAX_BYTES}"
        )));
    }
    if nests_deeper_than(raw.get(), MAX_LEVELS) {
        return Err(NotExpressible(format!("its schema nests more than {MAX_LEVELS} levels deep")));
    }
    let json: OrderedJson =
        raw.to().map_err(|error| NotExpressible(format!("its schema can't be read: {error}")))?;
    if json.value_count() > MAX_VALUES {
        return Err(NotExpressible(format!("its schema is made of more than {MAX_VALUES} values")));
    }
    match json {
        OrderedJson::Object(_) | OrderedJson::Bool(_) => Ok(json),
        other => Err(NotExpressible(format!("its schema is of type {}, not an object", other.kind()))),
    }
}

fn has_no_parameters(raw: &RawJson) -> bool {
    let text: String = raw.get().chars().filter(|c| !c.is_whitespace()).collect();
    matches!(text.as_str(), "null" | "{}" | "[]" | "true")
}

fn no_parameters(target: SchemaTarget) -> ConvertedSchema {
    let text = match target {
        SchemaTarget::Gemini => None,
        SchemaTarget::OpenAi | SchemaTarget::Anthropic => Some(r#"{"type":"object","properties":{}}"#),
        SchemaTarget::OpenAiStrict | SchemaTarget::AnthropicOutput => {
            Some(r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#)
        }
    };
    ConvertedSchema {
        schema: text.and_then(|text| RawJson::parse(text).ok()),
        losses: Vec::new(),
        arguments: ArgumentMapping::default(),
    }
}

/// Converted, and the author's own text where that says the same.
fn convert_folded(
    document: &ParsedSchema<'_>,
    dialect: &'static SchemaDialect,
    raw: Option<&RawJson>,
) -> Result<ConvertedSchema, NotExpressible> {
    let (root, lost) = SchemaConverter::try_limits(document, dialect, SchemaConverter::convert_root);
    let root = root?;
    let arguments = ArgumentMapping { is_strict: false, renamed: root.renamed };
    let is_same = document.root_location().node.as_object() == Some(&root.fields);
    let schema = match raw.filter(|_| is_same) {
        Some(raw) => Some(raw.clone()),
        None if dialect.omits_empty_parameters && allows_no_property(&root.fields) => None,
        None => Some(to_raw_json(&OrderedJson::Object(root.fields))),
    };
    Ok(ConvertedSchema { schema, losses: lost.into_notes(), arguments })
}

/// Whether parameters name no property and let none be there.
fn allows_no_property(fields: &OrderedFields) -> bool {
    fields.iter().all(|(name, value)| match (name, value) {
        ("properties", OrderedJson::Object(properties)) => properties.is_empty(),
        ("required", OrderedJson::List(names)) => names.is_empty(),
        ("additionalProperties", value) => *value == OrderedJson::Bool(false),
        ("type" | "title" | "description", _) => true,
        _ => false,
    })
}

fn convert_strict(
    document: &ParsedSchema<'_>,
    rules: &'static strict::StrictRules,
    must_be_object: bool,
) -> Result<ConvertedSchema, NotExpressible> {
    let mut strict = StrictConverter::new(document, rules);
    let fields = strict.convert_document(must_be_object)?;
    let arguments = ArgumentMapping { is_strict: rules.fills_with_null(), renamed: Vec::new() };
    let schema = Some(to_raw_json(&OrderedJson::Object(fields)));
    Ok(ConvertedSchema { schema, losses: strict.notes.into_notes(), arguments })
}

fn to_raw_json(json: &OrderedJson) -> RawJson {
    RawJson::from_value(json).unwrap_or_default()
}

/// The names among `required`.
fn required_names(value: Option<&OrderedJson>) -> HashSet<&str> {
    value.and_then(OrderedJson::as_list).into_iter().flatten().filter_map(OrderedJson::as_text).collect()
}
