//! Merges JSON Schemas: [`intersect`] for schemas that must all match, [`union`] for alternatives. The result never
//! rejects a value that it should accept. If it accepts more, the lost constraints are reported.

use std::collections::HashMap;

use serde_json::Number;

use super::json::{OrderedFields, OrderedJson, is_whole};

/// Maximum number of alternatives for one property. With more, the property accepts any value, unless the alternatives
/// only list values.
const MAX_ALTERNATIVES: usize = 16;
/// Maximum number of values in a merged `enum` or `anyOf`. Larger ones are not merged.
const MAX_VALUES: usize = 2_000;

/// Descriptions of the constraints that were lost when schemas were merged.
pub(super) type DroppedConstraints = Vec<String>;

/// Options for merging schemas.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeOptions {
    /// True if keywords that can't be merged may become an `allOf` at this level.
    pub(super) all_of_here: bool,
    /// The same for subschemas.
    pub(super) all_of_inside: bool,
    /// True if `anyOf` must be the only keyword of its schema.
    pub(super) any_of_alone: bool,
}

impl MergeOptions {
    /// Returns the options for the subschemas of merged schemas.
    fn for_subschemas(self) -> Self {
        Self { all_of_here: self.all_of_inside, ..self }
    }

    /// Options for keywords that all come from one schema.
    pub(super) const PLAIN: Self = Self { all_of_here: false, all_of_inside: false, any_of_alone: false };
}

/// Returns a schema for the values that match both schemas; `None` if there are none. Adds lost constraints to
/// `given_up`.
pub(super) fn intersect(
    a: OrderedFields,
    b: OrderedFields,
    how: MergeOptions,
    given_up: &mut DroppedConstraints,
) -> Option<OrderedFields> {
    let mut out = a;
    let has_prefix_too = b.has("prefixItems");
    if excludes_properties(&out, &b) || excludes_properties(&b, &out) {
        given_up.push(
            "additionalProperties of one part is not applied to the properties of the other".to_owned(),
        );
    }
    let taken = KEYWORD_GROUPS.map(|group| group.iter().any(|name| out.has(name)));
    let in_taken_group =
        |name: &str| KEYWORD_GROUPS.iter().zip(taken).any(|(group, taken)| taken && group.contains(&name));
    for (name, theirs) in b {
        if !out.has(&name) {
            if in_taken_group(&name) {
                given_up.push(dropped_keyword_note(&name));
            } else {
                out.push(name, theirs);
            }
            continue;
        }
        let has_prefix = has_prefix_too || out.has("prefixItems");
        let ours = out.get_mut(&name)?;
        match name.as_str() {
            "type" => *ours = common_type(ours, &theirs)?,
            "enum" => *ours = common_values(ours, theirs)?,
            "required" => append_missing(ours, theirs),
            "properties" | "patternProperties" => merge_maps(ours, theirs, how.for_subschemas(), given_up),
            "additionalProperties" => {
                *ours = intersect_or_keep(take(ours), theirs, how.for_subschemas(), given_up)
            }
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                keep_narrower_bound(ours, theirs, |ours, theirs| theirs > ours);
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                keep_narrower_bound(ours, theirs, |ours, theirs| theirs < ours);
            }
            "allOf" => match (ours, theirs) {
                (OrderedJson::List(ours), OrderedJson::List(theirs)) => ours.extend(theirs),
                (ours, theirs) => *ours = theirs,
            },
            name if super::dialect::is_annotation(name) => {}
            "items" if !has_prefix => {
                *ours = intersect_or_keep(take(ours), theirs, how.for_subschemas(), given_up)
            }
            _ if *ours == theirs => {}
            _ => move_to_all_of(&mut out, name, theirs, how, given_up),
        }
    }
    Some(if how.any_of_alone { distribute_into_any_of(out, how, given_up) } else { out })
}

fn dropped_keyword_note(keyword: &str) -> String {
    format!("{:?} of one part is left out", super::document::truncate_chars(keyword, 60))
}

