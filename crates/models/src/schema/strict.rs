//! Conversion to the strict form, which providers enforce while the model writes: every object is closed, and every
//! property is required. An optional property may be null instead; [`remove_filler_nulls`] removes these nulls again.
//!
//! Sources, read in November 2026: OpenAI, "Structured model outputs", supported schemas; Anthropic, "Structured
//! outputs", JSON Schema limitations, whose closed objects may have optional properties.

use std::collections::{HashMap, VecDeque};

use super::dialect::{is_annotation, is_reference_keyword};
use super::document::{ParsedSchema, SchemaLocation, truncate_chars};
use super::hint::DescriptionHints;
use super::json::{OrderedFields, OrderedJson};
use super::merge::type_names;
use super::notes::ConversionNotes;
use crate::schema::NotExpressible;

mod null_removal;

pub(crate) use null_removal::remove_filler_nulls;

/// Rules of a strict form.
#[derive(Debug)]
pub(super) struct StrictRules {
    /// Optional properties must be present too, if necessary as null.
    pub(super) all_required: bool,
    /// A schema may refer to itself.
    pub(super) recursive: bool,
    /// Supported constraints, besides types, properties, items, alternatives and enums.
    pub(super) keywords: &'static [&'static str],
    /// Maximum nesting depth of objects and arrays.
    pub(super) depth: usize,
    /// Maximum number of properties in all objects together.
    pub(super) properties: usize,
    /// Maximum number of enum values in total.
    pub(super) values: usize,
    /// Maximum number of characters of all names and enum values together.
    pub(super) characters: usize,
    /// Maximum number of optional properties, and of properties with alternatives.
    pub(super) optional: usize,
    pub(super) alternatives: usize,
}

impl StrictRules {
    /// Returns true if null stands for an absent property.
    pub(super) fn fills_with_null(&self) -> bool {
        self.all_required
    }
}

pub(super) static OPENAI: StrictRules = StrictRules {
    all_required: true,
    recursive: true,
    keywords: &[
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ],
    depth: 10,
    properties: 5_000,
    values: 1_000,
    characters: 120_000,
    optional: usize::MAX,
    alternatives: usize::MAX,
};

pub(super) static ANTHROPIC: StrictRules = StrictRules {
    all_required: false,
    recursive: false,
    keywords: &["format"],
    depth: 32,
    properties: 5_000,
    values: 5_000,
    characters: 500_000,
    optional: 24,
    alternatives: 16,
};

/// The values of `format` that strict forms support.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Converter of one schema to the strict form.
pub(super) struct StrictConverter<'s> {
    document: &'s ParsedSchema<'s>,
    rules: &'static StrictRules,
    pub(super) notes: ConversionNotes,
    /// Names of the definitions, by the reference's target.
    names: HashMap<*const OrderedJson, String>,
    /// Targets of references that have no definition yet.
    pending_definitions: VecDeque<(String, SchemaLocation<'s>)>,
    depth: usize,
    /// Number of properties so far, to be checked against the limits.
    properties: usize,
    values: usize,
    characters: usize,
    optional: usize,
    alternatives: usize,
}

type StrictResult<T> = Result<T, NotExpressible>;

impl<'s> StrictConverter<'s> {
    pub(super) fn new(document: &'s ParsedSchema<'s>, rules: &'static StrictRules) -> Self {
        Self {
            document,
            rules,
            notes: ConversionNotes::default(),
            names: HashMap::new(),
            pending_definitions: VecDeque::new(),
            depth: 0,
            properties: 0,
            values: 0,
            characters: 0,
            optional: 0,
            alternatives: 0,
        }
    }

    /// Converts the schema, with a definition for each reference's target.
    pub(super) fn convert_document(&mut self, must_be_object: bool) -> StrictResult<OrderedFields> {
        let start = self.document.root_location();
        if must_be_object {
            self.check_root(&start)?;
        }
        let mut out = self.schema(&start)?;
        let mut definitions = OrderedFields::default();
        while let Some((name, at)) = self.pending_definitions.pop_front() {
            let schema = self.schema(&at)?;
            definitions.push(name, OrderedJson::Object(schema));
        }
        if !definitions.is_empty() {
            out.push("$defs", OrderedJson::Object(definitions));
        }
        self.check_size()?;
        Ok(out)
    }

    fn check_root(&self, at: &SchemaLocation<'s>) -> StrictResult<()> {
        let fields = at.node.as_object();
        let is_object =
            fields.and_then(|fields| fields.get("type")).is_some_and(|of| type_names(of) == ["object"]);
        match fields {
            Some(fields) if is_object && self.document.reference(fields).is_none() => Ok(()),
            _ => Err(not_expressible(at, "the type of the root is not object")),
        }
    }

