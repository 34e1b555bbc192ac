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

/// A walk over a schema and a value.
pub(super) struct Walk<'s> {
    root: &'s Value,
    left: u64,
    /// The schemas that a validator does not look at twice for one value.
    once: HashSet<*const Value>,
    seen: HashSet<(*const Value, *const Value)>,
}

impl<'s> Walk<'s> {
    /// Whether saying yes or no takes at most so many steps. A validator goes round a circle once for each part of
    /// the value.
    pub(super) fn can_judge(schema: &'s Value, value: &'s Value, steps: u64) -> bool {
        Self { root: schema, left: steps, once: circles(schema), seen: HashSet::new() }.fits(schema, value)
    }

    /// Whether listing what is wrong takes at most so many steps. That remembers nothing.
    pub(super) fn can_list(schema: &'s Value, value: &'s Value, steps: u64) -> bool {
        Self { root: schema, left: steps, once: HashSet::new(), seen: HashSet::new() }.fits(schema, value)
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
        self.steps(usize::try_from(steps).unwrap_or(usize::MAX))
    }

    /// Whether there are steps left after this one schema and value, and all in them.
    fn fits(&mut self, schema: &'s Value, value: &'s Value) -> bool {
        let Value::Object(fields) = schema else { return self.steps(1) };
        self.steps(1 + fields.len())
            && fields.iter().all(|(keyword, inner)| self.keyword(fields, keyword, inner, value))
    }

    fn keyword(
        &mut self,
        fields: &Map<String, Value>,
        keyword: &str,
        inner: &'s Value,
        value: &'s Value,
    ) -> bool {
        match (keyword, inner, value) {
            ("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else", Value::Array(several), _) => {
                self.again(fields, |walk| several.iter().all(|inner| walk.fits(inner, value)))
            }
            ("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else", inner, _) => {
                self.again(fields, |walk| walk.fits(inner, value))
            }
            ("dependentSchemas" | "dependencies", Value::Object(by_name), Value::Object(_)) => {
                self.again(fields, |walk| by_name.values().all(|inner| walk.fits(inner, value)))
            }
            ("properties", Value::Object(by_name), Value::Object(properties)) => {
                self.steps(by_name.len())
                    && by_name.iter().all(|(name, inner)| match properties.get(name) {
                        Some(property) => self.fits(inner, property),
                        None => true,
                    })
            }
            ("patternProperties", Value::Object(by_name), Value::Object(properties)) => {
                by_name.iter().all(|(pattern, inner)| {
                    properties
                        .iter()
                        .all(|(name, property)| self.matching(pattern, name) && self.fits(inner, property))
                })
            }
            ("pattern", Value::String(pattern), Value::String(text)) => self.matching(pattern, text),
            ("additionalProperties" | "unevaluatedProperties", inner, Value::Object(properties)) => {
                properties.values().all(|property| self.fits(inner, property))
            }
            ("propertyNames", inner, Value::Object(properties)) => {
                let pattern = inner.get("pattern").and_then(Value::as_str).unwrap_or_default();
                properties.keys().all(|name| self.matching(pattern, name) && self.fits(inner, &Value::Null))
            }
            ("items" | "prefixItems", Value::Array(in_order), Value::Array(items)) => {
                in_order.iter().zip(items).all(|(inner, item)| self.fits(inner, item))
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", inner, Value::Array(items)) => {
                items.iter().all(|item| self.fits(inner, item))
            }
            ("enum" | "required", Value::Array(listed), _) => self.steps(listed.len()),
            ("uniqueItems", _, Value::Array(items)) => self.steps(items.len()),
            _ if REFERENCES.contains(&keyword) => match target(inner, self.root) {
                None => true,
                Some(target) => self.again(fields, |walk| walk.behind(target, value)),
            },
            _ => true,
        }
    }

    fn behind(&mut self, target: &'s Value, value: &'s Value) -> bool {
        let is_container = value.is_object() || value.is_array();
        if !is_container || !self.once.contains(&std::ptr::from_ref(target)) {
            return self.fits(target, value);
        }
        if !self.seen.insert((target, value)) {
            return self.steps(1);
        }
        self.steps(REMEMBERING) && self.fits(target, value)
    }

    fn again(&mut self, fields: &Map<String, Value>, mut once: impl FnMut(&mut Self) -> bool) -> bool {
        (0..times_looked_at(fields)).all(|_| once(self))
    }
}

#[cfg(test)]
mod tests;
