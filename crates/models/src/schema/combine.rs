//! Puts schemas together: two that must both fit, several of which one must. What comes out fits at least what they
//! together fit; what of it is looser is said.

use std::collections::HashMap;

use serde_json::Number;

use super::json::{Fields, Json, is_whole};

/// Most alternatives that are kept for one property; beyond, anything fits.
const MAX_ALTERNATIVES: usize = 16;
/// Most values that lists of values are put together to; beyond, they stay apart.
const MAX_VALUES: usize = 2_000;

/// What was given up when schemas were put together, in words.
pub(super) type GivenUp = Vec<String>;

/// How schemas are put together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joining {
    /// Whether what can't be put together may stand in an `allOf`: here, and inside of it.
    pub(super) all_of_here: bool,
    pub(super) all_of_inside: bool,
    /// Whether `anyOf` must stand alone.
    pub(super) any_of_alone: bool,
}

impl Joining {
    /// Inside of what is put together.
    fn inside(self) -> Self {
        Self { all_of_here: self.all_of_inside, ..self }
    }

    /// Where no more than keywords of one schema come together.
    pub(super) const PLAINLY: Self = Self { all_of_here: false, all_of_inside: false, any_of_alone: false };
}

/// A schema that fits what both fit; none where nothing does.
pub(super) fn both(a: Fields, b: Fields, how: Joining, given_up: &mut GivenUp) -> Option<Fields> {
    let mut out = a;
    let has_prefix_too = b.has("prefixItems");
    if shuts_out(&out, &b) || shuts_out(&b, &out) {
        given_up
            .push("additionalProperties of one part is not said of the properties of the other".to_owned());
    }
    let taken = GROUPS.map(|group| group.iter().any(|name| out.has(name)));
    let in_taken_group =
        |name: &str| GROUPS.iter().zip(taken).any(|(group, taken)| taken && group.contains(&name));
    for (name, theirs) in b {
        if !out.has(&name) {
            if in_taken_group(&name) {
                given_up.push(left_out(&name));
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
            "required" => add_new(ours, theirs),
            "properties" | "patternProperties" => join_maps(ours, theirs, how.inside(), given_up),
            "additionalProperties" => *ours = both_or_ours(take(ours), theirs, how.inside(), given_up),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                keep_number(ours, theirs, |ours, theirs| theirs > ours);
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                keep_number(ours, theirs, |ours, theirs| theirs < ours);
            }
            "allOf" => match (ours, theirs) {
                (Json::List(ours), Json::List(theirs)) => ours.extend(theirs),
                (ours, theirs) => *ours = theirs,
            },
            name if super::dialect::is_annotation(name) => {}
            "items" if !has_prefix => *ours = both_or_ours(take(ours), theirs, how.inside(), given_up),
            _ if *ours == theirs => {}
            _ => set_aside(&mut out, name, theirs, how, given_up),
        }
    }
    Some(if how.any_of_alone { alone(out, how, given_up) } else { out })
}

fn left_out(keyword: &str) -> String {
    format!("{:?} of one part is left out", super::document::shortened(keyword, 60))
}

/// With what stands beside `anyOf` in each of its alternatives instead.
pub(super) fn alone(mut out: Fields, how: Joining, given_up: &mut GivenUp) -> Fields {
    let Some(Json::List(alternatives)) = out.take("anyOf") else { return out };
    let (mut described, mut beside) = (Fields::default(), Fields::default());
    for (name, value) in out {
        if super::dialect::is_annotation(&name) {
            described.push(name, value)
        } else {
            beside.push(name, value)
        }
    }
    if beside.is_empty() {
        described.push("anyOf", Json::List(alternatives));
        return described;
    }
    let size = Json::Object(beside.clone()).size();
    if size.saturating_mul(alternatives.len()) > MAX_VALUES {
        given_up.push("anyOf is left out, since it would repeat too much".to_owned());
        described.extend(beside);
        return described;
    }
    let mut whole = Vec::new();
    for alternative in alternatives {
        whole.extend(both_schemas(Json::Object(beside.clone()), alternative, how, given_up));
    }
    if whole.is_empty() {
        given_up.push("that nothing fits here is not said".to_owned());
        described.extend(beside);
    } else {
        described.push("anyOf", Json::List(whole));
    }
    described
}

