//! Removes the nulls that stand for absent properties in arguments of the strict form. A null is removed only if the
//! tool's own schema does not allow it. Everything else stays as the model wrote it, byte for byte.

use serde_json::value::RawValue;

use super::super::document::{ParsedSchema, SchemaLocation};
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::type_names;
use crate::raw_fields::RawFields;

/// Maximum number of steps.
const MAX_STEPS: usize = 100_000;
const MAX_SCHEMAS_PER_VALUE: usize = 64;
/// Maximum depth, in values and along references.
const MAX_DEPTH: usize = 64;

/// Removes nulls that the model wrote only because strict form requires every property; `None` if there are none.
pub(crate) fn remove_filler_nulls(parameters: &OrderedJson, arguments: &str) -> Option<String> {
    let document = ParsedSchema::new(parameters);
    let value: &RawValue = serde_json::from_str(arguments).ok()?;
    let mut undoing = NullRemover { document: &document, remaining_steps: MAX_STEPS };
    let undone = undoing.clean_value(vec![document.root_location()], value, 0)?;
    Some(undone.get().to_owned())
}

struct NullRemover<'d, 's> {
    document: &'d ParsedSchema<'s>,
    remaining_steps: usize,
}

impl<'s> NullRemover<'_, 's> {
    /// Removes nulls from a value that these schemas describe; `None` if nothing changes.
    fn clean_value(
        &mut self,
        about: Vec<SchemaLocation<'s>>,
        value: &RawValue,
        depth: usize,
    ) -> Option<Box<RawValue>> {
        if depth > MAX_DEPTH || self.remaining_steps == 0 {
            return None;
        }
        let first = value.get().bytes().next()?;
        if first != b'{' && first != b'[' {
            return None;
        }
        let mut all = Vec::new();
        for at in about {
            self.collect_schemas(at, &mut all, 0);
        }
        if first == b'{' {
            self.clean_object(&all, value, depth)
        } else {
            self.clean_list(&all, value, depth)
        }
    }

    /// Collects a schema and all schemas that apply to the same value.
    fn collect_schemas(&mut self, at: SchemaLocation<'s>, all: &mut Vec<SchemaLocation<'s>>, depth: usize) {
        let Some(fields) = at.node.as_object() else { return };
        if depth > MAX_DEPTH || all.len() >= MAX_SCHEMAS_PER_VALUE || self.remaining_steps == 0 {
            return;
        }
        self.remaining_steps -= 1;
        if let Some(target) = self.document.reference(fields).and_then(|to| self.document.resolve(to, &at)) {
            self.collect_schemas(target, all, depth + 1);
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for (index, item) in
                fields.get(name).and_then(OrderedJson::as_list).unwrap_or_default().iter().enumerate()
            {
                self.collect_schemas(self.document.item_location(&at, name, index, item), all, depth + 1);
            }
        }
        all.push(at);
    }

    fn clean_object(
        &mut self,
        about: &[SchemaLocation<'s>],
        value: &RawValue,
        depth: usize,
    ) -> Option<Box<RawValue>> {
        let RawFields(fields) = serde_json::from_str(value.get()).ok()?;
        let (mut kept, mut changed) = (Vec::with_capacity(fields.len()), false);
        let mut replaced: Vec<Box<RawValue>> = Vec::new();
        // Replacements are borrowed from `replaced` only after it has stopped growing.
        let mut places = Vec::new();
        for (name, value) in fields {
            let described = self.property_schemas(about, &name);
            if value.get() == "null" && self.is_filler(about, &name, &described) {
                changed = true;
                continue;
            }
            if let Some(undone) = self.clean_value(described, value, depth + 1) {
                changed = true;
                places.push((kept.len(), replaced.len()));
                replaced.push(undone);
            }
            kept.push((name, value));
        }
        if !changed {
            return None;
        }
        for (at, from) in places {
            if let (Some(place), Some(undone)) = (kept.get_mut(at), replaced.get(from)) {
                place.1 = undone;
            }
        }
        serde_json::value::to_raw_value(&RawFields(kept)).ok()
    }

    fn clean_list(
        &mut self,
        about: &[SchemaLocation<'s>],
        value: &RawValue,
        depth: usize,
    ) -> Option<Box<RawValue>> {
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        let (mut out, mut changed) = (Vec::with_capacity(items.len()), false);
        for (index, item) in items.into_iter().enumerate() {
            let inside = about.iter().filter_map(|at| self.item_schema(at, index)).collect();
            let undone = self.clean_value(inside, item, depth + 1);
            changed |= undone.is_some();
            out.push(undone.unwrap_or_else(|| item.to_owned()));
        }
        if changed { serde_json::value::to_raw_value(&out).ok() } else { None }
    }

    fn item_schema(&self, at: &SchemaLocation<'s>, index: usize) -> Option<SchemaLocation<'s>> {
        let fields = at.node.as_object()?;
        let first = ["prefixItems", "items"].into_iter().find_map(|name| {
            let schema = fields.get(name)?.as_list()?.get(index)?;
            Some(self.document.item_location(at, name, index, schema))
        });
        first.or_else(|| {
            Some(self.document.field_location(
                at,
                "items",
                fields.get("items").filter(|items| items.as_object().is_some())?,
            ))
        })
    }

    /// Returns the schemas of a property.
    fn property_schemas(&self, about: &[SchemaLocation<'s>], name: &str) -> Vec<SchemaLocation<'s>> {
        let described = about.iter().filter_map(|at| {
            let properties = at.node.as_object()?.get("properties")?.as_object()?;
            let (name, schema) = properties.iter().find(|(of, _)| *of == name)?;
            Some(self.document.entry_location(at, "properties", name, schema))
        });
        described.collect()
    }

    /// Returns true if null means that a property is absent: the schema describes it, does not require it, and does not
    /// allow null.
    fn is_filler(
        &mut self,
        about: &[SchemaLocation<'s>],
        name: &str,
        described: &[SchemaLocation<'s>],
    ) -> bool {
        let requires = |at: &SchemaLocation<'s>| {
            let required =
                at.node.as_object().and_then(|fields| fields.get("required")).and_then(OrderedJson::as_list);
            required.is_some_and(|names| names.iter().any(|other| other.as_text() == Some(name)))
        };
        !described.is_empty()
            && !about.iter().any(requires)
            && !described.iter().any(|at| self.may_be_null(at, 0))
    }

    fn may_be_null(&mut self, at: &SchemaLocation<'s>, depth: usize) -> bool {
        let fields = match at.node {
            OrderedJson::Object(fields) => fields,
            other => return *other == OrderedJson::Bool(true),
        };
        if depth > MAX_DEPTH || self.remaining_steps == 0 {
            return true;
        }
        self.remaining_steps -= 1;
        if let Some(target) = self.document.reference(fields).and_then(|to| self.document.resolve(to, at)) {
            if !self.may_be_null(&target, depth + 1) {
                return false;
            }
            if !self.document.draft.allows_reference_siblings() {
                return true;
            }
        }
        let alternatives = |name: &'static str| {
            let items = fields.get(name).and_then(OrderedJson::as_list).unwrap_or_default();
            items.iter().enumerate().map(move |(index, item)| (name, index, item)).collect::<Vec<_>>()
        };
        for name in ["anyOf", "oneOf"] {
            let items = alternatives(name);
            if !items.is_empty()
                && !items.into_iter().any(|(name, index, item)| {
                    self.may_be_null(&self.document.item_location(at, name, index, item), depth + 1)
                })
            {
                return false;
            }
        }
        alternatives("allOf").into_iter().all(|(name, index, item)| {
            self.may_be_null(&self.document.item_location(at, name, index, item), depth + 1)
        }) && allows_null(fields)
    }
}

/// Returns true if `type` and `enum` allow null.
fn allows_null(fields: &OrderedFields) -> bool {
    fields.get("type").is_none_or(|of| type_names(of).contains(&"null"))
        && fields
            .get("enum")
            .and_then(OrderedJson::as_list)
            .is_none_or(|values| values.contains(&OrderedJson::Null))
        && fields.get("const").is_none_or(|value| *value == OrderedJson::Null)
}
