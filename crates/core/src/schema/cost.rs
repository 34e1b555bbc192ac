//! How many steps checking a value against a schema takes, counted by walking as a validator does and giving up
//! where there are too many: unlike a validator, which can't be stopped.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::parts::{REFERENCES, target};
use super::shape::{circles, pattern_weight, times_looked_at};

/// Steps that remembering a pair of schema and value is worth.
const REMEMBERING: usize = 50;
/// States times bytes of a pattern's work that are worth one step.
const MATCHING: u64 = 16;
/// Most schemas inside one another where violations are listed. Listing takes some hundred bytes of stack for each.
const MAX_LISTED_LEVELS: usize = 1000;

/// Schemas and the values that they speak of.
type Pairs<'s> = Box<dyn Iterator<Item = (&'s Value, &'s Value)> + 's>;

/// A walk over a schema and a value.
pub(super) struct Walk<'s> {
    root: &'s Value,
    left: u64,
    /// The schemas that a validator does not look at twice for one value.
    once: HashSet<*const Value>,
    seen: HashSet<(*const Value, *const Value)>,
    /// Where it is, from the outermost schema to the innermost: what is still to be looked at there.
    todo: Vec<(usize, Pairs<'s>)>,
}

impl<'s> Walk<'s> {
    /// Whether saying yes or no takes at most so many steps. A validator goes round a circle once for each part of
    /// the value.
    pub(super) fn can_judge(schema: &'s Value, value: &'s Value, steps: u64) -> bool {
        Self::over(schema, circles(schema), steps).fits(value, usize::MAX)
    }

    /// Whether listing what is wrong takes at most so many steps. That remembers nothing.
    pub(super) fn can_list(schema: &'s Value, value: &'s Value, steps: u64) -> bool {
        Self::over(schema, HashSet::new(), steps).fits(value, MAX_LISTED_LEVELS)
    }

    fn over(root: &'s Value, once: HashSet<*const Value>, left: u64) -> Self {
        Self { root, left, once, seen: HashSet::new(), todo: Vec::new() }
    }

    fn fits(mut self, value: &'s Value, most_levels: usize) -> bool {
        self.todo.push((0, Box::new(std::iter::once((self.root, value)))));
        while let Some((level, pairs)) = self.todo.last_mut() {
            let level = *level;
            match pairs.next() {
                None => {
                    self.todo.pop();
                }
                Some((schema, value)) => {
                    if level > most_levels || !self.look(schema, value, level + 1) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn steps(&mut self, count: usize) -> bool {
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn matching(&mut self, pattern: &str, text: &str) -> bool {
        let steps = pattern_weight(pattern).saturating_mul(text.len() as u64) / MATCHING;
        self.steps(usize::try_from(steps).unwrap_or(usize::MAX).saturating_add(1))
    }

    /// Counts one schema and notes what is to be looked at inside it. False where there are no steps left.
    fn look(&mut self, schema: &'s Value, value: &'s Value, level: usize) -> bool {
        let Value::Object(fields) = schema else { return self.steps(1) };
        self.steps(1 + fields.len())
            && fields.iter().all(|(keyword, inner)| self.keyword(fields, keyword, inner, value, level))
    }

    fn keyword(
        &mut self,
        fields: &Map<String, Value>,
        keyword: &str,
        inner: &'s Value,
        value: &'s Value,
        level: usize,
    ) -> bool {
        let pairs: Pairs<'s> = match (keyword, inner, value) {
            ("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else", inner, _) => {
                let several = inner.as_array().map_or(std::slice::from_ref(inner), Vec::as_slice);
                return self
                    .again(fields, level, || Box::new(several.iter().map(move |inner| (inner, value))));
            }
            ("dependentSchemas" | "dependencies", Value::Object(by_name), Value::Object(_)) => {
                return self
                    .again(fields, level, || Box::new(by_name.values().map(move |inner| (inner, value))));
            }
            ("properties", Value::Object(by_name), Value::Object(properties)) => {
                if !self.steps(by_name.len()) {
                    return false;
                }
                Box::new(by_name.iter().filter_map(|(name, inner)| Some((inner, properties.get(name)?))))
            }
            ("patternProperties", Value::Object(by_name), Value::Object(properties)) => {
                let all =
                    || by_name.keys().flat_map(|pattern| properties.keys().map(move |name| (pattern, name)));
                if !all().all(|(pattern, name)| self.matching(pattern, name)) {
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
                if !properties.keys().all(|name| self.matching(pattern, name)) {
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
            ("enum" | "required", Value::Array(listed), _) => return self.steps(listed.len()),
            ("uniqueItems", _, Value::Array(items)) => return self.steps(items.len()),
            ("pattern", Value::String(pattern), Value::String(text)) => return self.matching(pattern, text),
            _ if REFERENCES.contains(&keyword) => {
                return match target(inner, self.root) {
                    Some(target) => self.behind(fields, target, value, level),
                    None => true,
                };
            }
            _ => return true,
        };
        self.todo.push((level, pairs));
        true
    }

    fn behind(
        &mut self,
        fields: &Map<String, Value>,
        target: &'s Value,
        value: &'s Value,
        level: usize,
    ) -> bool {
        let is_container = value.is_object() || value.is_array();
        if is_container && self.once.contains(&std::ptr::from_ref(target)) {
            if !self.seen.insert((target, value)) {
                return self.steps(1);
            }
            if !self.steps(REMEMBERING) {
                return false;
            }
        }
        self.again(fields, level, || Box::new(std::iter::once((target, value))))
    }

    /// Notes what speaks of the same value, as often as it is looked at.
    fn again(&mut self, fields: &Map<String, Value>, level: usize, pairs: impl Fn() -> Pairs<'s>) -> bool {
        self.todo.extend((0..times_looked_at(fields)).map(|_| (level, pairs())));
        true
    }
}

#[cfg(test)]
mod tests;