    fn check_size(&self) -> StrictResult<()> {
        let rules = self.rules;
        for (count, most, what) in [
            (self.properties, rules.properties, "properties"),
            (self.values, rules.values, "listed values"),
            (self.characters, rules.characters, "characters of names and values"),
            (self.optional, rules.optional, "optional properties"),
            (self.alternatives, rules.alternatives, "places with alternatives"),
        ] {
            if count > most {
                return Err(NotExpressible(format!(
                    "it has {count} {what}; a strict schema may have at most {most}"
                )));
            }
        }
        Ok(())
    }

    fn schema(&mut self, at: &SchemaLocation<'s>) -> StrictResult<OrderedFields> {
        let Some(fields) = at.node.as_object() else {
            let why = match at.node {
                OrderedJson::Bool(_) => "it is a boolean schema",
                _ => "it is not a schema",
            };
            return Err(not_expressible(at, why));
        };
        if self.depth > self.rules.depth {
            return Err(not_expressible(at, &format!("it nests more than {} levels deep", self.rules.depth)));
        }
        if let Some(reference) = self.document.reference(fields) {
            return self.reference(at, fields, reference);
        }
        let alone = |name: &str, beside: &[&str]| {
            let says_nothing =
                |other: &str| is_annotation(other) || is_reference_keyword(other) || beside.contains(&other);
            fields.iter().all(|(other, _)| other == name || says_nothing(other))
        };
        match fields.get("allOf").and_then(OrderedJson::as_list) {
            None => {}
            Some([one]) if alone("allOf", &[]) => {
                let mut out = self.schema(&self.document.item_location(at, "allOf", 0, one))?;
                let described = self.annotations(at, fields);
                if out.has("$ref") && !described.is_empty() {
                    out = wrap_in_any_of(out);
                }
                out.extend(described);
                return Ok(out);
            }
            Some(_) => return Err(not_expressible(at, "allOf is not supported")),
        }
        for name in ["anyOf", "oneOf"] {
            match fields.get(name).and_then(OrderedJson::as_list) {
                None => {}
                Some(items) if alone(name, &["type"]) && !items.is_empty() => {
                    return self.any_of(at, fields, name, items);
                }
                Some(_) => {
                    return Err(not_expressible(at, &format!("{name} is combined with other keywords")));
                }
            }
        }
        self.plain_schema(at, fields)
    }

    fn any_of(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        name: &'s str,
        items: &'s [OrderedJson],
    ) -> StrictResult<OrderedFields> {
        self.alternatives += 1;
        let mut out = self.annotations(at, fields);
        let mut said = Vec::new();
        for (index, item) in items.iter().enumerate() {
            said.push(OrderedJson::Object(self.schema(&self.document.item_location(at, name, index, item))?));
        }
        if name == "oneOf" {
            self.notes.add_loosening(
                &at.pointer,
                "the sent schema accepts values that match several alternatives of oneOf",
            );
        }
        out.push("anyOf", OrderedJson::List(said));
        Ok(out)
    }

    fn reference(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
        reference: &str,
    ) -> StrictResult<OrderedFields> {
        let counts = |name: &str| !is_reference_keyword(name) && !is_annotation(name);
        if self.document.draft.allows_reference_siblings() && fields.iter().any(|(name, _)| counts(name)) {
            return Err(not_expressible(at, "a reference is combined with other keywords"));
        }
        let Some(target) = self.document.resolve(reference, at) else {
            return Err(not_expressible(
                at,
                &format!("the reference {:?} does not resolve", truncate_chars(reference, 60)),
            ));
        };
        let mut out = OrderedFields::default();
        out.push("$ref", OrderedJson::Text(self.definition_name(&target, reference)?));
        let described = self.annotations(at, fields);
        if !described.is_empty() {
            out = wrap_in_any_of(out);
            for (name, value) in described {
                out.put_first(&name, value);
            }
        }
        Ok(out)
    }

