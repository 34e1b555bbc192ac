//! Inlining of references, within limits.

use super::super::dialect::is_annotation;
use super::super::document::{SchemaLocation, truncate_chars};
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::type_names;
use super::{SchemaConverter, quoted};

/// Maximum length of a description at a truncated reference, in characters. There can be many of them.
const OUTLINE_DESCRIPTION_CHARS: usize = 400;

impl<'s> SchemaConverter<'s> {
    /// Combines the target of a reference with the keywords next to it.
    pub(super) fn with_reference(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        mut out: OrderedFields,
    ) -> OrderedFields {
        let OrderedJson::Object(mut target) = self.convert_reference_target(at, fields) else { return out };
        if out.iter().all(|(name, _)| is_annotation(name)) {
            for (name, value) in out {
                target.put(&name, value);
            }
            return target;
        }
        if self.dialect.has_all_of {
            match out.get_mut("allOf") {
                Some(OrderedJson::List(items)) => items.push(OrderedJson::Object(target)),
                _ => out.push("allOf", OrderedJson::List(vec![OrderedJson::Object(target)])),
            }
            return out;
        }
        self.intersect_at(at, out, target)
    }

    /// Converts the target of a schema's reference.
    fn convert_reference_target(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
    ) -> OrderedJson {
        match self.open_reference(at, fields) {
            Some(target) => {
                let out = self.schema(&target);
                self.open_references.pop();
                out
            }
            None => match self.reference_target(at, fields) {
                Some(target) => self.outline(&target),
                None => OrderedJson::default(),
            },
        }
    }

    fn reference_target(
        &self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
    ) -> Option<SchemaLocation<'s>> {
        self.document.reference(fields).and_then(|reference| self.document.resolve(reference, at))
    }

    /// Adds the target of a reference to the open references; `None` if the limits are reached. The caller removes it
    /// again.
    pub(super) fn open_reference(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
    ) -> Option<SchemaLocation<'s>> {
        let Some(target) = self.reference_target(at, fields) else {
            let reference = self.document.reference(fields).unwrap_or_default();
            self.notes.add_loosening(
                &at.pointer,
                &format!("the reference {} does not resolve, so any value is accepted", quoted(reference)),
            );
            return None;
        };
        let node = std::ptr::from_ref(target.node);
        let rounds = self.open_references.iter().filter(|open| **open == node).count();
        if rounds >= self.rounds || self.open_references.len() > self.references {
            let what = if rounds > 0 {
                "it refers to itself and is truncated here"
            } else {
                "its references are nested too deeply and are truncated here"
            };
            self.notes.add_loosening(&at.pointer, what);
            return None;
        }
        self.open_references.push(node);
        Some(target)
    }

    /// Returns only the type and the description of a schema.
    pub(super) fn outline(&self, at: &SchemaLocation<'s>) -> OrderedJson {
        let mut at = at.clone();
        // Follows a chain of references.
        for _ in 0..8 {
            let Some(fields) = at.node.as_object() else { break };
            match self.reference_target(&at, fields) {
                Some(next) => at = next,
                None => break,
            }
        }
        let mut out = OrderedFields::default();
        let Some(fields) = at.node.as_object() else { return OrderedJson::Object(out) };
        if let Some(of) = fields.get("type") {
            let known = type_names(of);
            let simple = known.iter().filter(|kind| **kind != "null").count() <= 1;
            if !known.is_empty() && (simple || self.dialect.allows_mixed_types) {
                out.push("type", of.clone());
            }
        }
        if let Some(text) = fields.get("description").and_then(OrderedJson::as_text) {
            out.push("description", OrderedJson::text(truncate_chars(text, OUTLINE_DESCRIPTION_CHARS)));
        }
        OrderedJson::Object(out)
    }
}
