//! Schemas and values for them, made from a seed.

use serde_json::{Map, Value, json};

/// Numbers from a seed (splitmix64).
pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    pub(crate) fn next_below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % most as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, most: usize) -> bool {
        self.next_below(most) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.next_below(from.len())]
    }
}

const NAMES: &[&str] =
    &["a", "b", "kind", "x-y", "dotted.name", "filter[id]", "first name", "für", "_ok", "9lives"];

/// The parameters of a tool, in draft 2020-12 or draft 7.
pub(crate) fn parameters(chance: &mut SeededRng) -> Value {
    let old = chance.one_in(4);
    let definitions = if old { "definitions" } else { "$defs" };
    let mut maker = RandomSchemaBuilder { chance, is_draft7: old, definitions };
    let mut root = match maker.chance.next_below(6) {
        0 => maker.combined(2),
        1 => json!({ "$ref": format!("#/{definitions}/one") }),
        _ => maker.object(3),
    };
    if maker.chance.one_in(3) {
        let more = maker.combined(2);
        root.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    if maker.chance.one_in(8) {
        let needs: Vec<_> = NAMES.iter().take(3).map(|name| json!({ "required": [name] })).collect();
        root["anyOf"] = json!(needs);
    }
    let (one, two) = (maker.object(2), maker.node(2));
    root[definitions] = json!({ "one": one, "two": two });
    if old {
        root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    }
    root
}

struct RandomSchemaBuilder<'c> {
    chance: &'c mut SeededRng,
    is_draft7: bool,
    definitions: &'static str,
}

