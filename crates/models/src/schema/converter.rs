//! Converts a schema to a provider's dialect. The converted schema accepts every value that the original accepts.
//! It may accept more, because arguments are validated against the original anyway.

use serde_json::Number;

use super::dialect::{
    KeywordValueKind, SchemaDialect, is_annotation, is_reference_keyword, keyword_value_kind,
};
use super::document::{ParsedSchema, SchemaLocation, truncate_chars};
use super::hint::DescriptionHints;
use super::json::{OrderedFields, OrderedJson};
use super::merge::{DroppedConstraints, MergeOptions, distribute_into_any_of, intersect, type_names};
use super::notes::ConversionNotes;

mod dialect_fixes;
mod root;
mod values;

pub(super) use root::must_be_folded;

/// Maximum number of nested inlined schemas.
const MAX_DEPTH: usize = 32;
/// Maximum number of schemas that inlining references may add to the original.
const MAX_EXTRA_SCHEMAS: usize = 4_000;
/// Approximate number of bytes that inlining references may add to the original.
const MAX_EXTRA_BYTES: usize = 256 * 1024;
/// Limits for inlining, from the loosest to the tightest: how often a schema may be nested in itself, and how many
/// references may follow each other. The first pair with a small enough result is used.
const EXPANSION_LIMITS: &[(usize, usize)] = &[(2, 12), (1, 8), (1, 4), (1, 2), (1, 1)];

/// Maximum number of merged parts of an `allOf`. Each part is merged with all parts before it.
const MAX_PARTS: usize = 64;

/// Maximum length of a description at a truncated reference, in characters. There can be many of them.
const OUTLINE_DESCRIPTION_CHARS: usize = 400;

/// Converter of one schema to a dialect.
pub(super) struct SchemaConverter<'s> {
    document: &'s ParsedSchema<'s>,
    dialect: &'static SchemaDialect,
    pub(super) notes: ConversionNotes,
    /// See [`EXPANSION_LIMITS`].
    rounds: usize,
    references: usize,
    /// Remaining budget: number of schemas, and approximate number of bytes.
    remaining_schemas: usize,
    remaining_bytes: usize,
    is_too_large: bool,
    /// Targets of the references on the path from the root to here.
    open_references: Vec<*const OrderedJson>,
    depth: usize,
}

impl<'s> SchemaConverter<'s> {
    fn new(
        document: &'s ParsedSchema<'s>,
        dialect: &'static SchemaDialect,
        (rounds, references): (usize, usize),
    ) -> Self {
        Self {
            document,
            dialect,
            notes: ConversionNotes::default(),
            rounds,
            references,
            remaining_schemas: document.size + MAX_EXTRA_SCHEMAS,
            remaining_bytes: document.byte_size + MAX_EXTRA_BYTES,
            is_too_large: false,
            open_references: vec![std::ptr::from_ref(document.root_location().node)],
            depth: 0,
        }
    }

    /// Converts with the loosest limits for inlining whose result is small enough.
    pub(super) fn try_limits<T>(
        document: &'s ParsedSchema<'s>,
        dialect: &'static SchemaDialect,
        work: impl Fn(&mut Self) -> T,
    ) -> (T, ConversionNotes) {
        let mut limits = EXPANSION_LIMITS.iter();
        loop {
            let limit = limits.next().copied().unwrap_or((1, 1));
            let mut converter = Self::new(document, dialect, limit);
            let out = work(&mut converter);
            if !converter.is_too_large || limits.len() == 0 {
                return (out, converter.notes);
            }
        }
    }

    /// Converts a schema that is not the root of parameters.
    pub(super) fn schema(&mut self, at: &SchemaLocation<'s>) -> OrderedJson {
        match at.node {
            OrderedJson::Bool(accepts) if self.dialect.allows_boolean_schemas => OrderedJson::Bool(*accepts),
            OrderedJson::Bool(true) => OrderedJson::default(),
            OrderedJson::Bool(false) => {
                self.notes
                    .add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any");
                OrderedJson::default()
            }
            OrderedJson::Object(fields) if self.use_budget(at) => {
                self.depth += 1;
                let out = self.object(at, fields);
                self.depth -= 1;
                OrderedJson::Object(out)
            }
            OrderedJson::Object(_) => self.outline(at),
            _ => {
                self.notes.add_note(&at.pointer, "it is not a schema and is left out");
                OrderedJson::default()
            }
        }
    }

    fn use_budget(&mut self, at: &SchemaLocation<'s>) -> bool {
        let bytes =
            if self.remaining_schemas == 0 { 0 } else { at.node.as_object().map_or(0, own_byte_size) };
        if self.remaining_schemas == 0 || self.remaining_bytes < bytes {
            self.is_too_large = true;
            self.remaining_schemas = 0;
            self.notes.add_loosening(
                &at.pointer,
                "the schema is too large with its references inlined; this part is truncated",
            );
            return false;
        }
        self.remaining_schemas -= 1;
        self.remaining_bytes -= bytes;
        if self.dialect.inlines_references && self.depth >= MAX_DEPTH {
            self.notes.add_loosening(&at.pointer, "the schema is nested too deeply; this part is truncated");
            return false;
        }
        true
    }

