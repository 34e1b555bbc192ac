//! Counts the steps of validating a value against a schema, by walking like a validator but stopping at a
//! limit. A validator itself cannot be stopped.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::complexity::{find_cycles, pattern_weight, visit_count};
use super::subschemas::{REFERENCES, resolve_reference};

/// Number of steps that caching a pair of schema and value is worth.
const REMEMBERED_PAIR_STEPS: usize = 50;
/// Number of pattern states times bytes that count as one step.
const MATCH_WORK_PER_STEP: u64 = 16;
/// Maximum nesting depth of schemas when violations are listed. Listing takes several hundred bytes of stack
/// for each.
const MAX_LISTED_LEVELS: usize = 1000;

/// Schemas and the values to which they apply.
type SchemaValuePairs<'s> = Box<dyn Iterator<Item = (&'s Value, &'s Value)> + 's>;

/// A walk over a schema and a value.
pub(super) struct CostWalk<'s> {
    root: &'s Value,
    remaining_steps: u64,
    /// Schemas that a validator visits only once per value.
    remembered_schemas: HashSet<*const Value>,
    seen: HashSet<(*const Value, *const Value)>,
    /// Stack of the walk, from the outermost to the innermost schema, with the remaining pairs of each.
    todo: Vec<(usize, SchemaValuePairs<'s>)>,
}

impl<'s> CostWalk<'s> {
    /// True if validating takes at most this many steps. A validator follows a cycle once for each part of
    /// the value.
    pub(super) fn can_validate(schema: &'s Value, value: &'s Value, steps: u64) -> bool {
        Self::new(schema, find_cycles(schema), steps).run_within_budget(value, usize::MAX)
    }

    /// True if listing all violations takes at most this many steps. Listing caches nothing.
    pub(super) fn can_list(schema: &'s Value, value: &'s Value, steps: u64) -> bool {
        Self::new(schema, HashSet::new(), steps).run_within_budget(value, MAX_LISTED_LEVELS)
    }

    fn new(root: &'s Value, once: HashSet<*const Value>, left: u64) -> Self {
        Self { root, remaining_steps: left, remembered_schemas: once, seen: HashSet::new(), todo: Vec::new() }
    }

    fn run_within_budget(mut self, value: &'s Value, most_levels: usize) -> bool {
        self.todo.push((0, Box::new(std::iter::once((self.root, value)))));
        while let Some((level, pairs)) = self.todo.last_mut() {
            let level = *level;
            match pairs.next() {
                None => {
                    self.todo.pop();
                }
                Some((schema, value)) => {
                    if level > most_levels || !self.visit(schema, value, level + 1) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn spend(&mut self, count: usize) -> bool {
        match self.remaining_steps.checked_sub(count as u64) {
            Some(left) => {
                self.remaining_steps = left;
                true
            }
            None => false,
        }
    }

    fn spend_match(&mut self, pattern: &str, text: &str) -> bool {
        let steps = pattern_weight(pattern).saturating_mul(text.len() as u64) / MATCH_WORK_PER_STEP;
        self.spend(usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(1))
    }

    /// Counts one schema and pushes its inner schemas. Returns false if no steps remain.
    fn visit(&mut self, schema: &'s Value, value: &'s Value, level: usize) -> bool {
        let Value::Object(fields) = schema else { return self.spend(1) };
        self.spend(1 + fields.len())
            && fields.iter().all(|(keyword, inner)| self.visit_keyword(fields, keyword, inner, value, level))
    }

    fn visit_keyword(
        &mut self,
        fields: &Map<String, Value>,
        keyword: &str,
        inner: &'s Value,
        value: &'s Value,
        level: usize,
    ) -> bool {
        let pairs: SchemaValuePairs<'s> = match (keyword, inner, value) {
            ("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else", inner, _) => {
                let several = inner.as_array().map_or(std::slice::from_ref(inner), Vec::as_slice);
                return self.push_same_value(fields, level, || {
                    Box::new(several.iter().map(move |inner| (inner, value)))
                });
            }
            ("dependentSchemas" | "dependencies", Value::Object(by_name), Value::Object(_)) => {
                return self.push_same_value(fields, level, || {
                    Box::new(by_name.values().map(move |inner| (inner, value)))
                });
            }
            ("properties", Value::Object(by_name), Value::Object(properties)) => {
                if !self.spend(by_name.len()) {
                    return false;
                }
                Box::new(by_name.iter().filter_map(|(name, inner)| Some((inner, properties.get(name)?))))
            }
            ("patternProperties", Value::Object(by_name), Value::Object(properties)) => {
                let all =
                    || by_name.keys().flat_map(|pattern| properties.keys().map(move |name| (pattern, name)));
                if !all().all(|(pattern, name)| self.spend_match(pattern, name)) {
                    return false;
                }
                Box::new(
                    by_name.values().flat_map(|inner| properties.values().map(move |value| (inner, value))),
                )
            }
            ("additionalProperties" | "unevaluatedProperties", inner, Value::Object(properties)) => {
                Box::new(properties.values().map(move |property| (inner, property)))
            }
            ("propertyNames", inner, Value::Object(properties)) => {
                let pattern = inner.get("pattern").and_then(Value::as_str).unwrap_or_default();
                if !properties.keys().all(|name| self.spend_match(pattern, name)) {
                    return false;
                }
                Box::new(properties.keys().map(move |_| (inner, &Value::Null)))
            }
            ("items" | "prefixItems", Value::Array(in_order), Value::Array(items)) => {
                Box::new(in_order.iter().zip(items))
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", inner, Value::Array(items)) => {
                Box::new(items.iter().map(move |item| (inner, item)))
            }
            ("enum" | "required", Value::Array(listed), _) => return self.spend(listed.len()),
            ("uniqueItems", _, Value::Array(items)) => return self.spend(items.len()),
            ("pattern", Value::String(pattern), Value::String(text)) => {
                return self.spend_match(pattern, text);
            }
            _ if REFERENCES.contains(&keyword) => {
                return match resolve_reference(inner, self.root) {
                    Some(target) => self.visit_reference(fields, target, value, level),
                    None => true,
                };
            }
            _ => return true,
        };
        self.todo.push((level, pairs));
        true
    }

    fn visit_reference(
        &mut self,
        fields: &Map<String, Value>,
        target: &'s Value,
        value: &'s Value,
        level: usize,
    ) -> bool {
        let is_container = value.is_object() || value.is_array();
        if is_container && self.remembered_schemas.contains(&std::ptr::from_ref(target)) {
            if !self.seen.insert((target, value)) {
                return self.spend(1);
            }
            if !self.spend(REMEMBERED_PAIR_STEPS) {
                return false;
            }
        }
        self.push_same_value(fields, level, || Box::new(std::iter::once((target, value))))
    }

    /// Pushes a schema for the same value, as often as it is visited.
    fn push_same_value(
        &mut self,
        fields: &Map<String, Value>,
        level: usize,
        pairs: impl Fn() -> SchemaValuePairs<'s>,
    ) -> bool {
        self.todo.extend((0..visit_count(fields)).map(|_| (level, pairs())));
        true
    }
}

#[cfg(test)]
mod tests;
