//! Conversion of `oneOf` and `anyOf`.

use super::super::document::SchemaLocation;
use super::super::hint::DescriptionHints;
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::{DroppedConstraints, distribute_into_any_of};
use super::SchemaConverter;

impl<'s> SchemaConverter<'s> {
    pub(super) fn one_of(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        items: &'s [OrderedJson],
        out: &mut OrderedFields,
    ) {
        let before = self.notes.loosened_count;
        let alternatives = self.alternatives(at, "oneOf", items);
        let is_exact = self.notes.loosened_count == before;
        match alternatives {
            Some(alternatives) if self.dialect.has_one_of && is_exact => {
                out.push("oneOf", OrderedJson::List(alternatives))
            }
            alternatives => {
                self.notes.add_loosening(
                    &at.pointer,
                    "the sent schema accepts values that match several alternatives of oneOf",
                );
                if fields.has("anyOf") {
                    self.notes
                        .add_loosening(&at.pointer, "oneOf is left out, because the schema also has anyOf");
                } else {
                    self.put_any_of(at, alternatives, out);
                }
            }
        }
    }

    /// Converts alternatives of which at least one must be valid; `None` if any value is valid.
    pub(super) fn alternatives(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        items: &'s [OrderedJson],
    ) -> Option<Vec<OrderedJson>> {
        if self.dialect.allows_boolean_schemas {
            return Some(self.list(at, name, items));
        }
        if items.contains(&OrderedJson::Bool(true)) {
            return None;
        }
        let items = items.iter().enumerate().filter(|(_, item)| **item != OrderedJson::Bool(false));
        Some(
            items
                .map(|(index, item)| self.schema(&self.document.item_location(at, name, index, item)))
                .collect(),
        )
    }

    pub(super) fn put_any_of(
        &mut self,
        at: &SchemaLocation<'s>,
        alternatives: Option<Vec<OrderedJson>>,
        out: &mut OrderedFields,
    ) {
        match alternatives {
            None => {}
            Some(alternatives) if alternatives.is_empty() => {
                self.notes
                    .add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any");
            }
            Some(_) if out.has("anyOf") => {
                self.notes
                    .add_loosening(&at.pointer, "anyOf is left out, because the schema also lists values");
            }
            Some(alternatives) => out.push("anyOf", OrderedJson::List(alternatives)),
        }
    }

    /// Moves the keywords next to `anyOf` into each alternative, if `anyOf` must be the only keyword in the dialect.
    pub(super) fn with_any_of_alone(
        &mut self,
        at: &SchemaLocation<'s>,
        mut out: OrderedFields,
        hints: &mut DescriptionHints,
    ) -> OrderedFields {
        let needs_only = |schema: &OrderedJson| {
            schema
                .as_object()
                .is_some_and(|fields| fields.iter().all(|(name, _)| matches!(name, "required" | "type")))
        };
        match out.get("anyOf").and_then(OrderedJson::as_list) {
            // Moving would repeat all other keywords in each alternative.
            Some(alternatives) if alternatives.iter().all(needs_only) && out.has("properties") => {
                hints.add_required_alternatives(alternatives);
                self.notes.add_loosening(&at.pointer, "anyOf is left out");
                out.take("anyOf");
                out
            }
            Some(_) => {
                let mut given_up = DroppedConstraints::new();
                let out = distribute_into_any_of(out, self.merge_options(false), &mut given_up);
                self.note_dropped(at, given_up);
                out
            }
            None => out,
        }
    }
}