/// Moves the keywords next to `anyOf` into each of its alternatives.
pub(super) fn distribute_into_any_of(
    mut out: OrderedFields,
    how: MergeOptions,
    given_up: &mut DroppedConstraints,
) -> OrderedFields {
    let Some(OrderedJson::List(alternatives)) = out.take("anyOf") else { return out };
    let (mut described, mut beside) = (OrderedFields::default(), OrderedFields::default());
    for (name, value) in out {
        if super::dialect::is_annotation(&name) {
            described.push(name, value)
        } else {
            beside.push(name, value)
        }
    }
    if beside.is_empty() {
        described.push("anyOf", OrderedJson::List(alternatives));
        return described;
    }
    let size = OrderedJson::Object(beside.clone()).value_count();
    if size.saturating_mul(alternatives.len()) > MAX_VALUES {
        given_up.push("anyOf is left out, because it would become too large".to_owned());
        described.extend(beside);
        return described;
    }
    let mut whole = Vec::new();
    for alternative in alternatives {
        whole.extend(intersect_schemas(OrderedJson::Object(beside.clone()), alternative, how, given_up));
    }
    if whole.is_empty() {
        given_up.push("no value is valid here, but the sent schema accepts any".to_owned());
        described.extend(beside);
    } else {
        described.push("anyOf", OrderedJson::List(whole));
    }
    described
}

/// Returns true if one schema restricts properties that only the other one names. After merging, the restriction would
/// no longer apply to them.
fn excludes_properties(one: &OrderedFields, other: &OrderedFields) -> bool {
    if matches!(one.get("additionalProperties"), None | Some(OrderedJson::Bool(true))) {
        return false;
    }
    let known = one.get("properties").and_then(OrderedJson::as_object);
    let known: std::collections::HashSet<_> =
        known.into_iter().flat_map(OrderedFields::iter).map(|(name, _)| name).collect();
    let mut named =
        other.get("properties").and_then(OrderedJson::as_object).into_iter().flat_map(OrderedFields::iter);
    other.has("patternProperties") || named.any(|(name, _)| !known.contains(name))
}

/// Like [`intersect`], for schemas that may be `true` or `false`.
pub(super) fn intersect_schemas(
    a: OrderedJson,
    b: OrderedJson,
    how: MergeOptions,
    given_up: &mut DroppedConstraints,
) -> Option<OrderedJson> {
    match (a, b) {
        (OrderedJson::Bool(false), _) | (_, OrderedJson::Bool(false)) => None,
        (OrderedJson::Object(a), OrderedJson::Object(b)) => {
            intersect(a, b, how, given_up).map(OrderedJson::Object)
        }
        (OrderedJson::Object(one), _) | (_, OrderedJson::Object(one)) => Some(OrderedJson::Object(one)),
        (one, _) => Some(one),
    }
}

fn intersect_or_keep(
    ours: OrderedJson,
    theirs: OrderedJson,
    how: MergeOptions,
    given_up: &mut DroppedConstraints,
) -> OrderedJson {
    if ours == OrderedJson::Bool(false) || theirs == OrderedJson::Bool(false) {
        return OrderedJson::Bool(false);
    }
    intersect_schemas(ours.clone(), theirs, how, given_up).unwrap_or_else(|| {
        given_up.push("no value is valid for a part of it, but the sent schema accepts any".to_owned());
        ours
    })
}

/// Groups of keywords that depend on each other: `then` without `if` has no effect.
const KEYWORD_GROUPS: [&[&str]; 3] =
    [&["if", "then", "else"], &["contains", "minContains", "maxContains"], &["items", "prefixItems"]];

fn move_to_all_of(
    out: &mut OrderedFields,
    name: String,
    theirs: OrderedJson,
    how: MergeOptions,
    given_up: &mut DroppedConstraints,
) {
    // In an `allOf`, a keyword would be separated from its group and change its meaning.
    if !how.all_of_here || KEYWORD_GROUPS.iter().any(|group| group.contains(&name.as_str())) {
        given_up.push(dropped_keyword_note(&name));
        return;
    }
    let mut alone = OrderedFields::default();
    alone.push(name, theirs);
    match out.get_mut("allOf") {
        Some(OrderedJson::List(items)) => items.push(OrderedJson::Object(alone)),
        _ => out.put("allOf", OrderedJson::List(vec![OrderedJson::Object(alone)])),
    }
}