    fn object(&mut self, at: &SchemaLocation<'s>, fields: &'s OrderedFields) -> OrderedFields {
        let mut hints = DescriptionHints::default();
        let mut out = self.own_keywords(at, fields, &[], &mut hints);
        if self.dialect.inlines_references && self.document.reference(fields).is_some() {
            out = self.with_reference(at, fields, out);
        }
        if !self.dialect.has_all_of {
            out = self.with_all_of(at, fields, out);
        }
        if self.dialect.needs_lone_any_of {
            out = self.with_any_of_alone(at, out, &mut hints);
        }
        self.describe(&mut out, hints);
        out
    }

    /// Converts the keywords of a schema, except references, and except `allOf` if the dialect does not support it.
    fn own_keywords(
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

    fn list(&mut self, at: &SchemaLocation<'s>, name: &'s str, items: &'s [OrderedJson]) -> Vec<OrderedJson> {
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

    fn one_of(
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
    fn alternatives(
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

    fn put_any_of(
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

    /// Returns true if a boolean `exclusiveMinimum` or `exclusiveMaximum` (draft 4) excludes this bound itself.
    fn is_draft4_bound(&self, fields: &OrderedFields, name: &str) -> bool {
        let exclusive = if name == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
        self.dialect.has_keyword(exclusive) && fields.get(exclusive) == Some(&OrderedJson::Bool(true))
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

    /// Converts a boolean `exclusiveMinimum` or `exclusiveMaximum` of draft 4.
    fn draft4_bound(
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
    fn exclusive_bound(
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

    /// Combines the target of a reference with the keywords next to it.
    fn with_reference(
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
    fn open_reference(
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
    fn outline(&self, at: &SchemaLocation<'s>) -> OrderedJson {
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

    /// Merges the parts of `allOf` for a dialect without it.
    fn with_all_of(
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
    fn limit_all_of(&mut self, at: &SchemaLocation<'s>, parts: &'s [OrderedJson]) -> &'s [OrderedJson] {
        if parts.len() > MAX_PARTS {
            self.notes.add_loosening(
                &at.pointer,
                &format!("allOf has more than {MAX_PARTS} parts; the rest is left out"),
            );
        }
        parts.get(..MAX_PARTS).unwrap_or(parts)
    }

    /// Returns the intersection of two schemas, or the first schema if no value is valid in both.
    fn intersect_at(&mut self, at: &SchemaLocation<'s>, a: OrderedFields, b: OrderedFields) -> OrderedFields {
        let mut given_up = DroppedConstraints::new();
        let out = intersect(a.clone(), b, self.merge_options(self.dialect.has_all_of), &mut given_up);
        self.note_dropped(at, given_up);
        out.unwrap_or_else(|| {
            self.notes.add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any");
            a
        })
    }

    fn merge_options(&self, all_of_here: bool) -> MergeOptions {
        let SchemaDialect { has_all_of: all_of, needs_lone_any_of: any_of_alone, .. } = *self.dialect;
        MergeOptions { all_of_here, all_of_inside: all_of, any_of_alone }
    }

    fn note_dropped(&mut self, at: &SchemaLocation<'s>, given_up: DroppedConstraints) {
        for what in given_up {
            self.notes.add_loosening(&at.pointer, &what);
        }
    }

    /// Moves the keywords next to `anyOf` into each alternative, if `anyOf` must be the only keyword in the dialect.
    fn with_any_of_alone(
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

    fn describe(&self, out: &mut OrderedFields, hints: DescriptionHints) {
        if self.dialect.keywords.is_some() {
            hints.describe(out);
        }
    }
}

/// Adds another description to an existing one.
fn add_constraint(out: &mut OrderedFields, name: &str, value: OrderedJson) {
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

/// Returns true for keywords that constrain values, except those that contain schemas.
fn own_byte_size(fields: &OrderedFields) -> usize {
    let of = |(name, value): (&str, &OrderedJson)| match (keyword_value_kind(name), value) {
        (KeywordValueKind::Data, _) => value.byte_size(),
        (_, OrderedJson::Object(inner)) if keyword_value_kind(name) == KeywordValueKind::Map => {
            inner.iter().map(|(name, _)| name.len() + 8).sum()
        }
        (_, OrderedJson::List(items)) => 4 * items.len(),
        _ => 4,
    };
    fields.iter().map(|field| field.0.len() + 4 + of(field)).sum()
}

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

fn quoted(text: &str) -> String {
    format!("{:?}", truncate_chars(text, 60))
}
