//! Conversion of the keywords of one schema.

use super::super::dialect::{KeywordValueKind, is_annotation, is_reference_keyword, keyword_value_kind};
use super::super::document::SchemaLocation;
use super::super::hint::DescriptionHints;
use super::super::json::{OrderedFields, OrderedJson};
use super::intersection::add_constraint;
use super::{SchemaConverter, quoted};

impl<'s> SchemaConverter<'s> {
    /// Converts the keywords of a schema, except references, and except `allOf` if the dialect does not support it.
    pub(super) fn own_keywords(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        skip: &[&str],
        hints: &mut DescriptionHints,
    ) -> OrderedFields {
        let draft = self.document.draft;
        let is_covered = self.document.reference(fields).is_some() && !draft.allows_reference_siblings();
        let mut out = OrderedFields::default();
        for (name, value) in fields.iter().filter(|(name, _)| !skip.contains(name)) {
            if is_reference_keyword(name) {
                self.reference_keyword(at, name, value, &mut out);
            } else if !draft.has_keyword(name) || (is_covered && !is_annotation(name)) {
                // The keyword has no meaning in this draft and must not get one in 2020-12.
                if self.dialect.inlines_references {
                    self.notes.add_note(
                        &at.pointer,
                        &format!("{} has no meaning here and is left out", quoted(name)),
                    );
                } else {
                    out.push(name, value.clone());
                }
            } else {
                self.keyword(at, fields, name, value, &mut out, hints);
            }
        }
        if !out.has("if") {
            out.retain(|name, _| !matches!(name, "then" | "else"));
        }
        if !self.dialect.allows_mixed_types {
            self.separate_types(at, &mut out);
        }
        out
    }

    /// Converts keywords that matter only to references.
    fn reference_keyword(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        value: &'s OrderedJson,
        out: &mut OrderedFields,
    ) {
        if self.dialect.inlines_references {
            return;
        }
        let value = match (keyword_value_kind(name), value) {
            (KeywordValueKind::Map, OrderedJson::Object(map)) => self.map(at, name, map),
            _ => value.clone(),
        };
        out.push(name, value);
    }

    fn keyword(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        name: &'s str,
        value: &'s OrderedJson,
        out: &mut OrderedFields,
        hints: &mut DescriptionHints,
    ) {
        let pointer = &at.pointer;
        match (name, value) {
            ("const", value) if self.dialect.keywords.is_some() => {
                self.values(at, std::slice::from_ref(value), fields, out)
            }
            ("enum", OrderedJson::List(values)) if self.dialect.keywords.is_some() => {
                self.values(at, values, fields, out)
            }
            ("items", OrderedJson::List(items)) => {
                let first = self.list(at, name, items);
                out.put("prefixItems", OrderedJson::List(first));
                if let Some(rest) = fields
                    .get("additionalItems")
                    .filter(|_| self.document.draft.has_keyword("additionalItems"))
                {
                    self.rest_of_items(
                        &self.document.field_location(at, "additionalItems", rest),
                        items.len(),
                        out,
                    );
                }
            }
            ("items", _) => {
                let first =
                    fields.get("prefixItems").filter(|_| self.document.draft.has_keyword("prefixItems"));
                let first = first.and_then(OrderedJson::as_list).map_or(0, <[OrderedJson]>::len);
                self.rest_of_items(&self.document.field_location(at, name, value), first, out);
            }
            ("additionalItems", _) => {}
            ("exclusiveMinimum" | "exclusiveMaximum", OrderedJson::Bool(_)) => {
                self.draft4_bound(at, fields, name, value, out, hints)
            }
            ("exclusiveMinimum" | "exclusiveMaximum", OrderedJson::Number(bound))
                if !self.dialect.has_keyword(name) =>
            {
                self.exclusive_bound(at, fields, name, bound, out, hints);
            }
            ("allOf", _) if !self.dialect.has_all_of => {}
            ("oneOf", OrderedJson::List(items)) => self.one_of(at, fields, items, out),
            ("anyOf", OrderedJson::List(items)) => {
                let items = self.alternatives(at, name, items);
                self.put_any_of(at, items, out);
            }
            ("additionalProperties", _)
                if fields.has("patternProperties") && !self.dialect.has_keyword("patternProperties") =>
            {
                self.rest_of_properties(at, fields, value, out);
            }
            ("patternProperties", _) if !self.dialect.has_keyword(name) => {
                self.notes.add_loosening(pointer, "the patterns of patternProperties are left out");
            }
            ("not" | "if", _) if self.dialect.has_keyword(name) => self.exact_keyword(at, name, value, out),
            ("maxContains", _) if self.dialect.has_keyword(name) => {
                // If `contains` is loosened, more items match it, so `maxContains` would reject valid values.
                let Some(contained) = fields.get("contains") else { return };
                let before = self.notes.loosened_count;
                let _ = self.schema(&self.document.field_location(at, "contains", contained));
                if self.notes.loosened_count == before {
                    out.push(name, value.clone());
                } else {
                    self.notes.add_loosening(
                        pointer,
                        "maxContains is left out, because contains can't be expressed exactly",
                    );
                }
            }
            ("unevaluatedProperties" | "unevaluatedItems", _) if self.dialect.inlines_references => {
                self.notes.add_loosening(pointer, &format!("{name} is left out"));
            }
            ("format", OrderedJson::Text(format)) if !self.dialect.has_format(format) => {
                hints.add(name, value);
                self.notes.add_loosening(
                    pointer,
                    &format!("the format {} is sent only in the description", quoted(format)),
                );
            }
            ("required", OrderedJson::List(names)) => {
                let names = names.iter().filter(|name| name.as_text().is_some()).cloned();
                out.push(name, OrderedJson::List(names.collect()));
            }
            ("minimum" | "maximum", _) if self.is_draft4_bound(fields, name) => {}
            ("dependencies", OrderedJson::Object(map))
                if self.dialect.has_keyword("dependentSchemas") && self.dialect.inlines_references =>
            {
                self.dependencies(at, name, map, out);
            }
            _ if !self.dialect.has_keyword(name) => self.drop_keyword(at, name, value, hints),
            _ => {
                let value = self.keyword_value(at, name, value);
                add_constraint(out, name, value);
            }
        }
    }

