//! What a dialect wants of every schema, whatever it was made of.

use super::super::combine::kinds;
use super::super::dialect::{Dialect, Holds, holds};
use super::super::document::Pointer;
use super::super::json::{Fields, Json};
use super::super::lost::Lost;
use super::super::names;

/// Puts into a schema and those in it what the dialect wants.
pub(super) fn finish(fields: &mut Fields, dialect: &Dialect, lost: &mut Lost) {
    if dialect.needs_items
        && fields.get("type").is_some_and(|of| kinds(of).contains(&"array"))
        && !fields.has("items")
    {
        fields.push("items", Json::default());
    }
    if dialect.needs_known_required {
        name_the_required(fields, lost);
    }
    let order: Vec<_> = match fields.get("properties") {
        Some(Json::Object(properties)) if dialect.says_order => {
            properties.iter().map(|(name, _)| Json::text(name)).collect()
        }
        _ => Vec::new(),
    };
    if order.len() > 1 {
        fields.put("propertyOrdering", Json::List(order));
    }
    for (name, value) in fields.iter_mut() {
        match (holds(name), value) {
            (Holds::Schema, Json::Object(schema)) => finish(schema, dialect, lost),
            (Holds::List, Json::List(schemas)) => {
                schemas.iter_mut().for_each(|schema| finish_one(schema, dialect, lost))
            }
            (Holds::Map, Json::Object(map)) => {
                map.iter_mut().for_each(|(_, schema)| finish_one(schema, dialect, lost))
            }
            _ => {}
        }
    }
}

fn finish_one(schema: &mut Json, dialect: &Dialect, lost: &mut Lost) {
    if let Json::Object(fields) = schema {
        finish(fields, dialect, lost);
    }
}

/// What must be there but is nowhere described may be anything.
fn name_the_required(fields: &mut Fields, lost: &mut Lost) {
    let wanted = names(fields.get("required"));
    let known = fields.get("properties").and_then(Json::as_object);
    let known: std::collections::HashSet<_> =
        known.into_iter().flat_map(Fields::iter).map(|(name, _)| name).collect();
    let mut missing: Vec<String> =
        wanted.iter().filter(|name| !known.contains(*name)).map(|name| (*name).to_owned()).collect();
    if missing.is_empty() {
        return;
    }
    missing.sort_unstable();
    if !matches!(fields.get("additionalProperties"), None | Some(Json::Bool(true))) {
        let what = format!(
            "what {:?} must be, which is required somewhere but not described, is not said",
            missing.join(", ")
        );
        lost.loosen(&Pointer::default(), &what);
    }
    if !fields.has("properties") {
        fields.push("properties", Json::default());
    }
    if let Some(Json::Object(properties)) = fields.get_mut("properties") {
        for name in missing {
            properties.push(name, Json::default());
        }
    }
}
