//! Finds properties that are null although the schema does not allow null there.

use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::Schema;

/// Maximum number of properties that are found.
const MAX_NULLS: usize = 32;
/// Maximum number of violations that are looked at, with those of alternatives.
const MAX_ERRORS: usize = 1_000;
/// Maximum depth of alternatives within alternatives.
const MAX_DEPTH: usize = 4;

impl Schema {
    /// Returns the JSON pointers of null properties that violate the schema. Empty if listing violations would take
    /// too long.
    pub(crate) fn null_violations(&self, value: &Value) -> BTreeSet<String> {
        let mut found = NullSearch { value, nulls: BTreeSet::new(), errors: 0 };
        let validator = self.validator();
        if let Some(validator) = validator.as_ref().as_ref().filter(|_| self.can_list(value)) {
            for error in validator.iter_errors(value) {
                found.look_at(&error, 0);
            }
        }
        found.nulls
    }

    /// Returns the JSON pointers of required properties that are missing. Empty if listing violations would take too
    /// long.
    pub(crate) fn missing_properties(&self, value: &Value) -> BTreeSet<String> {
        let validator = self.validator();
        let Some(validator) = validator.as_ref().as_ref().filter(|_| self.can_list(value)) else {
            return BTreeSet::new();
        };
        let pointer = |error: ValidationError<'_>| match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str()?.replace('~', "~0").replace('/', "~1");
                Some(format!("{}/{name}", error.instance_path()))
            }
            _ => None,
        };
        validator.iter_errors(value).take(MAX_ERRORS).filter_map(pointer).collect()
    }

    /// True if the schema has alternatives (`anyOf`, `oneOf`).
    pub(crate) fn has_choices(&self) -> bool {
        self.complexity.has_choices
    }
}

struct NullSearch<'v> {
    value: &'v Value,
    nulls: BTreeSet<String>,
    errors: usize,
}

impl NullSearch<'_> {
    fn look_at(&mut self, error: &ValidationError<'_>, depth: usize) {
        self.errors += 1;
        if self.errors > MAX_ERRORS || self.nulls.len() >= MAX_NULLS {
            return;
        }
        if error.instance().is_null() {
            let pointer = error.instance_path().to_string();
            if self.is_property(&pointer) {
                self.nulls.insert(pointer);
            }
            return;
        }
        if depth >= MAX_DEPTH {
            return;
        }
        if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
            error.kind()
        {
            for inner in context.iter().flatten() {
                self.look_at(inner, depth + 1);
            }
        }
    }

    /// True if the pointer leads to a member of an object, not to an item of an array.
    fn is_property(&self, pointer: &str) -> bool {
        let parent = pointer.rsplit_once('/').and_then(|(parent, _)| self.value.pointer(parent));
        parent.is_some_and(Value::is_object)
    }
}
