//! Which of a call's arguments its schema marks `writeOnly`: their values are not recorded. Where a mark can't
//! be followed for certain, the value counts as marked.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::subschemas::{references, resolve_reference};

/// The arguments that a schema marks `writeOnly`, by property name, wherever the property is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SecretProperties {
    all: bool,
    names: BTreeSet<Box<str>>,
}

/// Keywords whose schema speaks of the value itself, or of parts of it that have no property name: where
/// those are secret, the whole value is.
const SINGLE_KEYWORDS: &[&str] = &[
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
const LIST_KEYWORDS: &[&str] = &["allOf", "anyOf", "oneOf", "items", "prefixItems"];
/// The same for keywords that hold schemas by name.
const MAP_KEYWORDS: &[&str] = &["dependentSchemas", "patternProperties"];
/// Schemas that are looked at in all. Where there are more to look at, everything counts as marked.
const MAX_VISITS: usize = 1_000_000;

impl SecretProperties {
    /// None where nothing in the schema is marked.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        if !mentions_write_only(schema) {
            return None;
        }
        let mut search =
            WriteOnlySearch { root: schema, unmarked: HashSet::new(), remaining_visits: MAX_VISITS };
        let mut secrets = Self { all: search.is_marked(schema), ..Self::default() };
        secrets.collect(schema, &mut search);
        secrets.all |= search.remaining_visits == 0;
        Some(secrets)
    }

    /// Whether nothing of the arguments may be recorded.
    pub(crate) fn is_all_secret(&self) -> bool {
        self.all
    }

    /// Whether the values of properties of this name may not be recorded.
    pub(crate) fn is_secret(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn collect<'s>(&mut self, schema: &'s Value, search: &mut WriteOnlySearch<'s>) {
        match schema {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    for (name, property) in properties {
                        if search.is_marked(property) {
                            self.names.insert(name.as_str().into());
                        }
                    }
                }
                fields.values().for_each(|inner| self.collect(inner, search));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.collect(inner, search)),
            _ => {}
        }
    }
}

/// Looks for marks.
struct WriteOnlySearch<'s> {
    root: &'s Value,
    /// Schemas from which no mark can be reached.
    unmarked: HashSet<*const Value>,
    /// How many more may be looked at.
    remaining_visits: usize,
}

impl<'s> WriteOnlySearch<'s> {
    /// Whether a value of this schema is secret.
    fn is_marked(&mut self, schema: &'s Value) -> bool {
        let (mut seen, mut todo) = (HashSet::new(), vec![schema]);
        while let Some(schema) = todo.pop() {
            let Value::Object(fields) = schema else { continue };
            if self.unmarked.contains(&std::ptr::from_ref(schema)) || !seen.insert(std::ptr::from_ref(schema))
            {
                continue;
            }
            if self.remaining_visits == 0 || fields.get("writeOnly") == Some(&Value::Bool(true)) {
                return true;
            }
            self.remaining_visits -= 1;
            for reference in references(fields) {
                match resolve_reference(reference, self.root) {
                    Some(target) => todo.push(target),
                    None => return true,
                }
            }
            todo.extend(unnamed_subschemas(fields));
        }
        self.unmarked.extend(seen);
        false
    }
}

fn unnamed_subschemas(fields: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let one = SINGLE_KEYWORDS.iter().filter_map(|keyword| fields.get(*keyword));
    let lists = LIST_KEYWORDS.iter().filter_map(|keyword| fields.get(*keyword)?.as_array()).flatten();
    let maps = MAP_KEYWORDS.iter().filter_map(|keyword| fields.get(*keyword)?.as_object());
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
