//! The subsets of JSON Schema that providers accept for the parameters of a tool.
//!
//! Sources, read in November 2026. Gemini: the reference of `parametersJsonSchema` and the list of keywords at
//! `responseJsonSchema` (v1beta `GenerationConfig`), which is the same parser. Anthropic: "Tool use" and the error
//! texts of the Messages API: draft 2020-12, an object at the root without `anyOf`, `oneOf`, `allOf`, names of
//! properties `^[a-zA-Z0-9_.-]{1,64}$`, no references in agents. OpenAI: the error texts of Chat Completions and
//! Responses for functions that are not strict.

/// A provider's subset of JSON Schema.
#[derive(Debug)]
pub(crate) struct SchemaDialect {
    /// Keywords that are sent; empty means all.
    pub(crate) keywords: Option<&'static [&'static str]>,
    /// The values of `format` that are sent; all where nothing is listed.
    pub(crate) formats: Option<&'static [&'static str]>,
    /// Schemas are rewritten in draft 2020-12 without references, whatever their draft.
    pub(crate) inlines_references: bool,
    /// A schema may be `true` or `false`.
    pub(crate) allows_boolean_schemas: bool,
    /// `type` may list several types besides `null`, and `enum` may contain other values than strings or numbers.
    pub(crate) allows_mixed_types: bool,
    /// `allOf` is supported.
    pub(crate) has_all_of: bool,
    /// `oneOf` is supported.
    pub(crate) has_one_of: bool,
    /// No other keyword may stand beside `anyOf`.
    pub(crate) needs_lone_any_of: bool,
    /// An array must have `items`.
    pub(crate) needs_items: bool,
    /// Every name in `required` must be among the properties.
    pub(crate) needs_described_required: bool,
    /// The provider loses the order of properties, so it is stated separately.
    pub(crate) states_property_order: bool,
    /// A tool without parameters has no schema at all.
    pub(crate) omits_empty_parameters: bool,
    /// Keywords that are forbidden at the root. Alternatives and references there are folded into one object.
    pub(crate) forbidden_at_root: &'static [&'static str],
    /// Which names properties of the root may have.
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

/// OpenAI's functions that are not strict: everything but what is refused.
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

/// The same, for a schema whose references would lead nowhere once its root is folded, and for one that says something
/// as only earlier drafts do.
pub(crate) static OPENAI_INLINED: SchemaDialect = SchemaDialect { inlines_references: true, ..OPENAI };

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
    /// Schemas in order.
    List,
    /// Schemas by name.
    Map,
    /// Something else.
    Data,
}

/// Returns the type of a keyword's value, in any draft.
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

/// Keywords without influence on validity.
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

/// Keywords that only references need.
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
