//! What of JSON Schema each provider takes for the parameters of a tool.
//!
//! Sources, read in November 2026. Gemini: the reference of `parametersJsonSchema` and the list of keywords at
//! `responseJsonSchema` (v1beta `GenerationConfig`), which is the same parser. Anthropic: "Tool use" and the error
//! texts of the Messages API: draft 2020-12, an object at the root without `anyOf`, `oneOf`, `allOf`, names of
//! properties `^[a-zA-Z0-9_.-]{1,64}$`, no references in agents. OpenAI: the error texts of Chat Completions and
//! Responses for functions that are not strict.

/// What a provider takes.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The keywords that are sent; all there are where nothing is listed.
    pub(crate) keywords: Option<&'static [&'static str]>,
    /// The values of `format` that are sent; all where nothing is listed.
    pub(crate) formats: Option<&'static [&'static str]>,
    /// Whether it is written in draft 2020-12 without references, whatever it was written in.
    pub(crate) writes_out: bool,
    /// Whether a schema may be `true` or `false`.
    pub(crate) booleans: bool,
    /// Whether `type` may list several besides `null`, and `enum` anything else than texts or numbers.
    pub(crate) mixes_types: bool,
    /// Whether it knows `allOf`.
    pub(crate) all_of: bool,
    /// Whether it knows `oneOf`.
    pub(crate) one_of: bool,
    /// Whether `anyOf` must stand alone.
    pub(crate) any_of_alone: bool,
    /// Whether an array must say what is in it.
    pub(crate) needs_items: bool,
    /// Whether what is required must be among the properties.
    pub(crate) needs_known_required: bool,
    /// Whether the order of properties is lost on the way and is said besides.
    pub(crate) says_order: bool,
    /// Whether a tool without parameters has no schema at all.
    pub(crate) leaves_out_nothing: bool,
    /// What is not allowed at the root. Alternatives and references there are folded into one object.
    pub(crate) not_at_root: &'static [&'static str],
    /// Which names properties of the root may have.
    pub(crate) is_property: Option<fn(&str) -> bool>,
}

impl Dialect {
    pub(crate) fn takes(&self, keyword: &str) -> bool {
        self.keywords.is_none_or(|keywords| keywords.contains(&keyword))
    }

    pub(crate) fn takes_format(&self, format: &str) -> bool {
        self.formats.is_none_or(|formats| formats.contains(&format))
    }
}

/// OpenAI's functions that are not strict: everything but what is refused.
pub(crate) static OPENAI: Dialect = Dialect {
    keywords: None,
    formats: None,
    writes_out: false,
    booleans: true,
    mixes_types: true,
    all_of: true,
    one_of: true,
    any_of_alone: false,
    needs_items: true,
    needs_known_required: false,
    says_order: false,
    leaves_out_nothing: false,
    not_at_root: &["anyOf", "oneOf", "allOf", "enum", "const", "not"],
    is_property: None,
};

/// The same, for a schema whose references would lead nowhere once its root is folded, and for one that says something
/// as only earlier drafts do.
pub(crate) static OPENAI_WRITTEN_OUT: Dialect = Dialect { writes_out: true, ..OPENAI };

pub(crate) static ANTHROPIC: Dialect = Dialect {
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
    writes_out: true,
    booleans: true,
    mixes_types: true,
    all_of: true,
    one_of: true,
    any_of_alone: false,
    needs_items: false,
    needs_known_required: false,
    says_order: false,
    leaves_out_nothing: false,
    not_at_root: &["anyOf", "oneOf", "allOf", "enum"],
    is_property: Some(is_anthropic_property),
};

pub(crate) static GEMINI: Dialect = Dialect {
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
    writes_out: true,
    booleans: false,
    mixes_types: false,
    all_of: false,
    one_of: false,
    any_of_alone: true,
    needs_items: true,
    needs_known_required: true,
    says_order: true,
    leaves_out_nothing: true,
    not_at_root: &["anyOf", "enum"],
    is_property: Some(is_gemini_property),
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
pub(crate) enum Holds {
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
pub(crate) fn holds(keyword: &str) -> Holds {
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
        | "contentSchema" => Holds::Schema,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Holds::List,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
        | "definitions" => Holds::Map,
        _ => Holds::Data,
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
pub(crate) fn is_plumbing(keyword: &str) -> bool {
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
