//! Conversion of the root of a tool's parameters, which must be an object. Alternatives and references at the root are
//! merged into one object that accepts everything they accept.

use std::collections::{HashMap, HashSet};

use super::super::dialect::{SchemaDialect, is_annotation, is_reference_keyword};
use super::super::document::{ParsedSchema, SchemaLocation, truncate_chars};
use super::super::hint::{DescriptionHints, add_words};
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::{DroppedConstraints, intersect, type_names, union};
use super::dialect_fixes::apply_dialect;
use super::{SchemaConverter, quoted};
use crate::schema::NotExpressible;
use crate::tool_names::alias;

/// Maximum length of a renamed property.
const MAX_PROPERTY_NAME_BYTES: usize = 64;
/// Maximum length of a schema that is quoted in a description, in characters.
const MAX_SHOWN_CHARS: usize = 300;

/// Parameters converted to a dialect.
#[derive(Debug)]
pub(in super::super) struct ConvertedRoot {
    pub(in super::super) fields: OrderedFields,
    /// Renamed properties: the name in the converted schema, and the original name.
    pub(in super::super) renamed: Vec<(String, String)>,
}

impl<'s> SchemaConverter<'s> {
    /// Converts the parameters.
    pub(in super::super) fn convert_root(&mut self) -> Result<ConvertedRoot, NotExpressible> {
        let at = self.document.root_location();
        let mut fields = match at.node {
            OrderedJson::Object(fields)
                if !self.dialect.inlines_references && !must_be_folded(self.document, self.dialect) =>
            {
                self.object(&at, fields)
            }
            _ => {
                let folded = self.object_view(&at, true);
                folded.ok_or_else(|| NotExpressible("no arguments match its parameters".to_owned()))?
            }
        };
        match fields.get_mut("type") {
            Some(of) => *of = OrderedJson::text("object"),
            None => fields.put_first("type", OrderedJson::text("object")),
        }
        if self.dialect.keywords.is_none() && !fields.has("properties") {
            fields.push("properties", OrderedJson::default());
        }
        let renamed = self.rename(&mut fields);
        apply_dialect(&mut fields, self.dialect, &mut self.notes);
        Ok(ConvertedRoot { fields, renamed })
    }

    /// Converts a schema whose root need not be an object.
    pub(in super::super) fn convert_any_value(&mut self) -> OrderedJson {
        let at = self.document.root_location();
        let mut out = self.schema(&at);
        if let OrderedJson::Object(fields) = &mut out {
            apply_dialect(fields, self.dialect, &mut self.notes);
        }
        out
    }

    /// Reduces a schema to one for objects; `None` if no object is valid.
    fn object_view(&mut self, at: &SchemaLocation<'s>, is_root: bool) -> Option<OrderedFields> {
        let fields = match at.node {
            OrderedJson::Object(fields) => fields,
            OrderedJson::Bool(false) => return None,
            _ => return Some(OrderedFields::default()),
        };
        if !self.use_budget(at) {
            return Some(OrderedFields::default());
        }
        let is_covered =
            self.document.reference(fields).is_some() && !self.document.draft.allows_reference_siblings();
        let of = fields.get("type").filter(|_| !is_covered).map(type_names).unwrap_or_default();
        if !of.is_empty() && !of.contains(&"object") {
            return None;
        }
        let mut skip = vec!["anyOf", "oneOf", "allOf"];
        skip.extend(if is_root { None } else { Some("type") });
        for name in ["enum", "const", "not"] {
            let refused = if name == "const" { "enum" } else { name };
            if self.dialect.forbidden_at_root.contains(&refused) && fields.has(name) && !is_covered {
                skip.push(name);
                self.notes.add_loosening(
                    &at.pointer,
                    &format!("{name} is left out, because it is not allowed at the root"),
                );
            }
        }
        self.depth += 1;
        let out = self.fold_root(at, fields, &skip, is_covered);
        self.depth -= 1;
        out
    }

    fn fold_root(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        skip: &[&str],
        is_covered: bool,
    ) -> Option<OrderedFields> {
        let mut hints = DescriptionHints::default();
        let mut out = self.own_keywords(at, fields, skip, &mut hints);
        if skip.contains(&"type") {
            out.retain(|name, _| !is_reference_keyword(name));
        }
        let is_reference = |name: &str| matches!(name, "$ref" | "$dynamicRef" | "$recursiveRef");
        out.retain(|name, _| {
            !is_reference(name) && (!is_covered || is_annotation(name) || is_reference_keyword(name))
        });
        if self.document.reference(fields).is_some()
            && let Some(target) = self.open_reference(at, fields)
        {
            let view = self.object_view(&target, false);
            self.open_references.pop();
            out = self.merge_views(at, out, view?)?;
        }
        if is_covered {
            return Some(out);
        }
        let parts = fields.get("allOf").and_then(OrderedJson::as_list).unwrap_or_default();
        for (index, item) in self.limit_all_of(at, parts).iter().enumerate() {
            let view = self.object_view(&self.document.item_location(at, "allOf", index, item), false)?;
            out = self.merge_views(at, out, view)?;
        }
        for name in ["anyOf", "oneOf"] {
            let Some(items) =
                fields.get(name).and_then(OrderedJson::as_list).filter(|items| !items.is_empty())
            else {
                continue;
            };
            let items = items.iter().enumerate();
            let views: Vec<_> = items
                .filter_map(|(index, item)| {
                    self.object_view(&self.document.item_location(at, name, index, item), false)
                })
                .collect();
            if views.is_empty() {
                return None;
            }
            self.notes.add_loosening(
                &at.pointer,
                &format!("{name} is not allowed at the root; its alternatives are merged into one object"),
            );
            hints.add_required_alternatives(
                &views.iter().cloned().map(OrderedJson::Object).collect::<Vec<_>>(),
            );
            let dialect = self.dialect;
            out = self.merge_views(at, out, union(views, |schema| loosen_schema(schema, dialect)))?;
        }
        hints.describe(&mut out);
        Some(out)
    }