impl RandomSchemaBuilder<'_> {
    fn node(&mut self, depth: usize) -> Value {
        if depth == 0 {
            return self.leaf();
        }
        match self.chance.next_below(9) {
            0..3 => self.object(depth),
            3 | 4 => self.array(depth),
            5 => self.combined(depth - 1),
            _ => self.leaf(),
        }
    }

    /// A node, or a reference to one: never where it would be about the same value.
    fn inner(&mut self, depth: usize) -> Value {
        match self.chance.next_below(8) {
            0 => {
                let to = *self.chance.pick(&["one", "two"]);
                let mut reference = json!({ "$ref": format!("#/{}/{to}", self.definitions) });
                if self.chance.one_in(2) {
                    reference["description"] = json!("what it refers to");
                }
                if self.chance.one_in(3) {
                    reference["minProperties"] = json!(1);
                }
                reference
            }
            1 => json!({ "$ref": "#" }),
            _ => self.node(depth),
        }
    }

    fn leaf(&mut self) -> Value {
        let mut leaf = match self.chance.next_below(14) {
            0 => json!({}),
            1 => json!(true),
            2 => json!({ "type": "string", "minLength": 1, "maxLength": 4, "pattern": "^[ab ]*$" }),
            3 => json!({ "type": "string", "format": "date-time", "default": "now" }),
            4 => json!({ "type": "integer", "exclusiveMinimum": 0, "maximum": 9 }),
            5 => json!({ "type": "number", "minimum": -1.5, "exclusiveMaximum": 7, "multipleOf": 0.5 }),
            6 => json!({ "type": ["string", "null"], "maxLength": 3 }),
            7 => json!({ "type": ["string", "integer", "boolean"], "minimum": 3 }),
            8 => json!({ "enum": ["a", "b", null] }),
            9 => json!({ "enum": [1, 2.5, "a", true, {"a": 1}, [1]] }),
            10 => json!({ "type": "boolean", "title": "A flag" }),
            11 => json!({ "const": "only", "description": "The one." }),
            12 => json!({ "type": "integer", "enum": [1, 2, 3] }),
            _ => json!({ "type": "string", "x-ours": 1 }),
        };
        if self.chance.one_in(5) && leaf.is_object() {
            leaf["description"] = json!("A leaf.");
        }
        leaf
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!(*self.chance.pick(&["object", "object", "object", "object"])));
        let mut properties = Map::new();
        let mut required = Vec::new();
        for _ in 0..self.chance.next_below(4) {
            let name = *self.chance.pick(NAMES);
            let schema = if self.chance.one_in(20) { json!(false) } else { self.inner(depth - 1) };
            if schema != json!(false) && self.chance.one_in(2) && !required.contains(&name) {
                required.push(name);
            }
            properties.insert(name.to_owned(), schema);
        }
        if self.chance.one_in(9) {
            required.push("elsewhere");
        }
        if !properties.is_empty() || self.chance.one_in(2) {
            schema.insert("properties".to_owned(), json!(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        match self.chance.next_below(7) {
            0 | 1 => drop(schema.insert("additionalProperties".to_owned(), json!(false))),
            2 => {
                let more = self.node(depth - 1);
                schema.insert("additionalProperties".to_owned(), more);
            }
            _ => {}
        }
        match self.chance.next_below(14) {
            0 => {
                let of = self.node(depth - 1);
                schema.insert("patternProperties".to_owned(), json!({ "^a": of }));
            }
            1 => drop(schema.insert("propertyNames".to_owned(), json!({ "maxLength": 9 }))),
            2 => drop(schema.insert("minProperties".to_owned(), json!(1))),
            3 if self.is_draft7 => drop(schema.insert("dependencies".to_owned(), json!({ "a": ["b"] }))),
            3 => drop(schema.insert("dependentRequired".to_owned(), json!({ "a": ["b"] }))),
            4 if !self.is_draft7 => drop(schema.insert("unevaluatedProperties".to_owned(), json!(false))),
            5 => {
                schema.insert(
                    "if".to_owned(),
                    json!({ "required": ["a"], "properties": { "a": { "type": "string" } } }),
                );
                schema.insert("then".to_owned(), json!({ "required": ["b"] }));
            }
            6 => drop(schema.insert("not".to_owned(), json!({ "required": ["kind"] }))),
            7 => {
                let inner = self.node(depth - 1);
                schema.insert("not".to_owned(), json!({ "properties": { "a": inner }, "required": ["a"] }));
            }
            _ => {}
        }
        Value::Object(schema)
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut schema = json!({ "type": "array" });
        match self.chance.next_below(6) {
            0 => {}
            1 if self.is_draft7 => {
                schema["items"] = json!([self.node(depth - 1), self.leaf()]);
                schema["additionalItems"] = if self.chance.one_in(2) { json!(false) } else { self.leaf() };
            }
            1 => {
                schema["prefixItems"] = json!([self.node(depth - 1), self.leaf()]);
                schema["items"] = if self.chance.one_in(2) { json!(false) } else { self.leaf() };
            }
            _ => schema["items"] = self.inner(depth - 1),
        }
        match self.chance.next_below(8) {
            0 => schema["uniqueItems"] = json!(true),
            1 => schema["maxItems"] = json!(2),
            2 => {
                schema["contains"] = self.leaf();
                schema["maxContains"] = json!(1);
            }
            _ => {}
        }
        schema
    }

    fn combined(&mut self, depth: usize) -> Value {
        let word = *self.chance.pick(&["anyOf", "oneOf", "allOf"]);
        let alternatives: Vec<_> = (0..=self.chance.next_below(3))
            .map(|_| if self.chance.one_in(3) { self.leaf() } else { self.object(depth.max(1)) })
            .collect();
        let mut schema = json!({ word: alternatives });
        if self.chance.one_in(3) {
            schema["description"] = json!("One or the other.");
        }
        if self.chance.one_in(4) {
            schema["properties"] = json!({ "kind": { "enum": ["a", "b"] } });
        }
        schema
    }
}

/// A value that may well fit the schema.
pub(crate) fn value(schema: &Value, root: &Value, chance: &mut SeededRng, depth: usize) -> Value {
    let fields = match schema {
        Value::Object(fields) if depth < 9 => fields,
        _ => return any_value(chance, depth),
    };
    if chance.one_in(25) {
        return any_value(chance, depth);
    }
    if let Some(Value::String(reference)) = fields.get("$ref") {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(root);
        return value(target, root, chance, depth + 1);
    }
    let mut made = Vec::new();
    for (word, all) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        let Some(Value::Array(of)) = fields.get(word) else { continue };
        if all {
            made.extend(of.iter().map(|of| value(of, root, chance, depth + 1)));
        } else if !of.is_empty() {
            made.push(value(&of[chance.next_below(of.len())], root, chance, depth + 1));
        }
    }
    if let Some(of) = fields.get("const") {
        return of.clone();
    }
    if let Some(Value::Array(of)) = fields.get("enum") {
        return of[chance.next_below(of.len())].clone();
    }
    let own = match fields.get("type") {
        Some(Value::String(kind)) => Some(value_of_type(kind, fields, root, chance, depth)),
        Some(Value::Array(kinds)) => {
            let kind = kinds[chance.next_below(kinds.len())].as_str().unwrap();
            Some(value_of_type(kind, fields, root, chance, depth))
        }
        _ if fields.contains_key("properties") => Some(value_of_type("object", fields, root, chance, depth)),
        _ => None,
    };
    made.extend(own);
    made.into_iter().reduce(joined).unwrap_or_else(|| any_value(chance, depth))
}