    /// Returns the name of the definition for a reference's target.
    fn definition_name(&mut self, target: &SchemaLocation<'s>, reference: &str) -> StrictResult<String> {
        let node = std::ptr::from_ref(target.node);
        if std::ptr::eq(node, self.document.root_location().node) {
            return if self.rules.recursive {
                Ok("#".to_owned())
            } else {
                Err(not_expressible(target, "it refers to itself"))
            };
        }
        if let Some(name) = self.names.get(&node) {
            return Ok(format!("#/$defs/{name}"));
        }
        let usual = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let wanted: String = last.chars().map(|c| if usual(c) { c } else { '_' }).take(60).collect();
        let wanted = if wanted.is_empty() { "part".to_owned() } else { wanted };
        let is_taken = |name: &str| self.names.values().any(|other| other == name);
        let mut name = wanted.clone();
        let mut number = 1;
        while is_taken(&name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        if self.names.len() >= MAX_DEFINITIONS {
            return Err(NotExpressible(format!("it refers to more than {MAX_DEFINITIONS} schemas")));
        }
        self.names.insert(node, name.clone());
        self.pending_definitions.push_back((name.clone(), target.clone()));
        Ok(format!("#/$defs/{name}"))
    }

    fn plain_schema(
        &mut self,
        at: &SchemaLocation<'s>,
        fields: &'s OrderedFields,
    ) -> StrictResult<OrderedFields> {
        let listed = match (
            fields.get("enum"),
            fields.get("const").filter(|_| self.document.draft.has_keyword("const")),
        ) {
            (_, Some(value)) => Some(vec![value.clone()]),
            (Some(OrderedJson::List(values)), None) if !values.is_empty() => Some(values.clone()),
            _ => None,
        };
        let of = match (fields.get("type"), &listed) {
            (Some(of), _) => type_names(of).into_iter().map(str::to_owned).collect(),
            (None, Some(values)) => value_types(values),
            (None, None) => return Err(not_expressible(at, "it has no type")),
        };
        let has = |kind: &str| of.iter().any(|of| of == kind);
        let mut out = OrderedFields::default();
        let mut hints = DescriptionHints::default();
        for (name, value) in fields.iter() {
            match name {
                "type" => out.push("type", type_of(&of)),
                "properties" if has("object") => {
                    let properties = self.object(at, fields)?;
                    out.extend(properties);
                }
                "items" if has("array") => {
                    self.depth += 1;
                    let items = self.schema(&self.document.field_location(at, "items", value))?;
                    self.depth -= 1;
                    out.push("items", OrderedJson::Object(items));
                }
                "enum" | "const" => {
                    if let Some(values) = listed.as_ref().filter(|_| !out.has("enum")) {
                        self.count_values(values);
                        out.push("enum", OrderedJson::List(values.clone()));
                    }
                }
                "title" | "description" => out.push(name, value.clone()),
                "required" | "additionalProperties" | "properties" | "items" => {}
                _ if is_reference_keyword(name) => {}
                _ if !self.document.draft.has_keyword(name) => {}
                _ if self.keeps_keyword(name, value) => out.push(name, value.clone()),
                _ => {
                    hints.add(name, value);
                    let what = format!("{:?} is left out", truncate_chars(name, 60));
                    if is_annotation(name) {
                        self.notes.add_note(&at.pointer, &what);
                    } else {
                        self.notes.add_loosening(&at.pointer, &what);
                    }
                }
            }
        }
        if !out.has("type") {
            out.put_first("type", type_of(&of));
        }
        if has("object") && !out.has("properties") {
            out.extend(self.object(at, fields)?);
        }
        if has("array") && !out.has("items") {
            return Err(not_expressible(at, "the array has no items"));
        }
        hints.describe(&mut out);
        Ok(out)
    }

    fn keeps_keyword(&self, name: &str, value: &OrderedJson) -> bool {
        self.rules.keywords.contains(&name)
            && match (name, value) {
                ("format", value) => value.as_text().is_some_and(|format| FORMATS.contains(&format)),
                // Look-around and back-references are not supported.
                ("pattern", OrderedJson::Text(pattern)) => {
                    !pattern.contains("(?") && !has_back_reference(pattern)
                }
                (_, value) => matches!(value, OrderedJson::Number(_)),
            }
    }

    /// Converts an object to a closed one.
    fn object(&mut self, at: &SchemaLocation<'s>, fields: &'s OrderedFields) -> StrictResult<OrderedFields> {
        let closed = fields.get("additionalProperties") == Some(&OrderedJson::Bool(false));
        if fields.has("additionalProperties") && !closed {
            return Err(not_expressible(at, "it allows properties that it does not list"));
        }
        if fields.has("patternProperties") {
            return Err(not_expressible(at, "patternProperties is not supported"));
        }
        let empty = OrderedFields::default();
        let properties = match fields.get("properties") {
            Some(OrderedJson::Object(properties)) => properties,
            _ if closed => {
                let mut out = OrderedFields::default();
                out.push("properties", OrderedJson::Object(empty));
                out.push("required", OrderedJson::List(Vec::new()));
                out.push("additionalProperties", OrderedJson::Bool(false));
                return Ok(out);
            }
            _ => return Err(not_expressible(at, "it allows properties that it does not list")),
        };
        if properties.is_empty() && !closed && self.depth > 0 {
            return Err(not_expressible(at, "it allows properties that it does not list"));
        }
        let required = super::required_names(fields.get("required"));
        let known = properties.index();
        if let Some(name) = required.iter().find(|name| !known.contains_key(*name)) {
            return Err(not_expressible(
                at,
                &format!("{:?} is required but not listed in properties", truncate_chars(name, 60)),
            ));
        }
        let (mut said, mut order) = (OrderedFields::default(), Vec::new());
        self.depth += 1;
        for (name, value) in properties.iter() {
            let schema = self.schema(&self.document.entry_location(at, "properties", name, value))?;
            let is_optional = !required.contains(name);
            self.properties += 1;
            self.characters += name.chars().count();
            self.optional += usize::from(is_optional);
            if self.rules.all_required && is_optional {
                said.push(name, OrderedJson::Object(nullable(schema)));
            } else {
                said.push(name, OrderedJson::Object(schema));
            }
            if self.rules.all_required || !is_optional {
                order.push(OrderedJson::text(name));
            }
        }
        self.depth -= 1;
        let mut out = OrderedFields::default();
        out.push("properties", OrderedJson::Object(said));
        out.push("required", OrderedJson::List(order));
        out.push("additionalProperties", OrderedJson::Bool(false));
        Ok(out)
    }

    fn annotations(&mut self, at: &SchemaLocation<'s>, fields: &'s OrderedFields) -> OrderedFields {
        let mut out = OrderedFields::default();
        for (name, value) in fields.iter().filter(|(name, _)| is_annotation(name)) {
            if matches!(name, "title" | "description") {
                out.push(name, value.clone());
            } else {
                self.notes.add_note(&at.pointer, &format!("{name:?} is left out"));
            }
        }
        out
    }

    fn count_values(&mut self, values: &[OrderedJson]) {
        self.values += values.len();
        self.characters +=
            values.iter().filter_map(OrderedJson::as_text).map(|text| text.chars().count()).sum::<usize>();
    }
}

/// Maximum number of reference targets.
const MAX_DEFINITIONS: usize = 200;

fn not_expressible(at: &SchemaLocation<'_>, why: &str) -> NotExpressible {
    NotExpressible(format!("#{}: {why}", at.pointer))
}

/// Wraps a reference in `anyOf`, so that it can be combined with annotations.
fn wrap_in_any_of(reference: OrderedFields) -> OrderedFields {
    let mut out = OrderedFields::default();
    out.push("anyOf", OrderedJson::List(vec![OrderedJson::Object(reference)]));
    out
}

fn value_types(values: &[OrderedJson]) -> Vec<String> {
    let mut of: Vec<String> = Vec::new();
    for value in values {
        let kind = value.kind();
        if !of.iter().any(|of| of == kind) {
            of.push(kind.to_owned());
        }
    }
    if of.iter().any(|of| of == "number") {
        of.retain(|of| of != "integer");
    }
    of
}

fn type_of(of: &[String]) -> OrderedJson {
    match of {
        [one] => OrderedJson::text(one.as_str()),
        several => OrderedJson::List(several.iter().map(|of| OrderedJson::text(of.as_str())).collect()),
    }
}

/// Extends a schema so that it also accepts null.
fn nullable(mut schema: OrderedFields) -> OrderedFields {
    let null = || {
        let mut null = OrderedFields::default();
        null.push("type", OrderedJson::text("null"));
        OrderedJson::Object(null)
    };
    if schema.has("$ref") {
        let mut out = OrderedFields::default();
        out.push("anyOf", OrderedJson::List(vec![OrderedJson::Object(schema), null()]));
        return out;
    }
    if let Some(OrderedJson::List(alternatives)) = schema.get_mut("anyOf") {
        if !alternatives.contains(&null()) {
            alternatives.push(null());
        }
        return schema;
    }
    if let Some(of) = schema.get("type") {
        let mut of: Vec<OrderedJson> = type_names(of).into_iter().map(OrderedJson::text).collect();
        if !of.contains(&OrderedJson::text("null")) {
            of.push(OrderedJson::text("null"));
            schema.put("type", OrderedJson::List(of));
        }
    }
    if let Some(OrderedJson::List(values)) = schema.get_mut("enum")
        && !values.contains(&OrderedJson::Null)
    {
        values.push(OrderedJson::Null);
    }
    schema
}

fn has_back_reference(pattern: &str) -> bool {
    let mut escaped = false;
    for c in pattern.chars() {
        if escaped && (c.is_ascii_digit() && c != '0' || c == 'k') {
            return true;
        }
        escaped = c == '\\' && !escaped;
    }
    false
}