/// Returns the types that both schemas allow; `None` if there are none.
fn common_type(a: &OrderedJson, b: &OrderedJson) -> Option<OrderedJson> {
    let (ours, theirs) = (type_names(a), type_names(b));
    let mut common = Vec::new();
    for kind in &ours {
        let narrower = match *kind {
            kind if theirs.contains(&kind) => kind,
            "number" if theirs.contains(&"integer") => "integer",
            "integer" if theirs.contains(&"number") => "integer",
            _ => continue,
        };
        if !common.contains(&narrower) {
            common.push(narrower);
        }
    }
    match common.as_slice() {
        [] => None,
        [one] => Some(OrderedJson::text(*one)),
        several => Some(OrderedJson::List(several.iter().map(|kind| OrderedJson::text(*kind)).collect())),
    }
}

/// Returns the types listed in the value of `type`.
pub(super) fn type_names(value: &OrderedJson) -> Vec<&str> {
    match value {
        OrderedJson::Text(kind) => vec![kind.as_str()],
        OrderedJson::List(kinds) => kinds.iter().filter_map(OrderedJson::as_text).collect(),
        _ => Vec::new(),
    }
}

fn common_values(ours: &OrderedJson, theirs: OrderedJson) -> Option<OrderedJson> {
    let (OrderedJson::List(ours), OrderedJson::List(theirs)) = (ours, theirs) else { return None };
    if ours.len().saturating_mul(theirs.len()) > MAX_VALUES * MAX_VALUES {
        return Some(OrderedJson::List(ours.clone()));
    }
    let common: Vec<_> =
        ours.iter().filter(|value| theirs.iter().any(|other| is_same_value(value, other))).cloned().collect();
    (!common.is_empty()).then_some(OrderedJson::List(common))
}

/// Returns true if two values are equal in JSON Schema, where 1 equals 1.0.
pub(super) fn is_same_value(a: &OrderedJson, b: &OrderedJson) -> bool {
    match (a, b) {
        (OrderedJson::Number(a), OrderedJson::Number(b)) => {
            a == b || (is_whole(a) && is_whole(b) && a.as_f64() == b.as_f64()) || a.as_f64() == b.as_f64()
        }
        (OrderedJson::List(a), OrderedJson::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_value(a, b))
        }
        (OrderedJson::Object(a), OrderedJson::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_same_value(a, b)))
        }
        (a, b) => a == b,
    }
}

fn append_missing(ours: &mut OrderedJson, theirs: OrderedJson) {
    let (OrderedJson::List(ours), OrderedJson::List(theirs)) = (ours, theirs) else { return };
    let known: std::collections::HashSet<String> =
        ours.iter().filter_map(OrderedJson::as_text).map(str::to_owned).collect();
    ours.extend(theirs.into_iter().filter(|name| !name.as_text().is_some_and(|name| known.contains(name))));
}

fn merge_maps(
    ours: &mut OrderedJson,
    theirs: OrderedJson,
    how: MergeOptions,
    given_up: &mut DroppedConstraints,
) {
    let (OrderedJson::Object(fields), OrderedJson::Object(theirs)) = (&mut *ours, theirs) else { return };
    let mut list: Vec<(String, OrderedJson)> = std::mem::take(fields).into_iter().collect();
    let places: HashMap<String, usize> =
        list.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
    for (name, schema) in theirs {
        match places.get(&name).and_then(|at| list.get_mut(*at)) {
            Some((_, place)) => *place = intersect_or_keep(take(place), schema, how, given_up),
            None => list.push((name, schema)),
        }
    }
    *ours = OrderedJson::Object(list.into_iter().collect());
}

fn take(place: &mut OrderedJson) -> OrderedJson {
    std::mem::replace(place, OrderedJson::Null)
}

fn keep_narrower_bound(ours: &mut OrderedJson, theirs: OrderedJson, is_narrower: impl Fn(f64, f64) -> bool) {
    let value = |json: &OrderedJson| match json {
        OrderedJson::Number(number) => Number::as_f64(number),
        _ => None,
    };
    if let (Some(a), Some(b)) = (value(ours), value(&theirs))
        && is_narrower(a, b)
    {
        *ours = theirs;
    }
}

