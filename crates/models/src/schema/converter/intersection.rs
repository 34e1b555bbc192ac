//! Merging of schemas that all apply, such as the parts of `allOf`.

use super::super::dialect::SchemaDialect;
use super::super::document::SchemaLocation;
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::{DroppedConstraints, MergeOptions, intersect};
use super::SchemaConverter;

/// Maximum number of merged parts of an `allOf`. Each part is merged with all parts before it.
const MAX_PARTS: usize = 64;

impl<'s> SchemaConverter<'s> {
    /// Merges the parts of `allOf` for a dialect without it.
    pub(super) fn with_all_of(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        mut out: OrderedFields,
    ) -> OrderedFields {
        let is_covered =
            self.document.reference(fields).is_some() && !self.document.draft.allows_reference_siblings();
        let Some(items) = fields.get("allOf").and_then(OrderedJson::as_list).filter(|_| !is_covered) else {
            return out;
        };
        for (index, item) in self.limit_all_of(at, items).iter().enumerate() {
            if let OrderedJson::Object(schema) =
                self.schema(&self.document.item_location(at, "allOf", index, item))
            {
                out = self.intersect_at(at, out, schema);
            }
        }
        out
    }

    /// Returns the parts of an `allOf` that are merged: at most `MAX_PARTS`.
    pub(super) fn limit_all_of(
        &mut self,
        at: &SchemaLocation<'s>,
        parts: &'s [OrderedJson],
    ) -> &'s [OrderedJson] {
        if parts.len() > MAX_PARTS {
            self.notes.add_loosening(
                &at.pointer,
                &format!("allOf has more than {MAX_PARTS} parts; the rest is left out"),
            );
        }
        parts.get(..MAX_PARTS).unwrap_or(parts)
    }

    /// Returns the intersection of two schemas, or the first schema if no value is valid in both.
    pub(super) fn intersect_at(
        &mut self,
        at: &SchemaLocation<'s>,
        a: OrderedFields,
        b: OrderedFields,
    ) -> OrderedFields {
        let mut given_up = DroppedConstraints::new();
        let out = intersect(a.clone(), b, self.merge_options(self.dialect.has_all_of), &mut given_up);
        self.note_dropped(at, given_up);
        out.unwrap_or_else(|| {
            self.notes.add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any");
            a
        })
    }

    pub(super) fn merge_options(&self, all_of_here: bool) -> MergeOptions {
        let SchemaDialect { has_all_of: all_of, needs_lone_any_of: any_of_alone, .. } = *self.dialect;
        MergeOptions { all_of_here, all_of_inside: all_of, any_of_alone }
    }

    pub(super) fn note_dropped(&mut self, at: &SchemaLocation<'s>, given_up: DroppedConstraints) {
        for what in given_up {
            self.notes.add_loosening(&at.pointer, &what);
        }
    }
}

/// Adds a constraint, merged with an existing one of the same keyword.
pub(super) fn add_constraint(out: &mut OrderedFields, name: &str, value: OrderedJson) {
    if !out.has(name) {
        out.push(name, value);
        return;
    }
    let mut more = OrderedFields::default();
    more.push(name, value);
    if let Some(joined) = intersect(out.clone(), more, MergeOptions::PLAIN, &mut DroppedConstraints::new()) {
        *out = joined;
    }
}
