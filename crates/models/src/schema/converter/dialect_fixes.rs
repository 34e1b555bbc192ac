//! Adjustments that a dialect requires of every schema.

use super::super::dialect::{KeywordValueKind, SchemaDialect, keyword_value_kind};
use super::super::document::SchemaPointer;
use super::super::json::{OrderedFields, OrderedJson};
use super::super::merge::type_names;
use super::super::notes::ConversionNotes;
use super::super::required_names;

/// Adds what the dialect requires to a schema and its subschemas.
pub(super) fn apply_dialect(fields: &mut OrderedFields, dialect: &SchemaDialect, lost: &mut ConversionNotes) {
    if dialect.needs_items
        && fields.get("type").is_some_and(|of| type_names(of).contains(&"array"))
        && !fields.has("items")
    {
        fields.push("items", OrderedJson::default());
    }
    if dialect.needs_described_required {
        describe_required_properties(fields, lost);
    }
    let order: Vec<_> = match fields.get("properties") {
        Some(OrderedJson::Object(properties)) if dialect.states_property_order => {
            properties.iter().map(|(name, _)| OrderedJson::text(name)).collect()
        }
        _ => Vec::new(),
    };
    if order.len() > 1 {
        fields.put("propertyOrdering", OrderedJson::List(order));
    }
    for (name, value) in fields.iter_mut() {
        match (keyword_value_kind(name), value) {
            (KeywordValueKind::Schema, OrderedJson::Object(schema)) => apply_dialect(schema, dialect, lost),
            (KeywordValueKind::List, OrderedJson::List(schemas)) => {
                schemas.iter_mut().for_each(|schema| apply_dialect_to_one(schema, dialect, lost))
            }
            (KeywordValueKind::Map, OrderedJson::Object(map)) => {
                map.iter_mut().for_each(|(_, schema)| apply_dialect_to_one(schema, dialect, lost))
            }
            _ => {}
        }
    }
}

fn apply_dialect_to_one(schema: &mut OrderedJson, dialect: &SchemaDialect, lost: &mut ConversionNotes) {
    if let OrderedJson::Object(fields) = schema {
        apply_dialect(fields, dialect, lost);
    }
}

/// Adds an empty schema for required properties that have none.
fn describe_required_properties(fields: &mut OrderedFields, lost: &mut ConversionNotes) {
    let wanted = required_names(fields.get("required"));
    let known = fields.get("properties").and_then(OrderedJson::as_object);
    let known: std::collections::HashSet<_> =
        known.into_iter().flat_map(OrderedFields::iter).map(|(name, _)| name).collect();
    let mut missing: Vec<String> =
        wanted.iter().filter(|name| !known.contains(*name)).map(|name| (*name).to_owned()).collect();
    if missing.is_empty() {
        return;
    }
    missing.sort_unstable();
    if !matches!(fields.get("additionalProperties"), None | Some(OrderedJson::Bool(true))) {
        let what = format!(
            "what {:?} must be, which is required somewhere but not described, is not said",
            missing.join(", ")
        );
        lost.add_loosening(&SchemaPointer::default(), &what);
    }
    if !fields.has("properties") {
        fields.push("properties", OrderedJson::default());
    }
    if let Some(OrderedJson::Object(properties)) = fields.get_mut("properties") {
        for name in missing {
            properties.push(name, OrderedJson::default());
        }
    }
}
