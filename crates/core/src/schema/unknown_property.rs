//! Descriptions of properties that a schema does not allow: their names, and the names that it allows.

use std::cell::OnceCell;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};
use toolway_types::RawJson;
use toolway_types::text::truncate;

/// Maximum number of names in a list.
const MAX_NAMES: usize = 20;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 80;
/// Keywords that may allow further names than `properties`.
const OTHER_SOURCES_OF_NAMES: [&str; 12] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
];

/// Properties that an object must not have.
struct UnknownProperties<'p> {
    /// Pointer of the object.
    object: &'p str,
    names: Vec<String>,
    /// Pointer of the object's schema, if it can tell the allowed names.
    schema: Option<&'p str>,
}

/// Describes the violations of a value that are about names of properties.
pub(super) struct UnknownPropertyText<'a> {
    schema: Option<&'a RawJson>,
    /// Parsed at the first violation of this kind.
    parsed: OnceCell<Value>,
    value: &'a Value,
}

impl<'a> UnknownPropertyText<'a> {
    pub(super) fn new(schema: Option<&'a RawJson>, value: &'a Value) -> Self {
        Self { schema, parsed: OnceCell::new(), value }
    }

    /// Returns the pointer of the object and the description; `None` for other violations.
    pub(super) fn describe(&self, error: &ValidationError<'_>) -> Option<(String, String)> {
        let schema_path = error.schema_path().as_str();
        let path = error.instance_path().as_str();
        let found = match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => UnknownProperties {
                object: path,
                names: unexpected.clone(),
                schema: schema_path.rsplit_once('/').map(|(object, _)| object),
            },
            ValidationErrorKind::FalseSchema => self.forbidden_properties(schema_path, path)?,
            _ => return None,
        };
        let (one, several, subject) = match found.object {
            "" => ("argument", "arguments", "this tool"),
            _ => ("property", "properties", "this object"),
        };
        let noun = if found.names.len() == 1 { one } else { several };
        let mut text = format!("unknown {noun} {}", list_names(found.names.iter().map(String::as_str)));
        match found.schema.and_then(|schema| self.allowed_names(schema)).as_deref() {
            None => {}
            Some([]) => text += &format!("; {subject} takes no {several}"),
            Some(allowed) => text += &format!("; it takes {}", list_names(allowed.iter().copied())),
        }
        Some((found.object.to_owned(), text))
    }

    /// Properties that a schema `false` forbids. The validator reports the place of the object or of the property,
    /// depending on the keyword.
    fn forbidden_properties<'p>(&self, schema_path: &'p str, path: &'p str) -> Option<UnknownProperties<'p>> {
        let (outer, keyword) = schema_path.rsplit_once('/')?;
        let last_part = path.rsplit_once('/');
        let of_one = |schema| {
            last_part.map(|(object, name)| UnknownProperties { object, names: vec![unescape(name)], schema })
        };
        // A property may have the name of a keyword.
        let is_named = last_part.is_some_and(|(_, name)| name == keyword);
        let is_for_all =
            matches!(keyword, "additionalProperties" | "unevaluatedProperties" | "propertyNames");
        match (outer.strip_suffix("/properties"), outer.ends_with("/patternProperties")) {
            (Some(schema), _) if is_named || !is_for_all => return of_one(Some(schema)),
            (_, true) => return of_one(None),
            _ if !is_for_all => return None,
            _ => {}
        }
        let schema = (keyword != "propertyNames").then_some(outer);
        let fields = self.schema_object(outer);
        let has_named = fields.is_some_and(|fields| {
            fields.contains_key("properties") || fields.contains_key("patternProperties")
        });
        match self.value.pointer(path)? {
            // Without named properties every property is unknown.
            Value::Object(fields) if !has_named => {
                Some(UnknownProperties { object: path, names: fields.keys().cloned().collect(), schema })
            }
            _ => of_one(schema),
        }
    }

    /// Names allowed by the schema at this pointer; `None` if they are not simply its `properties`.
    fn allowed_names(&self, schema: &str) -> Option<Vec<&str>> {
        let fields = self.schema_object(schema)?;
        if OTHER_SOURCES_OF_NAMES.iter().any(|other| fields.contains_key(*other)) {
            return None;
        }
        let properties = fields.get("properties").and_then(Value::as_object);
        let allowed = properties.into_iter().flatten().filter(|(_, schema)| **schema != Value::Bool(false));
        Some(allowed.map(|(name, _)| name.as_str()).collect())
    }

    fn schema_object(&self, path: &str) -> Option<&Map<String, Value>> {
        let schema = self.schema?;
        self.parsed.get_or_init(|| schema.to_value()).pointer(path)?.as_object()
    }
}

fn list_names<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut shown: Vec<_> =
        names.take(MAX_NAMES).map(|name| format!("`{}`", truncate(name, MAX_NAME_BYTES))).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// Decodes one part of a JSON pointer.
fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