/// Objects become one; of other values the last counts.
fn joined(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            a.extend(b);
            Value::Object(a)
        }
        (_, b) => b,
    }
}

fn value_of_type(
    kind: &str,
    fields: &Map<String, Value>,
    root: &Value,
    chance: &mut SeededRng,
    depth: usize,
) -> Value {
    match kind {
        "object" => {
            let mut object = Map::new();
            let required: Vec<_> =
                fields.get("required").and_then(Value::as_array).into_iter().flatten().collect();
            for (name, schema) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if required.contains(&&json!(name)) || chance.one_in(2) {
                    object.insert(name.clone(), value(schema, root, chance, depth + 1));
                }
            }
            for name in required.iter().filter_map(|name| name.as_str()) {
                object.entry(name).or_insert_with(|| any_value(chance, depth));
            }
            let more = fields.get("additionalProperties").unwrap_or(&Value::Bool(true));
            if *more != json!(false) && chance.one_in(3) {
                let name = *chance.pick(&["a", "b", "kind", "extra"]);
                let made = value(more, root, chance, depth + 1);
                object.entry(name).or_insert(made);
            }
            Value::Object(object)
        }
        "array" => {
            let first = ["prefixItems", "items"].iter().find_map(|name| fields.get(*name)?.as_array());
            let rest = fields
                .get("items")
                .filter(|items| !items.is_array())
                .or_else(|| fields.get("additionalItems"));
            let count = chance.next_below(4);
            let item = |at: usize, chance: &mut SeededRng| match first.and_then(|first| first.get(at)) {
                Some(schema) => value(schema, root, chance, depth + 1),
                None => value(rest.unwrap_or(&Value::Bool(true)), root, chance, depth + 1),
            };
            (0..count).map(|at| item(at, chance)).collect()
        }
        "string" => json!(*chance.pick(&["", "a", "ab", "b a", "2026-11-01T00:00:00Z", "zz"])),
        "integer" => json!(*chance.pick(&[-3, 0, 1, 2, 3, 7, 12])),
        "number" => json!(*chance.pick(&[-1.5, 0.0, 0.5, 2.25, 3.0, 7.0])),
        "boolean" => json!(chance.one_in(2)),
        _ => Value::Null,
    }
}

fn any_value(chance: &mut SeededRng, depth: usize) -> Value {
    match chance.next_below(if depth > 6 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(*chance.pick(&["a", "b", "only", ""])),
        3 => json!(*chance.pick(&[0, 1, 2, 5])),
        4 => json!({}),
        5 => json!([]),
        6 => json!({ *chance.pick(NAMES): any_value(chance, depth + 1) }),
        _ => json!([any_value(chance, depth + 1), any_value(chance, depth + 1)]),
    }
}