    fn merge_views(
        &mut self,
        at: &SchemaLocation<'s>,
        a: OrderedFields,
        b: OrderedFields,
    ) -> Option<OrderedFields> {
        let mut given_up = DroppedConstraints::new();
        let out = intersect(a, b, self.merge_options(false), &mut given_up);
        self.note_dropped(at, given_up);
        out
    }

    /// Renames properties whose names the dialect forbids. Keywords that refer to properties in other ways, such as
    /// patterns, are then dropped.
    fn rename(&mut self, fields: &mut OrderedFields) -> Vec<(String, String)> {
        let Some(is_property) = self.dialect.is_valid_property else { return Vec::new() };
        let at = self.document.root_location();
        let Some(OrderedJson::Object(properties)) = fields.get_mut("properties") else { return Vec::new() };
        if properties.iter().all(|(name, _)| is_property(name)) {
            self.rename_required(fields, is_property, &[]);
            return Vec::new();
        }
        let mut taken: HashSet<String> = properties.iter().map(|(name, _)| name.to_owned()).collect();
        let (mut renamed, mut left_out) = (Vec::new(), false);
        let mut kept = OrderedFields::default();
        for (name, mut schema) in std::mem::take(properties) {
            if is_property(&name) {
                kept.push(name, schema);
                continue;
            }
            let sent = property_alias(&name, is_property);
            if !taken.insert(sent.clone()) {
                self.notes.add_loosening(&at.pointer, &format!("the property {} is left out", quoted(&name)));
                left_out = true;
                continue;
            }
            self.notes.add_note(&at.pointer, &format!("the property {} is sent as {sent}", quoted(&name)));
            add_name_to_description(&mut schema, &name);
            kept.push(sent.clone(), schema);
            renamed.push((sent, name));
        }
        *properties = kept;
        if fields.take("patternProperties").is_some() || left_out {
            fields.take("additionalProperties");
        }
        for name in ["propertyNames", "dependentRequired", "dependentSchemas", "not", "if", "then", "else"] {
            if fields.take(name).is_some() {
                self.notes.add_loosening(
                    &at.pointer,
                    &format!("{name} is left out, because properties are renamed"),
                );
            }
        }
        self.rename_required(fields, is_property, &renamed);
        renamed
    }

    fn rename_required(
        &mut self,
        fields: &mut OrderedFields,
        is_property: fn(&str) -> bool,
        renamed: &[(String, String)],
    ) {
        let at = self.document.root_location();
        let Some(OrderedJson::List(required)) = fields.get_mut("required") else { return };
        let sent_as: HashMap<&str, &str> =
            renamed.iter().map(|(sent, own)| (own.as_str(), sent.as_str())).collect();
        let mut kept = Vec::new();
        for name in std::mem::take(required) {
            let Some(own) = name.as_text() else { continue };
            match sent_as.get(own) {
                Some(sent) => kept.push(OrderedJson::text(*sent)),
                None if is_property(own) => kept.push(name),
                None => self.notes.add_loosening(
                    &at.pointer,
                    &format!("{} is required, but the sent schema does not require it", quoted(own)),
                ),
            }
        }
        *required = kept;
    }
}

/// Returns true if the root must be merged into one object for the dialect.
pub(in super::super) fn must_be_folded(document: &ParsedSchema<'_>, dialect: &SchemaDialect) -> bool {
    let Some(fields) = document.root_location().node.as_object() else { return false };
    document.reference(fields).is_some()
        || dialect.forbidden_at_root.iter().any(|name| fields.has(name))
        || fields.get("type").is_some_and(|of| *of != OrderedJson::text("object"))
}

/// Creates a valid name for a property whose name the dialect forbids.
fn property_alias(name: &str, is_property: fn(&str) -> bool) -> String {
    let sent = alias(name, MAX_PROPERTY_NAME_BYTES);
    if is_property(&sent) { sent } else { sent.replace('-', "_") }
}

/// Adds the original name of a renamed property to its description.
fn add_name_to_description(schema: &mut OrderedJson, name: &str) {
    if !matches!(schema, OrderedJson::Object(_)) {
        *schema = OrderedJson::default();
    }
    if let OrderedJson::Object(fields) = schema {
        add_words(fields, &format!("called {} by the tool", quoted(name)));
    }
}

/// Creates a schema that accepts any value, with the given schema as a suggestion.
fn loosen_schema(schema: OrderedJson, dialect: &SchemaDialect) -> OrderedJson {
    let OrderedJson::Object(mut fields) = schema else { return OrderedJson::default() };
    let description = fields.take("description");
    if fields.is_empty() {
        fields.extend(
            description
                .map(|text| OrderedFields::from_iter([("description".to_owned(), text)]))
                .unwrap_or_default(),
        );
        return OrderedJson::Object(fields);
    }
    let mut out = OrderedFields::default();
    if dialect.allows_boolean_schemas {
        if let Some(description) = description {
            out.push("description", description);
        }
        out.push("anyOf", OrderedJson::List(vec![OrderedJson::Object(fields), OrderedJson::default()]));
        return OrderedJson::Object(out);
    }
    let usual = format!(
        "usually fits {}",
        truncate_chars(&OrderedJson::Object(fields).to_json_string(), MAX_SHOWN_CHARS)
    );
    out.extend(
        description
            .map(|text| OrderedFields::from_iter([("description".to_owned(), text)]))
            .unwrap_or_default(),
    );
    add_words(&mut out, &usual);
    OrderedJson::Object(out)
}
