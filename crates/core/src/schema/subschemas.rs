//! Positions of schemas inside schemas, in all drafts: the keywords that contain them, and whether these
//! apply to the same value or to parts of it.

use serde_json::{Map, Value};

/// Target of an inner schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubschemaTarget {
    /// The same value as the outer schema.
    SameValue,
    /// A part of the value: an item, a property, a property's name.
    ValuePart,
}

pub(super) const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords that may contain one schema, a list of schemas or schemas by name. If a keyword does not allow
/// one of these forms, its content is not a schema, and treating it as one does no harm.
const SUBSCHEMA_KEYWORDS: &[(&str, SubschemaTarget)] = &[
    ("allOf", SubschemaTarget::SameValue),
    ("anyOf", SubschemaTarget::SameValue),
    ("oneOf", SubschemaTarget::SameValue),
    ("not", SubschemaTarget::SameValue),
    ("if", SubschemaTarget::SameValue),
    ("then", SubschemaTarget::SameValue),
    ("else", SubschemaTarget::SameValue),
    ("items", SubschemaTarget::ValuePart),
    ("prefixItems", SubschemaTarget::ValuePart),
    ("additionalItems", SubschemaTarget::ValuePart),
    ("unevaluatedItems", SubschemaTarget::ValuePart),
    ("contains", SubschemaTarget::ValuePart),
    ("additionalProperties", SubschemaTarget::ValuePart),
    ("unevaluatedProperties", SubschemaTarget::ValuePart),
    ("propertyNames", SubschemaTarget::ValuePart),
];
/// Keywords that hold schemas by name.
const NAMED_SUBSCHEMA_KEYWORDS: &[(&str, SubschemaTarget)] = &[
    ("dependentSchemas", SubschemaTarget::SameValue),
    ("dependencies", SubschemaTarget::SameValue),
    ("properties", SubschemaTarget::ValuePart),
    ("patternProperties", SubschemaTarget::ValuePart),
];

/// True if a keyword contains schemas.
pub(super) fn holds_schemas(keyword: &str) -> bool {
    SUBSCHEMA_KEYWORDS.iter().chain(NAMED_SUBSCHEMA_KEYWORDS).any(|(holder, _)| *holder == keyword)
}

/// Direct subschemas of a schema.
pub(super) fn subschemas(fields: &Map<String, Value>) -> impl Iterator<Item = (SubschemaTarget, &Value)> {
    let held = SUBSCHEMA_KEYWORDS.iter().filter_map(|(keyword, of)| Some((*of, fields.get(*keyword)?)));
    let held = held.flat_map(|(of, value)| {
        let several = value.as_array().map(Vec::as_slice);
        several.unwrap_or(std::slice::from_ref(value)).iter().map(move |schema| (of, schema))
    });
    let named = NAMED_SUBSCHEMA_KEYWORDS
        .iter()
        .filter_map(|(keyword, of)| Some((*of, fields.get(*keyword)?.as_object()?)));
    held.chain(named.flat_map(|(of, schemas)| schemas.values().map(move |schema| (of, schema))))
}

/// References of a schema.
pub(super) fn references(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    REFERENCES.iter().filter_map(|keyword| fields.get(*keyword))
}

/// The target of a reference, if the reference is a plain pointer into this document.
pub(super) fn resolve_reference<'s>(reference: &Value, root: &'s Value) -> Option<&'s Value> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    if pointer.contains('%') { root.pointer(&percent_decode(pointer)?) } else { root.pointer(pointer) }
}

/// True if a reference has the form of a plain pointer into this document.
pub(super) fn is_pointer(reference: &Value) -> bool {
    let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
    pointer.is_some_and(|pointer| pointer.is_empty() || pointer.starts_with('/'))
}

/// Decodes a URL fragment.
fn percent_decode(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        let digit =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(match byte {
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}