    /// Converts the schemas in the value of a supported keyword.
    fn keyword_value(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        value: &'s OrderedJson,
    ) -> OrderedJson {
        match (keyword_value_kind(name), value) {
            (KeywordValueKind::Schema, OrderedJson::Object(_) | OrderedJson::Bool(_)) => {
                if name == "additionalProperties" && matches!(value, OrderedJson::Bool(_)) {
                    return value.clone();
                }
                self.schema(&self.document.field_location(at, name, value))
            }
            (KeywordValueKind::List, OrderedJson::List(items)) => {
                OrderedJson::List(self.list(at, name, items))
            }
            (KeywordValueKind::Map, OrderedJson::Object(map)) => self.map(at, name, map),
            _ => value.clone(),
        }
    }

    pub(super) fn list(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        items: &'s [OrderedJson],
    ) -> Vec<OrderedJson> {
        let items = items.iter().enumerate();
        items.map(|(index, item)| self.schema(&self.document.item_location(at, name, index, item))).collect()
    }

    fn map(&mut self, at: &SchemaLocation<'s>, name: &'s str, map: &'s OrderedFields) -> OrderedJson {
        let mut out = OrderedFields::default();
        for (key, value) in map.iter() {
            let entry = self.document.entry_location(at, name, key, value);
            // `dependencies` may contain lists of names.
            if matches!(value, OrderedJson::List(_)) {
                out.push(key, value.clone());
                continue;
            }
            if *value == OrderedJson::Bool(false) && !self.dialect.allows_boolean_schemas {
                self.notes.add_loosening(
                    &entry.pointer,
                    "the property is forbidden, but the sent schema allows it",
                );
                continue;
            }
            out.push(key, self.schema(&entry));
        }
        OrderedJson::Object(out)
    }

    /// Converts the schema for the items of an array after the first `first` ones.
    fn rest_of_items(&mut self, at: &SchemaLocation<'s>, first: usize, out: &mut OrderedFields) {
        if *at.node != OrderedJson::Bool(false) || self.dialect.allows_boolean_schemas {
            let items = self.schema(at);
            out.put("items", items);
        } else {
            add_constraint(out, "maxItems", OrderedJson::Number(first.into()));
        }
    }

    /// Converts `additionalProperties` if the dialect can't express some of the patterns.
    fn rest_of_properties(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        value: &'s OrderedJson,
        out: &mut OrderedFields,
    ) {
        let patterns = fields.get("patternProperties").and_then(OrderedJson::as_object);
        let mut patterns = patterns.into_iter().flat_map(OrderedFields::iter);
        match (patterns.next(), patterns.next()) {
            // Every other property must match the only pattern.
            (Some((pattern, schema)), None) if *value == OrderedJson::Bool(false) => {
                let schema =
                    self.schema(&self.document.entry_location(at, "patternProperties", pattern, schema));
                out.push("additionalProperties", schema);
            }
            _ => self.notes.add_loosening(
                &at.pointer,
                "additionalProperties is left out, because it depends on patternProperties",
            ),
        }
    }

    /// Converts a keyword whose schema must stay exact. Loosening it would reject valid values.
    fn exact_keyword(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        value: &'s OrderedJson,
        out: &mut OrderedFields,
    ) {
        let before = self.notes.loosened_count;
        let schema = self.schema(&self.document.field_location(at, name, value));
        if self.notes.loosened_count == before {
            out.push(name, schema);
        } else {
            self.notes.add_loosening(
                &at.pointer,
                &format!("{name} is left out, because it can't be expressed exactly"),
            );
        }
    }

    /// Splits `dependencies` of drafts up to 7 into the two keywords of later drafts.
    fn dependencies(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        map: &'s OrderedFields,
        out: &mut OrderedFields,
    ) {
        let OrderedJson::Object(map) = self.map(at, name, map) else { return };
        let (lists, schemas): (Vec<_>, Vec<_>) =
            map.into_iter().partition(|(_, value)| matches!(value, OrderedJson::List(_)));
        for (name, entries) in [("dependentRequired", lists), ("dependentSchemas", schemas)] {
            if !entries.is_empty() {
                out.put(name, OrderedJson::Object(entries.into_iter().collect()));
            }
        }
    }

    fn drop_keyword(
        &mut self,
        at: &SchemaLocation<'s>,
        name: &str,
        value: &OrderedJson,
        hints: &mut DescriptionHints,
    ) {
        hints.add(name, value);
        let what = format!("{} is left out", quoted(name));
        if is_annotation(name) || keyword_value_kind(name) == KeywordValueKind::Data && !is_assertion(name) {
            self.notes.add_note(&at.pointer, &what);
        } else {
            self.notes.add_loosening(&at.pointer, &what);
        }
    }
}

/// Returns true for keywords that constrain values, except those that contain schemas.
fn is_assertion(name: &str) -> bool {
    matches!(
        name,
        "type"
            | "enum"
            | "const"
            | "pattern"
            | "minLength"
            | "maxLength"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "minContains"
            | "maxContains"
            | "minProperties"
            | "maxProperties"
            | "required"
            | "dependentRequired"
            | "format"
    )
}
