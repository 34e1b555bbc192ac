//! What of JSON Schema each provider takes for the parameters of a tool.
//!
//! Sources, read in November 2026. Gemini: the reference of `parametersJsonSchema` and the list of keywords at
//! `responseJsonSchema` (v1beta `GenerationConfig`), which is the same parser. Anthropic: "Tool use" and the error
//! texts of the Messages API: draft 2020-12, an object at the root without `anyOf`, `oneOf`, `allOf`, names of
//! properties `^[a-zA-Z0-9_.-]{1,64}$`, no references in agents. OpenAI: the error texts of Chat Completions and
//! Responses for functions that are not strict.

/// What a provider takes.
#[derive(Debug)]
pub(crate) struct SchemaDialect {
    /// The keywords that are sent; all there are where nothing is listed.
    pub(crate) keywords: Option<&'static [&'static str]>,
    /// The values of `format` that are sent; all where nothing is listed.
    pub(crate) formats: Option<&'static [&'static str]>,
    /// Whether it is written in draft 2020-12 without references, whatever it was written in.
    pub(crate) inlines_references: bool,
    /// Whether a schema may be `true` or `false`.
    pub(crate) allows_boolean_schemas: bool,
    /// Whether `type` may list several besides `null`, and `enum` anything else than texts or numbers.
    pub(crate) allows_mixed_types: bool,
    /// Whether it knows `allOf`.
    pub(crate) has_all_of: bool,
    /// Whether it knows `oneOf`.
    pub(crate) has_one_of: bool,
    /// Whether `anyOf` must stand alone.
    pub(crate) needs_lone_any_of: bool,
    /// Whether an array must say what is in it.
    pub(crate) needs_items: bool,
    /// Whether what is required must be among the properties.
    pub(crate) needs_described_required: bool,
    /// Whether the order of properties is lost on the way and is said besides.
    pub(crate) states_property_order: bool,
    /// Whether a tool without parameters has no schema at all.
    pub(crate) omits_empty_parameters: bool,
    /// What is not allowed at the root. Alternatives and references there are folded into one object.
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

/// What a keyword holds.
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

/// What a keyword holds, in any draft.
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

/// Keywords that say nothing about which values fit.
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

/// Keywords that are of no use where nothing refers to anything.
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
