//! Conversion of exclusive bounds: booleans in draft 4, numbers later.

use serde_json::Number;

use super::super::document::SchemaLocation;
use super::super::hint::DescriptionHints;
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::type_names;
use super::SchemaConverter;
use super::intersection::add_constraint;

impl<'s> SchemaConverter<'s> {
    /// Returns true if a boolean `exclusiveMinimum` or `exclusiveMaximum` (draft 4) excludes this bound itself.
    pub(super) fn is_draft4_bound(&self, fields: &OrderedFields, name: &str) -> bool {
        let exclusive = if name == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
        self.dialect.has_keyword(exclusive) && fields.get(exclusive) == Some(&OrderedJson::Bool(true))
    }

    /// Converts a boolean `exclusiveMinimum` or `exclusiveMaximum` of draft 4.
    pub(super) fn draft4_bound(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        name: &str,
        value: &OrderedJson,
        out: &mut OrderedFields,
        hints: &mut DescriptionHints,
    ) {
        let bound = if name == "exclusiveMinimum" { "minimum" } else { "maximum" };
        let Some(OrderedJson::Number(number)) = fields.get(bound) else { return };
        if *value != OrderedJson::Bool(true) {
            return;
        }
        if self.dialect.has_keyword(name) {
            out.put(name, OrderedJson::Number(number.clone()));
        } else {
            self.exclusive_bound(at, fields, name, number, out, hints);
        }
    }

    /// Converts an exclusive bound to an inclusive one.
    pub(super) fn exclusive_bound(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        name: &str,
        bound: &Number,
        out: &mut OrderedFields,
        hints: &mut DescriptionHints,
    ) {
        let (closed, step) = if name == "exclusiveMinimum" { ("minimum", 1) } else { ("maximum", -1) };
        let is_of_integers = fields.get("type").is_some_and(|of| type_names(of) == ["integer"]);
        let next = bound.as_i64().filter(|_| is_of_integers).and_then(|bound| bound.checked_add(step));
        let bound = OrderedJson::Number(next.map_or_else(|| bound.clone(), Number::from));
        if next.is_none() {
            hints.add(name, fields.get(name).unwrap_or(&bound));
            self.notes.add_loosening(&at.pointer, &format!("{name} is sent as {closed}"));
        }
        add_constraint(out, closed, bound);
    }
}