/// Merges alternative objects into one object that accepts everything they accept. `loosely` converts a schema to one
/// that accepts any value. It is used for a property that one alternative describes and another one leaves open.
pub(super) fn union(
    alternatives: Vec<OrderedFields>,
    loosely: impl Fn(OrderedJson) -> OrderedJson,
) -> OrderedFields {
    let is_closed = |fields: &OrderedFields| {
        fields.get("additionalProperties") == Some(&OrderedJson::Bool(false))
            && !fields.has("patternProperties")
    };
    let all_closed = alternatives.iter().all(is_closed);
    let open = alternatives.iter().filter(|fields| !is_closed(fields)).count();
    let mut properties: Vec<(String, MergedProperty)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut required: Option<Vec<OrderedJson>> = None;
    for mut fields in alternatives {
        let closed = is_closed(&fields);
        let theirs = match fields.take("required") {
            Some(OrderedJson::List(names)) => names,
            _ => Vec::new(),
        };
        required = Some(match required {
            None => theirs,
            Some(ours) => {
                let theirs: std::collections::HashSet<_> =
                    theirs.iter().filter_map(OrderedJson::as_text).collect();
                let is_theirs = |name: &OrderedJson| name.as_text().is_some_and(|name| theirs.contains(name));
                ours.into_iter().filter(is_theirs).collect()
            }
        });
        let Some(OrderedJson::Object(map)) = fields.take("properties") else { continue };
        for (name, schema) in map {
            let at = *places.entry(name.clone()).or_insert_with(|| {
                properties.push((name, MergedProperty::default()));
                properties.len() - 1
            });
            if let Some((_, property)) = properties.get_mut(at) {
                property.open_in += usize::from(!closed);
                if !property.schemas.contains(&schema) && property.schemas.len() <= MAX_VALUES {
                    property.schemas.push(schema);
                }
            }
        }
    }
    let properties: OrderedFields = properties
        .into_iter()
        .map(|(name, property)| {
            // An open alternative without this property accepts any value for it.
            let is_free = property.open_in < open;
            let schema = union_schemas(property.schemas);
            (name, if is_free { loosely(schema) } else { schema })
        })
        .collect();
    let mut out = OrderedFields::default();
    if !properties.is_empty() {
        out.push("properties", OrderedJson::Object(properties));
    }
    if let Some(required) = required.filter(|names| !names.is_empty()) {
        out.push("required", OrderedJson::List(required));
    }
    if all_closed {
        out.push("additionalProperties", OrderedJson::Bool(false));
    }
    out
}

/// Property of at least one alternative.
#[derive(Default)]
struct MergedProperty {
    schemas: Vec<OrderedJson>,
    /// Number of open alternatives that have the property.
    open_in: usize,
}

/// Merges schemas into one that accepts every value that at least one of them accepts.
pub(super) fn union_schemas(mut schemas: Vec<OrderedJson>) -> OrderedJson {
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    if schemas.len() > MAX_ALTERNATIVES {
        return as_enum_values(&schemas).unwrap_or_default();
    }
    as_enum_values(&schemas).unwrap_or_else(|| {
        let mut out = OrderedFields::default();
        out.push("anyOf", OrderedJson::List(schemas));
        OrderedJson::Object(out)
    })
}

/// Merges the schemas into one `enum` if each of them only lists values. Discriminator properties usually do.
fn as_enum_values(schemas: &[OrderedJson]) -> Option<OrderedJson> {
    let mut values: Vec<OrderedJson> = Vec::new();
    let mut kind: Option<Option<&OrderedJson>> = None;
    for schema in schemas {
        let fields = schema.as_object()?;
        if !fields
            .iter()
            .all(|(name, _)| matches!(name, "type" | "enum" | "const") || super::dialect::is_annotation(name))
        {
            return None;
        }
        let theirs = fields.get("type");
        if *kind.get_or_insert(theirs) != theirs {
            return None;
        }
        let listed = match (fields.get("enum"), fields.get("const")) {
            (Some(OrderedJson::List(listed)), None) => listed.as_slice(),
            (None, Some(value)) => std::slice::from_ref(value),
            _ => return None,
        };
        for value in listed {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        if values.len() > MAX_VALUES {
            return None;
        }
    }
    let mut out = OrderedFields::default();
    if let Some(kind) = kind.flatten() {
        out.push("type", kind.clone());
    }
    let described = schemas.iter().filter_map(|schema| schema.as_object()?.get("description"));
    let mut described: Vec<_> = described.collect();
    described.dedup();
    if let [description] = described.as_slice() {
        out.push("description", (*description).clone());
    }
    out.push("enum", OrderedJson::List(values));
    Some(OrderedJson::Object(out))
}
