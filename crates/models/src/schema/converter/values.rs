//! Conversion of `enum`, `const` and lists of types.

use super::super::document::SchemaLocation;
use super::super::json::{OrderedFields, OrderedJson, is_whole};
use super::super::merge::{DroppedConstraints, MergeOptions, intersect, type_names};
use super::SchemaConverter;

/// The types, each with the keywords that apply only to it.
const KEYWORDS_BY_TYPE: &[(&str, &[&str])] = &[
    ("string", &["enum", "format"]),
    ("integer", &["minimum", "maximum"]),
    ("number", &["minimum", "maximum"]),
    ("boolean", &[]),
    ("array", &["items", "prefixItems", "minItems", "maxItems"]),
    ("object", &["properties", "required", "additionalProperties"]),
    ("null", &[]),
];

impl<'s> SchemaConverter<'s> {
    /// Adds the values of an `enum` or `const` to the converted schema.
    pub(super) fn values(
        &mut self,
        at: &SchemaLocation<'s>,
        values: &'s [OrderedJson],
        fields: &'s OrderedFields,
        out: &mut OrderedFields,
    ) {
        let of = fields.get("type").map(type_names).unwrap_or_default();
        let fits = |value: &&OrderedJson| {
            of.is_empty()
                || of.contains(&value.kind())
                || (value.kind() == "integer" && of.contains(&"number"))
        };
        let said = if self.dialect.allows_mixed_types {
            let mut said = OrderedFields::default();
            said.push("enum", OrderedJson::List(values.to_vec()));
            said
        } else {
            self.separate_values(at, values.iter().filter(fits).collect())
        };
        if values.is_empty() {
            self.notes.add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any");
            return;
        }
        match intersect(out.clone(), said, MergeOptions::PLAIN, &mut DroppedConstraints::new()) {
            Some(joined) => *out = joined,
            None => self
                .notes
                .add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any"),
        }
    }

    /// Groups values by type: one alternative for each type.
    fn separate_values(&mut self, at: &SchemaLocation<'s>, values: Vec<&OrderedJson>) -> OrderedFields {
        let mut alternatives = Vec::new();
        for (kind, _) in KEYWORDS_BY_TYPE {
            let is_of = |value: &&OrderedJson| match *kind {
                "integer" => false,
                "number" => matches!(value, OrderedJson::Number(_)),
                kind => value.kind() == kind,
            };
            let of: Vec<OrderedJson> = values.iter().copied().filter(is_of).cloned().collect();
            if of.is_empty() {
                continue;
            }
            let mut alternative = OrderedFields::default();
            match *kind {
                "string" => {
                    alternative.push("type", OrderedJson::text("string"));
                    alternative.push("enum", OrderedJson::List(of));
                }
                "number" => {
                    let whole = of
                        .iter()
                        .all(|value| matches!(value, OrderedJson::Number(number) if is_whole(number)));
                    alternative.push("type", OrderedJson::text(if whole { "integer" } else { "number" }));
                    alternative.push("enum", OrderedJson::List(of));
                }
                kind => {
                    alternative.push("type", OrderedJson::text(kind));
                    let is_every_one = match kind {
                        "null" => true,
                        "boolean" => {
                            of.contains(&OrderedJson::Bool(true)) && of.contains(&OrderedJson::Bool(false))
                        }
                        _ => false,
                    };
                    if !is_every_one {
                        self.notes.add_loosening(
                            &at.pointer,
                            &format!("the sent schema accepts any {kind}, not only the listed values"),
                        );
                    }
                }
            }
            alternatives.push(alternative);
        }
        let mut out = OrderedFields::default();
        match alternatives.len() {
            0 => {}
            1 => out.extend(alternatives.remove(0)),
            _ => out.push(
                "anyOf",
                OrderedJson::List(alternatives.into_iter().map(OrderedJson::Object).collect()),
            ),
        }
        out
    }

    /// Converts several types to alternatives, each with its own keywords. `null` may be
    /// combined with one other type.
    pub(super) fn separate_types(&mut self, at: &SchemaLocation<'s>, out: &mut OrderedFields) {
        let Some(of @ OrderedJson::List(_)) = out.get("type") else { return };
        let of: Vec<&'static str> = KEYWORDS_BY_TYPE
            .iter()
            .map(|(kind, _)| *kind)
            .filter(|kind| type_names(of).contains(kind))
            .collect();
        match of.as_slice() {
            [] => {
                out.take("type");
            }
            [one] => out.put("type", OrderedJson::text(*one)),
            [one, "null"] => {
                out.put("type", OrderedJson::List(vec![OrderedJson::text(*one), OrderedJson::text("null")]))
            }
            _ if out.has("anyOf") => {
                let has_one = |schema: &OrderedJson| {
                    schema
                        .as_object()
                        .and_then(|fields| fields.get("type"))
                        .is_some_and(|of| type_names(of).len() == 1)
                };
                if !out.get("anyOf").and_then(OrderedJson::as_list).is_some_and(|all| all.iter().all(has_one))
                {
                    out.take("type");
                    self.notes.add_loosening(
                        &at.pointer,
                        "type is left out, because anyOf must be the only keyword",
                    );
                }
            }
            several => {
                let mut alternatives = Vec::new();
                for (kind, keywords) in KEYWORDS_BY_TYPE.iter().filter(|(kind, _)| several.contains(kind)) {
                    let mut alternative = OrderedFields::default();
                    alternative.push("type", OrderedJson::text(*kind));
                    for (name, value) in out.iter().filter(|(name, _)| keywords.contains(name)) {
                        alternative.push(name, value.clone());
                    }
                    alternatives.push(OrderedJson::Object(alternative));
                }
                out.retain(|name, _| {
                    name != "type" && !KEYWORDS_BY_TYPE.iter().any(|(_, keywords)| keywords.contains(&name))
                });
                out.push("anyOf", OrderedJson::List(alternatives));
            }
        }
    }
}