/// Whether one has something to say about properties that only the other names. When both become one, what it says
/// is not said of these any more.
fn shuts_out(one: &Fields, other: &Fields) -> bool {
    if matches!(one.get("additionalProperties"), None | Some(Json::Bool(true))) {
        return false;
    }
    let known = one.get("properties").and_then(Json::as_object);
    let known: std::collections::HashSet<_> =
        known.into_iter().flat_map(Fields::iter).map(|(name, _)| name).collect();
    let mut named = other.get("properties").and_then(Json::as_object).into_iter().flat_map(Fields::iter);
    other.has("patternProperties") || named.any(|(name, _)| !known.contains(name))
}

/// The same for schemas that may be `true` or `false`; none where nothing fits.
pub(super) fn both_schemas(a: Json, b: Json, how: Joining, given_up: &mut GivenUp) -> Option<Json> {
    match (a, b) {
        (Json::Bool(false), _) | (_, Json::Bool(false)) => None,
        (Json::Object(a), Json::Object(b)) => both(a, b, how, given_up).map(Json::Object),
        (Json::Object(one), _) | (_, Json::Object(one)) => Some(Json::Object(one)),
        (one, _) => Some(one),
    }
}

fn both_or_ours(ours: Json, theirs: Json, how: Joining, given_up: &mut GivenUp) -> Json {
    if ours == Json::Bool(false) || theirs == Json::Bool(false) {
        return Json::Bool(false);
    }
    both_schemas(ours.clone(), theirs, how, given_up).unwrap_or_else(|| {
        given_up.push("that nothing fits a part of it is not said".to_owned());
        ours
    })
}

/// Keywords that mean something only together.
const GROUPS: [&[&str]; 3] =
    [&["if", "then", "else"], &["contains", "minContains", "maxContains"], &["items", "prefixItems"]];

fn set_aside(out: &mut Fields, name: String, theirs: Json, how: Joining, given_up: &mut GivenUp) {
    // Half a group says something else than the whole.
    if !how.all_of_here || GROUPS.iter().any(|group| group.contains(&name.as_str())) {
        given_up.push(left_out(&name));
        return;
    }
    let mut alone = Fields::default();
    alone.push(name, theirs);
    match out.get_mut("allOf") {
        Some(Json::List(items)) => items.push(Json::Object(alone)),
        _ => out.put("allOf", Json::List(vec![Json::Object(alone)])),
    }
}

/// The types that both name; none where there are none.
fn common_type(a: &Json, b: &Json) -> Option<Json> {
    let (ours, theirs) = (kinds(a), kinds(b));
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
        [one] => Some(Json::text(*one)),
        several => Some(Json::List(several.iter().map(|kind| Json::text(*kind)).collect())),
    }
}

/// The types that a `type` names.
pub(super) fn kinds(value: &Json) -> Vec<&str> {
    match value {
        Json::Text(kind) => vec![kind.as_str()],
        Json::List(kinds) => kinds.iter().filter_map(Json::as_text).collect(),
        _ => Vec::new(),
    }
}

fn common_values(ours: &Json, theirs: Json) -> Option<Json> {
    let (Json::List(ours), Json::List(theirs)) = (ours, theirs) else { return None };
    if ours.len().saturating_mul(theirs.len()) > MAX_VALUES * MAX_VALUES {
        return Some(Json::List(ours.clone()));
    }
    let common: Vec<_> =
        ours.iter().filter(|value| theirs.iter().any(|other| same(value, other))).cloned().collect();
    (!common.is_empty()).then_some(Json::List(common))
}

