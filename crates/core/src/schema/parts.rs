//! Where schemas stand inside schemas, in all drafts: which keywords hold them, and whether what they hold speaks
//! of the value itself or of parts of it.

use serde_json::{Map, Value};

/// What an inner schema speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The value that the outer one speaks of.
    Same,
    /// A part of it: an item, a property, a property's name.
    Part,
}

pub(super) const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords that may hold one schema, a list of schemas or schemas by name; where a keyword can't hold one of
/// these forms, what stands there is no schema and does no harm.
const HOLDERS: &[(&str, Of)] = &[
    ("allOf", Of::Same),
    ("anyOf", Of::Same),
    ("oneOf", Of::Same),
    ("not", Of::Same),
    ("if", Of::Same),
    ("then", Of::Same),
    ("else", Of::Same),
    ("items", Of::Part),
    ("prefixItems", Of::Part),
    ("additionalItems", Of::Part),
    ("unevaluatedItems", Of::Part),
    ("contains", Of::Part),
    ("additionalProperties", Of::Part),
    ("unevaluatedProperties", Of::Part),
    ("propertyNames", Of::Part),
];
/// Keywords that hold schemas by name.
const BY_NAME: &[(&str, Of)] = &[
    ("dependentSchemas", Of::Same),
    ("dependencies", Of::Same),
    ("properties", Of::Part),
    ("patternProperties", Of::Part),
];

/// Whether a keyword holds schemas.
pub(super) fn holds_schemas(keyword: &str) -> bool {
    HOLDERS.iter().chain(BY_NAME).any(|(holder, _)| *holder == keyword)
}

/// The schemas that stand directly in a schema.
pub(super) fn inner(fields: &Map<String, Value>) -> impl Iterator<Item = (Of, &Value)> {
    let held = HOLDERS.iter().filter_map(|(keyword, of)| Some((*of, fields.get(*keyword)?)));
    let held = held.flat_map(|(of, value)| {
        let several = value.as_array().map(Vec::as_slice);
        several.unwrap_or(std::slice::from_ref(value)).iter().map(move |schema| (of, schema))
    });
    let named = BY_NAME.iter().filter_map(|(keyword, of)| Some((*of, fields.get(*keyword)?.as_object()?)));
    held.chain(named.flat_map(|(of, schemas)| schemas.values().map(move |schema| (of, schema))))
}

/// The references of a schema.
pub(super) fn references(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    REFERENCES.iter().filter_map(|keyword| fields.get(*keyword))
}

/// The schema that a reference leads to, where it is a plain pointer into this document.
pub(super) fn target<'s>(reference: &Value, root: &'s Value) -> Option<&'s Value> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    if pointer.contains('%') { root.pointer(&decoded(pointer)?) } else { root.pointer(pointer) }
}

/// Whether a reference has the form of a plain pointer into this document.
pub(super) fn is_pointer(reference: &Value) -> bool {
    let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
    pointer.is_some_and(|pointer| pointer.is_empty() || pointer.starts_with('/'))
}

/// A fragment of a URL, its escapes undone.
fn decoded(fragment: &str) -> Option<String> {
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
