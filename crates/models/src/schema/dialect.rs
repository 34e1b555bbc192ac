//! The subsets of JSON Schema that providers accept for the parameters of a tool.
//!
//! Sources, read in November 2026:
//!
//! - Gemini: the reference of `parametersJsonSchema`, and the list of keywords of `responseJsonSchema` (v1beta
//!   `GenerationConfig`). Both use the same parser.
//! - Anthropic: the page "Tool use" and the error messages of the Messages API. They require draft 2020-12, an object
//!   at the root without `anyOf`, `oneOf` and `allOf`, property names that match `^[a-zA-Z0-9_.-]{1,64}$`, and no
//!   references in agents.
//! - OpenAI: the error messages of Chat Completions and Responses for functions without `strict`.

/// A provider's subset of JSON Schema.
#[derive(Debug)]
pub(crate) struct SchemaDialect {
    /// Supported keywords; `None` means all.
    pub(crate) keywords: Option<&'static [&'static str]>,
    /// Supported values of `format`; `None` means all.
    pub(crate) formats: Option<&'static [&'static str]>,
    /// Schemas of every draft are rewritten in draft 2020-12, and references are replaced with their targets.
    pub(crate) inlines_references: bool,
    /// A schema may be `true` or `false`.
    pub(crate) allows_boolean_schemas: bool,
    /// `type` may list several types besides `null`, and `enum` may contain other values than strings or numbers.
    pub(crate) allows_mixed_types: bool,
    /// `allOf` is supported.
    pub(crate) has_all_of: bool,
    /// `oneOf` is supported.
    pub(crate) has_one_of: bool,
    /// `anyOf` must be the only keyword of its schema.
    pub(crate) needs_lone_any_of: bool,
    /// An array must have `items`.
    pub(crate) needs_items: bool,
    /// Every name in `required` must be listed in `properties`.
    pub(crate) needs_described_required: bool,
    /// The provider loses the order of properties, so the schema also contains `propertyOrdering`.
    pub(crate) states_property_order: bool,
    /// A tool without parameters is sent without a schema.
    pub(crate) omits_empty_parameters: bool,
    /// Keywords that are forbidden at the root. Alternatives and references at the root are
    /// merged into one object.
    pub(crate) forbidden_at_root: &'static [&'static str],
    /// Checks the name of a property at the root; `None` means that every name is valid.
    pub(crate) is_valid_property: Option<fn(&str) -> bool>,
}

impl SchemaDialect {
    pub(crate) fn has_keyword(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|keywords| keywords.contains(&keyword))
    }

    pub(crate) fn has_format(&self, format: &str) -> bool {
        self.formats.is_none_or(|formats| formats.contains(&format))
    }
}

/// OpenAI's functions without `strict`: all keywords except those that the API rejects.
pub(crate) static OPENAI: SchemaDialect = SchemaDialect {
    keywords: None,
    formats: None,
    inlines_references: false,
    allows_boolean_schemas: true,
    allows_mixed_types: true,
    has_all_of: true,
    has_one_of: true,
    needs_lone_any_of: false,
    needs_items: true,
    needs_described_required: false,
    states_property_order: false,
    omits_empty_parameters: false,
    forbidden_at_root: &["anyOf", "oneOf", "allOf", "enum", "const", "not"],
    is_valid_property: None,
};

/// [`OPENAI`] with references replaced with their targets. Used if a merged root would break references, and for
/// schemas with forms of earlier drafts.
pub(crate) static OPENAI_INLINED: SchemaDialect = SchemaDialect { inlines_references: true, ..OPENAI };

/// Anthropic's tools.
pub(crate) static ANTHROPIC: SchemaDialect = SchemaDialect {
    keywords: Some(&[
        "type",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "enum",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "contentEncoding",
        "contentMediaType",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependentRequired",
        "dependentSchemas",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
    ]),
    formats: None,
    inlines_references: true,
    allows_boolean_schemas: true,
    allows_mixed_types: true,
    has_all_of: true,
    has_one_of: true,
    needs_lone_any_of: false,
    needs_items: false,
    needs_described_required: false,
    states_property_order: false,
    omits_empty_parameters: false,
    forbidden_at_root: &["anyOf", "oneOf", "allOf", "enum"],
    is_valid_property: Some(is_anthropic_property),
};

/// Gemini's `parametersJsonSchema` and `responseJsonSchema`.
pub(crate) static GEMINI: SchemaDialect = SchemaDialect {
    keywords: Some(&[
        "type",
        "title",
        "description",
        "enum",
        "format",
        "minimum",
        "maximum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "anyOf",
    ]),
    formats: Some(&["date-time", "date", "time"]),
    inlines_references: true,
    allows_boolean_schemas: false,
    allows_mixed_types: false,
    has_all_of: false,
    has_one_of: false,
    needs_lone_any_of: true,
    needs_items: true,
    needs_described_required: true,
    states_property_order: true,
    omits_empty_parameters: true,
    forbidden_at_root: &["anyOf", "enum"],
    is_valid_property: Some(is_gemini_property),
};

fn is_anthropic_property(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn is_gemini_property(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Type of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeywordValueKind {
    /// A schema.
    Schema,
    /// A list of schemas.
    List,
    /// An object whose values are schemas.
    Map,
    /// Any other value.
    Data,
}

/// Returns the type of a keyword's value. Covers the keywords of all drafts.
pub(crate) fn keyword_value_kind(keyword: &str) -> KeywordValueKind {
    match keyword {
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "propertyNames"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => KeywordValueKind::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => KeywordValueKind::List,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
        | "definitions" => KeywordValueKind::Map,
        _ => KeywordValueKind::Data,
    }
}

/// Returns true for keywords that do not affect which values are valid.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "example"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
    )
}

/// Returns true for references, and for keywords that only references use.
pub(crate) fn is_reference_keyword(keyword: &str) -> bool {
    matches!(
        keyword,
        "$schema"
            | "$id"
            | "id"
            | "$anchor"
            | "$dynamicAnchor"
            | "$recursiveAnchor"
            | "$vocabulary"
            | "$comment"
            | "$defs"
            | "definitions"
            | "$ref"
            | "$dynamicRef"
            | "$recursiveRef"
    )
}