/// Whether two values are the same to JSON Schema: 1 and 1.0 are.
pub(super) fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            a == b || (is_whole(a) && is_whole(b) && a.as_f64() == b.as_f64()) || a.as_f64() == b.as_f64()
        }
        (Json::List(a), Json::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn add_new(ours: &mut Json, theirs: Json) {
    let (Json::List(ours), Json::List(theirs)) = (ours, theirs) else { return };
    let known: std::collections::HashSet<String> =
        ours.iter().filter_map(Json::as_text).map(str::to_owned).collect();
    ours.extend(theirs.into_iter().filter(|name| !name.as_text().is_some_and(|name| known.contains(name))));
}

fn join_maps(ours: &mut Json, theirs: Json, how: Joining, given_up: &mut GivenUp) {
    let (Json::Object(fields), Json::Object(theirs)) = (&mut *ours, theirs) else { return };
    let mut list: Vec<(String, Json)> = std::mem::take(fields).into_iter().collect();
    let places: HashMap<String, usize> =
        list.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
    for (name, schema) in theirs {
        match places.get(&name).and_then(|at| list.get_mut(*at)) {
            Some((_, place)) => *place = both_or_ours(take(place), schema, how, given_up),
            None => list.push((name, schema)),
        }
    }
    *ours = Json::Object(list.into_iter().collect());
}

fn take(place: &mut Json) -> Json {
    std::mem::replace(place, Json::Null)
}

fn keep_number(ours: &mut Json, theirs: Json, is_narrower: impl Fn(f64, f64) -> bool) {
    let value = |json: &Json| match json {
        Json::Number(number) => Number::as_f64(number),
        _ => None,
    };
    if let (Some(a), Some(b)) = (value(ours), value(&theirs))
        && is_narrower(a, b)
    {
        *ours = theirs;
    }
}

/// Objects of which one must fit, as one object. `loosely` makes a schema that fits everything out of one that says
/// what is usual, for a property which one alternative describes and another leaves open.
pub(super) fn any(alternatives: Vec<Fields>, loosely: impl Fn(Json) -> Json) -> Fields {
    let is_closed = |fields: &Fields| {
        fields.get("additionalProperties") == Some(&Json::Bool(false)) && !fields.has("patternProperties")
    };
    let all_closed = alternatives.iter().all(is_closed);
    let open = alternatives.iter().filter(|fields| !is_closed(fields)).count();
    let mut properties: Vec<(String, Property)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut required: Option<Vec<Json>> = None;
    for mut fields in alternatives {
        let closed = is_closed(&fields);
        let theirs = match fields.take("required") {
            Some(Json::List(names)) => names,
            _ => Vec::new(),
        };
        required = Some(match required {
            None => theirs,
            Some(ours) => {
                let theirs: std::collections::HashSet<_> = theirs.iter().filter_map(Json::as_text).collect();
                let is_theirs = |name: &Json| name.as_text().is_some_and(|name| theirs.contains(name));
                ours.into_iter().filter(is_theirs).collect()
            }
        });
        let Some(Json::Object(map)) = fields.take("properties") else { continue };
        for (name, schema) in map {
            let at = *places.entry(name.clone()).or_insert_with(|| {
                properties.push((name, Property::default()));
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
    let properties: Fields = properties
        .into_iter()
        .map(|(name, property)| {
            // An open alternative that does not name it lets it be anything.
            let is_free = property.open_in < open;
            let schema = one_of_these(property.schemas);
            (name, if is_free { loosely(schema) } else { schema })
        })
        .collect();
    let mut out = Fields::default();
    if !properties.is_empty() {
        out.push("properties", Json::Object(properties));
    }
    if let Some(required) = required.filter(|names| !names.is_empty()) {
        out.push("required", Json::List(required));
    }
    if all_closed {
        out.push("additionalProperties", Json::Bool(false));
    }
    out
}

/// A property in several alternatives.
#[derive(Default)]
struct Property {
    schemas: Vec<Json>,
    /// In how many of the open alternatives it is.
    open_in: usize,
}

/// A schema that fits what one of these fits.
pub(super) fn one_of_these(mut schemas: Vec<Json>) -> Json {
    if schemas.len() == 1 {
        return schemas.remove(0);
    }
    if schemas.len() > MAX_ALTERNATIVES {
        return as_values(&schemas).unwrap_or_default();
    }
    as_values(&schemas).unwrap_or_else(|| {
        let mut out = Fields::default();
        out.push("anyOf", Json::List(schemas));
        Json::Object(out)
    })
}

/// One list of values where each of the schemas is one: what tells alternatives apart usually is.
fn as_values(schemas: &[Json]) -> Option<Json> {
    let mut values: Vec<Json> = Vec::new();
    let mut kind: Option<Option<&Json>> = None;
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
            (Some(Json::List(listed)), None) => listed.as_slice(),
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
    let mut out = Fields::default();
    if let Some(kind) = kind.flatten() {
        out.push("type", kind.clone());
    }
    let described = schemas.iter().filter_map(|schema| schema.as_object()?.get("description"));
    let mut described: Vec<_> = described.collect();
    described.dedup();
    if let [description] = described.as_slice() {
        out.push("description", (*description).clone());
    }
    out.push("enum", Json::List(values));
    Some(Json::Object(out))
}
