//! Reads the schema of a tool of the dialects A and B: a map of properties or, incorrectly, a whole schema.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use toolway_types::json::nests_deeper_than;

use crate::bounds::{self, cut};
use crate::ordered_json::{ObjectMembers, object};

/// Keywords other than `properties` that make an object without a type a schema.
const KEYWORDS: &[&str] = &[
    "$schema",
    "$id",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "title",
    "description",
    "$defs",
];

/// Converts the text of an app to the JSON Schema of a tool's arguments.
///
/// # Errors
/// A description of the problem if the text is unusable.
pub(crate) fn schema(
    text: &str,
    required: &[String],
    mut flag: impl FnMut(String),
) -> Result<String, String> {
    if nests_deeper_than(text, bounds::DEPTH) {
        return Err(format!("its schema nests deeper than {} levels", bounds::DEPTH));
    }
    let parsed: &RawValue =
        serde_json::from_str(text.trim()).map_err(|error| format!("its schema is not JSON: {error}"))?;
    if parsed.get() == "null" || parsed.get() == "[]" {
        return Ok(r#"{"type":"object"}"#.to_owned());
    }
    let members = ObjectMembers::of(parsed).ok_or_else(|| "its schema is not a JSON object".to_owned())?;
    let mut required: BTreeSet<String> = required.iter().cloned().collect();
    let (properties, others) = match whole(&members) {
        None => (members, Vec::new()),
        Some(properties) => {
            flag("its map of properties is a complete schema; its properties were used".to_owned());
            if let Some(names) = members.get("required") {
                required.extend(serde_json::from_str::<Vec<String>>(names.get()).unwrap_or_default());
            }
            let kept = members
                .0
                .into_iter()
                .filter(|(key, _)| !matches!(key.as_str(), "type" | "properties" | "required"))
                .collect();
            (properties, kept)
        }
    };
    let mut written = Vec::new();
    for (name, property) in &properties.0 {
        let (property, wanted) = self::property(name, property, &mut flag);
        if wanted {
            required.insert(name.clone());
        }
        written.push((name.as_str(), property));
    }
    let known: BTreeSet<&str> = properties.0.iter().map(|(name, _)| name.as_str()).collect();
    for name in &required {
        if !known.contains(name.as_str()) {
            flag(format!("it requires {:?} but does not define it", cut(name, 100)));
        }
    }
    let mut all = vec![("type", r#""object""#.to_owned()), ("properties", object(written))];
    if !required.is_empty() {
        all.push(("required", serde_json::Value::from_iter(required).to_string()));
    }
    all.extend(others.iter().map(|(key, value)| (key.as_str(), value.get().to_owned())));
    Ok(object(all))
}

/// Returns the properties if the members are those of a whole schema. A map of properties may have arguments
/// with the names `type` or `properties`; their values are objects with their own type.
fn whole<'a>(members: &ObjectMembers<'a>) -> Option<ObjectMembers<'a>> {
    let says_object = members.get("type").is_some_and(|value| value.get() == r#""object""#);
    let Some(inner) = members.get("properties") else {
        return says_object.then(|| ObjectMembers(Vec::new()));
    };
    let inner = ObjectMembers::of(inner)?;
    let of_schemas = inner.0.iter().all(|(_, value)| value.get().starts_with('{'));
    let all_keywords = members.0.iter().all(|(key, _)| KEYWORDS.contains(&key.as_str()));
    (says_object || (of_schemas && all_keywords)).then_some(inner)
}

/// Returns a property's schema, and true if it marks itself as required, as in schemas before draft 4.
fn property(name: &str, value: &RawValue, flag: &mut impl FnMut(String)) -> (String, bool) {
    let shown = || cut(name, 100);
    let Some(fields) = ObjectMembers::of(value) else {
        let word = serde_json::from_str::<String>(value.get()).ok().and_then(|word| json_type(&word));
        flag(format!("the schema of its parameter {:?} is not an object", shown()));
        return (word.map_or_else(|| "{}".to_owned(), of_type), false);
    };
    let mut wanted = false;
    let mut written = Vec::new();
    for (key, value) in &fields.0 {
        match key.as_str() {
            "type" => match serde_json::from_str::<String>(value.get()) {
                Ok(word) => match json_type(&word) {
                    Some(known) => written.push(("type", format!("{known:?}"))),
                    None => flag(format!(
                        "its parameter {:?} has the unknown type {:?}, which is left out",
                        shown(),
                        cut(&word, 40)
                    )),
                },
                // A list of types is valid JSON Schema; anything else is refused with the schema.
                Err(_) => written.push(("type", value.get().to_owned())),
            },
            "required" if matches!(value.get(), "true" | "false") => wanted = value.get() == "true",
            other => written.push((other, value.get().to_owned())),
        }
    }
    (object(written), wanted)
}

pub(super) fn of_type(word: &str) -> String {
    object([("type", format!("{word:?}"))])
}

/// Returns the JSON Schema name for a type name in apps.
pub(super) fn json_type(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => "string",
        "number" | "float" | "double" => "number",
        "integer" | "int" | "long" => "integer",
        "boolean" | "bool" => "boolean",
        "array" | "list" => "array",
        "object" | "map" => "object",
        "null" => "null",
        _ => return None,
    })
}
