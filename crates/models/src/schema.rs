//! Conversion of JSON Schemas to the form that each provider accepts. A schema comes from a stranger and may be
//! anything: a conversion takes milliseconds at most, and its result is at most a few times as large. Constraints that
//! a provider can't express are reported as losses. They still apply, because arguments are validated against the
//! original schema.
//!
//! This module does not validate values, and does not fetch schemas.

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
/// Maximum nesting depth of a schema.
pub const MAX_LEVELS: usize = 100;

/// Provider feature that a schema is converted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaTarget {
    /// Functions of OpenAI that are not strict, and of compatible servers.
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

/// Reason why a tool can't be offered to a provider's models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotExpressible(pub String);

/// A schema in the form that a target accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedSchema {
    /// The schema; `None` if the target expects none for a tool without parameters.
    pub schema: Option<RawJson>,
    /// Constraints that the target can't express, in words, each with its JSON pointer as a fragment
    /// (`#/properties/city: …`).
    pub losses: Vec<String>,
    /// Conversion of arguments that match the schema to arguments of the tool.
    pub arguments: ArgumentMapping,
}

/// Converts the parameters of a tool. Null, absent, `{}`, `[]` and `true` mean that there are none.
///
/// # Errors
/// [`NotExpressible`] if the target can't express them at all.
pub fn convert_parameters(
    raw: Option<&RawJson>,
    target: SchemaTarget,
) -> Result<ConvertedSchema, NotExpressible> {
    let Some(raw) = raw.filter(|raw| !has_no_parameters(raw)) else { return Ok(no_parameters(target)) };
    let root = parse_schema(raw)?;
    let document = ParsedSchema::new(&root);
    match target {
        SchemaTarget::OpenAi => {
            // References stay valid only if the root is not rewritten.
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

/// Converts the schema of a structured output. Its root may be of any type that the target allows.
///
/// # Errors
/// [`NotExpressible`] if the target can't express it.
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

/// Parses a schema, within the limits of size and depth.
pub(crate) fn parse_schema(raw: &RawJson) -> Result<OrderedJson, NotExpressible> {
    let bytes = raw.get().len();
    if bytes > MAX_BYTES {
        return Err(NotExpressible(format!(
            "its schema has {bytes} bytes; models accept at most {MAX_BYTES}"
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

/// Converts a document for a dialect. If nothing changes, it returns the author's text byte for byte.
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

/// Returns whether an object schema has no properties and allows no others.
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

/// Names in a `required` list.
fn required_names(value: Option<&OrderedJson>) -> HashSet<&str> {
    value.and_then(OrderedJson::as_list).into_iter().flatten().filter_map(OrderedJson::as_text).collect()
}
