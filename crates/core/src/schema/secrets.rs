//! Which of a call's arguments its schema marks `writeOnly`: their values are not recorded. Where a mark can't
//! be followed for certain, the value counts as marked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The arguments that a schema marks `writeOnly`, by property name, wherever the property is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Secrets {
    all: bool,
    names: BTreeSet<Box<str>>,
}

/// Keywords whose schema speaks of the value itself, or of parts of it that have no property name: where
/// those are secret, the whole value is.
const ONE: &[&str] = &[
    "if",
    "then",
    "else",
    "items",
    "contains",
    "additionalItems",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
];
/// The same for keywords that hold a list of schemas.
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "items", "prefixItems"];
/// The same for keywords that hold schemas by name.
const MAPS: &[&str] = &["dependentSchemas", "patternProperties"];
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

impl Secrets {
    /// None where nothing in the schema is marked.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        if !mentions_write_only(schema) {
            return None;
        }
        let mut secrets = Self { all: is_marked(schema, schema, &mut Vec::new()), ..Self::default() };
        secrets.collect(schema, schema);
        Some(secrets)
    }

    /// Whether nothing of the arguments may be recorded.
    pub(crate) fn all(&self) -> bool {
        self.all
    }

    /// Whether the values of properties of this name may not be recorded.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn collect(&mut self, schema: &Value, root: &Value) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    for (name, property) in properties {
                        if is_marked(property, root, &mut Vec::new()) {
                            self.names.insert(name.as_str().into());
                        }
                    }
                }
                fields.values().for_each(|inner| self.collect(inner, root));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.collect(inner, root)),
            _ => {}
        }
    }
}

/// Whether a value of this schema is secret. `seen` are the schemas already looked at.
fn is_marked<'a>(schema: &'a Value, root: &'a Value, seen: &mut Vec<&'a Value>) -> bool {
    let Value::Object(fields) = schema else { return false };
    if fields.get("writeOnly") == Some(&Value::Bool(true)) {
        return true;
    }
    if seen.iter().any(|it| std::ptr::eq(*it, schema)) {
        return false;
    }
    seen.push(schema);
    REFERENCES.iter().filter_map(|keyword| fields.get(*keyword)).any(|reference| {
        let Some(target) = target(reference, root) else { return true };
        is_marked(target, root, seen)
    }) || parts(fields).any(|part| is_marked(part, root, seen))
}

/// The schema a reference leads to, where it is a plain pointer into this document.
fn target<'a>(reference: &Value, root: &'a Value) -> Option<&'a Value> {
    let pointer = reference.as_str()?.strip_prefix('#')?;
    root.pointer(pointer)
}

fn parts(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let one = ONE.iter().filter_map(|keyword| fields.get(*keyword));
    let lists = LISTS.iter().filter_map(|keyword| fields.get(*keyword)?.as_array()).flatten();
    let maps = MAPS.iter().filter_map(|keyword| fields.get(*keyword)?.as_object());
    one.chain(lists).chain(maps.flat_map(Map::values))
}

fn mentions_write_only(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("writeOnly") == Some(&Value::Bool(true)) || fields.values().any(mentions_write_only)
        }
        Value::Array(items) => items.iter().any(mentions_write_only),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
