//! Finds the arguments that a schema marks `writeOnly`, whose values are not recorded. If a mark cannot be
//! resolved for certain, the value counts as marked.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::subschemas::{references, resolve_reference};

/// Arguments that a schema marks `writeOnly`, by property name at any position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SecretProperties {
    all: bool,
    names: BTreeSet<Box<str>>,
}

/// Keywords whose schema applies to the value itself, or to unnamed parts of it. If those are secret, the
/// whole value is.
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
/// Keywords of the same kind that contain a list of schemas.
const LIST_KEYWORDS: &[&str] = &["allOf", "anyOf", "oneOf", "items", "prefixItems"];
/// Keywords of the same kind that contain schemas by name.
const MAP_KEYWORDS: &[&str] = &["dependentSchemas", "patternProperties"];
/// Maximum number of visited schemas. Above it, everything counts as marked.
const MAX_VISITS: usize = 1_000_000;

impl SecretProperties {
    /// Finds the marks. None if nothing is marked.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
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

    /// Everything is secret.
    pub(crate) fn all() -> Self {
        Self { all: true, names: BTreeSet::new() }
    }

    /// True if no argument may be recorded.
    pub(crate) fn is_all_secret(&self) -> bool {
        self.all
    }

    /// True if the values of properties with this name must not be recorded.
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

/// A search for marks.
struct WriteOnlySearch<'s> {
    root: &'s Value,
    /// Schemas without reachable marks.
    unmarked: HashSet<*const Value>,
    /// Remaining number of visits.
    remaining_visits: usize,
}

impl<'s> WriteOnlySearch<'s> {
    /// True if a value of this schema is secret.
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
