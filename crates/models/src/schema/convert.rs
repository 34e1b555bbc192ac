//! Says a schema in a provider's dialect. What comes out fits every value that the original fits, and may fit more:
//! arguments are held against the original anyway.

use serde_json::Number;

use super::combine::{GivenUp, Joining, alone, both, kinds};
use super::dialect::{Dialect, Holds, holds, is_annotation, is_plumbing};
use super::document::{At, Document, shortened};
use super::hint::Hints;
use super::json::{Fields, Json};
use super::lost::Lost;

mod finish;
mod root;
mod values;

pub(super) use root::must_be_folded;

/// Most schemas inside one another that are written out.
const MAX_DEPTH: usize = 32;
/// How many schemas more than the original has may come of writing references out.
const MAX_MORE: usize = 4_000;
/// The same in bytes, about.
const MAX_MORE_BYTES: usize = 256 * 1024;
/// How often a schema may stand within itself, and how many references may lead into one another, from the most to
/// the least: the first that does not come out too large counts.
const LIMITS: &[(usize, usize)] = &[(2, 12), (1, 8), (1, 4), (1, 2), (1, 1)];

/// Most parts of an `allOf` that are put together; each goes through all that came before.
const MAX_PARTS: usize = 64;

/// Characters of a description that stand where a reference is cut short; such places can be many.
const OUTLINE_TEXT: usize = 400;

/// A schema being said in a dialect.
pub(super) struct Converter<'s> {
    document: &'s Document<'s>,
    dialect: &'static Dialect,
    pub(super) lost: Lost,
    /// See [`LIMITS`].
    rounds: usize,
    references: usize,
    /// How many schemas may still be written, and about how many bytes.
    left: usize,
    left_bytes: usize,
    is_too_large: bool,
    /// What references lead to, from the root to here.
    open: Vec<*const Json>,
    depth: usize,
}

impl<'s> Converter<'s> {
    fn new(
        document: &'s Document<'s>,
        dialect: &'static Dialect,
        (rounds, references): (usize, usize),
    ) -> Self {
        Self {
            document,
            dialect,
            lost: Lost::default(),
            rounds,
            references,
            left: document.size + MAX_MORE,
            left_bytes: document.weight + MAX_MORE_BYTES,
            is_too_large: false,
            open: vec![std::ptr::from_ref(document.start().node)],
            depth: 0,
        }
    }

    /// With as much of recursion written out as is of use.
    pub(super) fn try_limits<T>(
        document: &'s Document<'s>,
        dialect: &'static Dialect,
        work: impl Fn(&mut Self) -> T,
    ) -> (T, Lost) {
        let mut limits = LIMITS.iter();
        loop {
            let limit = limits.next().copied().unwrap_or((1, 1));
            let mut converter = Self::new(document, dialect, limit);
            let out = work(&mut converter);
            if !converter.is_too_large || limits.len() == 0 {
                return (out, converter.lost);
            }
        }
    }

    /// A schema anywhere but at the root of parameters.
    pub(super) fn schema(&mut self, at: &At<'s>) -> Json {
        match at.node {
            Json::Bool(accepts) if self.dialect.booleans => Json::Bool(*accepts),
            Json::Bool(true) => Json::default(),
            Json::Bool(false) => {
                self.lost.loosen(&at.pointer, "that nothing fits here is not said");
                Json::default()
            }
            Json::Object(fields) if self.spend(at) => {
                self.depth += 1;
                let out = self.object(at, fields);
                self.depth -= 1;
                Json::Object(out)
            }
            Json::Object(_) => self.outline(at),
            _ => {
                self.lost.remark(&at.pointer, "it is no schema and is left out");
                Json::default()
            }
        }
    }

    fn spend(&mut self, at: &At<'s>) -> bool {
        let bytes = if self.left == 0 { 0 } else { at.node.as_object().map_or(0, own_weight) };
        if self.left == 0 || self.left_bytes < bytes {
            self.is_too_large = true;
            self.left = 0;
            self.lost.loosen(
                &at.pointer,
                "it is too large once its references are written out; this is cut short",
            );
            return false;
        }
        self.left -= 1;
        self.left_bytes -= bytes;
        if self.dialect.writes_out && self.depth >= MAX_DEPTH {
            self.lost.loosen(&at.pointer, "it nests too deep; this is cut short");
            return false;
        }
        true
    }

    fn object(&mut self, at: &At<'s>, fields: &'s Fields) -> Fields {
        let mut hints = Hints::default();
        let mut out = self.own(at, fields, &[], &mut hints);
        if self.dialect.writes_out && self.document.reference(fields).is_some() {
            out = self.with_reference(at, fields, out);
        }
        if !self.dialect.all_of {
            out = self.with_all_of(at, fields, out);
        }
        if self.dialect.any_of_alone {
            out = self.with_any_of_alone(at, out, &mut hints);
        }
        self.describe(&mut out, hints);
        out
    }

    /// What the keywords of a schema say, but for references, and for `allOf` where it is not known.
    fn own(&mut self, at: &At<'s>, fields: &'s Fields, skip: &[&str], hints: &mut Hints) -> Fields {
        let draft = self.document.draft;
        let is_covered = self.document.reference(fields).is_some() && !draft.has_siblings();
        let mut out = Fields::default();
        for (name, value) in fields.iter().filter(|(name, _)| !skip.contains(name)) {
            if is_plumbing(name) {
                self.plumbing(at, name, value, &mut out);
            } else if !draft.knows(name) || (is_covered && !is_annotation(name)) {
                // It means nothing there, and must not begin to.
                if self.dialect.writes_out {
                    self.lost.remark(&at.pointer, &format!("{} means nothing there", quoted(name)));
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
        if !self.dialect.mixes_types {
            self.separate_types(at, &mut out);
        }
        out
    }

    /// What is of use only to references.
    fn plumbing(&mut self, at: &At<'s>, name: &'s str, value: &'s Json, out: &mut Fields) {
        if self.dialect.writes_out {
            return;
        }
        let value = match (holds(name), value) {
            (Holds::Map, Json::Object(map)) => self.map(at, name, map),
            _ => value.clone(),
        };
        out.push(name, value);
    }

    fn keyword(
        &mut self,
        at: &At<'s>,
        fields: &'s Fields,
        name: &'s str,
        value: &'s Json,
        out: &mut Fields,
        hints: &mut Hints,
    ) {
        let pointer = &at.pointer;
        match (name, value) {
            ("const", value) if self.dialect.keywords.is_some() => {
                self.values(at, std::slice::from_ref(value), fields, out)
            }
            ("enum", Json::List(values)) if self.dialect.keywords.is_some() => {
                self.values(at, values, fields, out)
            }
            ("items", Json::List(items)) => {
                let first = self.list(at, name, items);
                out.put("prefixItems", Json::List(first));
                if let Some(rest) =
                    fields.get("additionalItems").filter(|_| self.document.draft.knows("additionalItems"))
                {
                    self.rest_of_items(&self.document.field(at, "additionalItems", rest), items.len(), out);
                }
            }
            ("items", _) => {
                let first = fields.get("prefixItems").filter(|_| self.document.draft.knows("prefixItems"));
                let first = first.and_then(Json::as_list).map_or(0, <[Json]>::len);
                self.rest_of_items(&self.document.field(at, name, value), first, out);
            }
            ("additionalItems", _) => {}
            ("exclusiveMinimum" | "exclusiveMaximum", Json::Bool(_)) => {
                self.old_bound(at, fields, name, value, out, hints)
            }
            ("exclusiveMinimum" | "exclusiveMaximum", Json::Number(bound)) if !self.dialect.takes(name) => {
                self.open_bound(at, fields, name, bound, out, hints);
            }
            ("allOf", _) if !self.dialect.all_of => {}
            ("oneOf", Json::List(items)) => self.one_of(at, fields, items, out),
            ("anyOf", Json::List(items)) => {
                let items = self.alternatives(at, name, items);
                self.put_any_of(at, items, out);
            }
            ("additionalProperties", _)
                if fields.has("patternProperties") && !self.dialect.takes("patternProperties") =>
            {
                self.rest_of_properties(at, fields, value, out);
            }
            ("patternProperties", _) if !self.dialect.takes(name) => {
                self.lost.loosen(pointer, "which properties patternProperties is for is not said");
            }
            ("not" | "if", _) if self.dialect.takes(name) => self.exactly(at, name, value, out),
            ("maxContains", _) if self.dialect.takes(name) => {
                // Where more counts as contained than did, there may be too much of it.
                let Some(contained) = fields.get("contains") else { return };
                let before = self.lost.loosened;
                let _ = self.schema(&self.document.field(at, "contains", contained));
                if self.lost.loosened == before {
                    out.push(name, value.clone());
                } else {
                    self.lost
                        .loosen(pointer, "maxContains is left out, since contains can't be said exactly");
                }
            }
            ("unevaluatedProperties" | "unevaluatedItems", _) if self.dialect.writes_out => {
                self.lost.loosen(pointer, &format!("{name} is left out"));
            }
            ("format", Json::Text(format)) if !self.dialect.takes_format(format) => {
                hints.add(name, value);
                self.lost.loosen(
                    pointer,
                    &format!("the format {} is said in the description only", quoted(format)),
                );
            }
            ("required", Json::List(names)) => {
                let names = names.iter().filter(|name| name.as_text().is_some()).cloned();
                out.push(name, Json::List(names.collect()));
            }
            ("minimum" | "maximum", _) if self.is_old_bound(fields, name) => {}
            ("dependencies", Json::Object(map))
                if self.dialect.takes("dependentSchemas") && self.dialect.writes_out =>
            {
                self.dependencies(at, name, map, out);
            }
            _ if !self.dialect.takes(name) => self.leave_out(at, name, value, hints),
            _ => {
                let value = self.inside(at, name, value);
                add(out, name, value);
            }
        }
    }

    /// The value of a keyword that is taken, with the schemas in it converted.
    fn inside(&mut self, at: &At<'s>, name: &'s str, value: &'s Json) -> Json {
        match (holds(name), value) {
            (Holds::Schema, Json::Object(_) | Json::Bool(_)) => {
                if name == "additionalProperties" && matches!(value, Json::Bool(_)) {
                    return value.clone();
                }
                self.schema(&self.document.field(at, name, value))
            }
            (Holds::List, Json::List(items)) => Json::List(self.list(at, name, items)),
            (Holds::Map, Json::Object(map)) => self.map(at, name, map),
            _ => value.clone(),
        }
    }

    fn list(&mut self, at: &At<'s>, name: &'s str, items: &'s [Json]) -> Vec<Json> {
        let items = items.iter().enumerate();
        items.map(|(index, item)| self.schema(&self.document.item(at, name, index, item))).collect()
    }

    fn map(&mut self, at: &At<'s>, name: &'s str, map: &'s Fields) -> Json {
        let mut out = Fields::default();
        for (key, value) in map.iter() {
            let entry = self.document.entry(at, name, key, value);
            // A list of names, in `dependencies`.
            if matches!(value, Json::List(_)) {
                out.push(key, value.clone());
                continue;
            }
            if *value == Json::Bool(false) && !self.dialect.booleans {
                self.lost.loosen(&entry.pointer, "that it must not be there is not said");
                continue;
            }
            out.push(key, self.schema(&entry));
        }
        Json::Object(out)
    }

    /// What is in an array after the first `first` items.
    fn rest_of_items(&mut self, at: &At<'s>, first: usize, out: &mut Fields) {
        if *at.node != Json::Bool(false) || self.dialect.booleans {
            let items = self.schema(at);
            out.put("items", items);
        } else {
            add(out, "maxItems", Json::Number(first.into()));
        }
    }

    /// What other properties may be, where some have patterns that can't be said.
    fn rest_of_properties(&mut self, at: &At<'s>, fields: &'s Fields, value: &'s Json, out: &mut Fields) {
        let patterns = fields.get("patternProperties").and_then(Json::as_object);
        let mut patterns = patterns.into_iter().flat_map(Fields::iter);
        match (patterns.next(), patterns.next()) {
            // All others fit the one pattern.
            (Some((pattern, schema)), None) if *value == Json::Bool(false) => {
                let schema = self.schema(&self.document.entry(at, "patternProperties", pattern, schema));
                out.push("additionalProperties", schema);
            }
            _ => self
                .lost
                .loosen(&at.pointer, "additionalProperties is left out, since it is about patternProperties"),
        }
    }

    fn one_of(&mut self, at: &At<'s>, fields: &'s Fields, items: &'s [Json], out: &mut Fields) {
        let before = self.lost.loosened;
        let alternatives = self.alternatives(at, "oneOf", items);
        let is_exact = self.lost.loosened == before;
        match alternatives {
            Some(alternatives) if self.dialect.one_of && is_exact => {
                out.push("oneOf", Json::List(alternatives))
            }
            alternatives => {
                self.lost.loosen(&at.pointer, "that no more than one of oneOf fits is not said");
                if fields.has("anyOf") {
                    self.lost.loosen(&at.pointer, "oneOf is left out beside anyOf");
                } else {
                    self.put_any_of(at, alternatives, out);
                }
            }
        }
    }

    /// Alternatives of which something must fit; none where anything does.
    fn alternatives(&mut self, at: &At<'s>, name: &'s str, items: &'s [Json]) -> Option<Vec<Json>> {
        if self.dialect.booleans {
            return Some(self.list(at, name, items));
        }
        if items.contains(&Json::Bool(true)) {
            return None;
        }
        let items = items.iter().enumerate().filter(|(_, item)| **item != Json::Bool(false));
        Some(items.map(|(index, item)| self.schema(&self.document.item(at, name, index, item))).collect())
    }

    fn put_any_of(&mut self, at: &At<'s>, alternatives: Option<Vec<Json>>, out: &mut Fields) {
        match alternatives {
            None => {}
            Some(alternatives) if alternatives.is_empty() => {
                self.lost.loosen(&at.pointer, "that nothing fits here is not said");
            }
            Some(_) if out.has("anyOf") => {
                self.lost.loosen(&at.pointer, "anyOf is left out beside the values that are listed");
            }
            Some(alternatives) => out.push("anyOf", Json::List(alternatives)),
        }
    }

    /// A keyword under which more must not fit than did.
    fn exactly(&mut self, at: &At<'s>, name: &'s str, value: &'s Json, out: &mut Fields) {
        let before = self.lost.loosened;
        let schema = self.schema(&self.document.field(at, name, value));
        if self.lost.loosened == before {
            out.push(name, schema);
        } else {
            self.lost.loosen(&at.pointer, &format!("{name} is left out, since it can't be said exactly"));
        }
    }

    /// Whether a bound is sent as one that does not fit itself, as draft 4 says it.
    fn is_old_bound(&self, fields: &Fields, name: &str) -> bool {
        let exclusive = if name == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
        self.dialect.takes(exclusive) && fields.get(exclusive) == Some(&Json::Bool(true))
    }

    /// What drafts up to 7 have in one keyword, in the two that it became.
    fn dependencies(&mut self, at: &At<'s>, name: &'s str, map: &'s Fields, out: &mut Fields) {
        let Json::Object(map) = self.map(at, name, map) else { return };
        let (lists, schemas): (Vec<_>, Vec<_>) =
            map.into_iter().partition(|(_, value)| matches!(value, Json::List(_)));
        for (name, entries) in [("dependentRequired", lists), ("dependentSchemas", schemas)] {
            if !entries.is_empty() {
                out.put(name, Json::Object(entries.into_iter().collect()));
            }
        }
    }

    /// `exclusiveMinimum: true` of draft 4.
    fn old_bound(
        &mut self,
        at: &At<'s>,
        fields: &'s Fields,
        name: &str,
        value: &Json,
        out: &mut Fields,
        hints: &mut Hints,
    ) {
        let bound = if name == "exclusiveMinimum" { "minimum" } else { "maximum" };
        let Some(Json::Number(number)) = fields.get(bound) else { return };
        if *value != Json::Bool(true) {
            return;
        }
        if self.dialect.takes(name) {
            out.put(name, Json::Number(number.clone()));
        } else {
            self.open_bound(at, fields, name, number, out, hints);
        }
    }

    /// A bound that itself does not fit, as one that does.
    fn open_bound(
        &mut self,
        at: &At<'s>,
        fields: &'s Fields,
        name: &str,
        bound: &Number,
        out: &mut Fields,
        hints: &mut Hints,
    ) {
        let (closed, step) = if name == "exclusiveMinimum" { ("minimum", 1) } else { ("maximum", -1) };
        let is_of_integers = fields.get("type").is_some_and(|of| kinds(of) == ["integer"]);
        let next = bound.as_i64().filter(|_| is_of_integers).and_then(|bound| bound.checked_add(step));
        let bound = Json::Number(next.map_or_else(|| bound.clone(), Number::from));
        if next.is_none() {
            hints.add(name, fields.get(name).unwrap_or(&bound));
            self.lost.loosen(&at.pointer, &format!("{name} is sent as {closed}"));
        }
        add(out, closed, bound);
    }

    fn leave_out(&mut self, at: &At<'s>, name: &str, value: &Json, hints: &mut Hints) {
        hints.add(name, value);
        let what = format!("{} is left out", quoted(name));
        if is_annotation(name) || holds(name) == Holds::Data && !is_assertion(name) {
            self.lost.remark(&at.pointer, &what);
        } else {
            self.lost.loosen(&at.pointer, &what);
        }
    }

    /// What a reference leads to, and what stands beside it.
    fn with_reference(&mut self, at: &At<'s>, fields: &'s Fields, mut out: Fields) -> Fields {
        let Json::Object(mut target) = self.follow(at, fields) else { return out };
        if out.iter().all(|(name, _)| is_annotation(name)) {
            for (name, value) in out {
                target.put(&name, value);
            }
            return target;
        }
        if self.dialect.all_of {
            match out.get_mut("allOf") {
                Some(Json::List(items)) => items.push(Json::Object(target)),
                _ => out.push("allOf", Json::List(vec![Json::Object(target)])),
            }
            return out;
        }
        self.together(at, out, target)
    }

    /// What the reference of a schema leads to.
    fn follow(&mut self, at: &At<'s>, fields: &'s Fields) -> Json {
        match self.enter(at, fields) {
            Some(target) => {
                let out = self.schema(&target);
                self.open.pop();
                out
            }
            None => match self.target(at, fields) {
                Some(target) => self.outline(&target),
                None => Json::default(),
            },
        }
    }

    fn target(&self, at: &At<'s>, fields: &'s Fields) -> Option<At<'s>> {
        self.document.reference(fields).and_then(|reference| self.document.resolve(reference, at))
    }

    /// Opens what a reference leads to, unless that leads too far. Whoever calls it closes it again.
    fn enter(&mut self, at: &At<'s>, fields: &'s Fields) -> Option<At<'s>> {
        let Some(target) = self.target(at, fields) else {
            let reference = self.document.reference(fields).unwrap_or_default();
            self.lost.loosen(
                &at.pointer,
                &format!("the reference {} leads nowhere, so anything fits", quoted(reference)),
            );
            return None;
        };
        let node = std::ptr::from_ref(target.node);
        let rounds = self.open.iter().filter(|open| **open == node).count();
        if rounds >= self.rounds || self.open.len() > self.references {
            let what = if rounds > 0 {
                "it refers to itself, which is cut short here"
            } else {
                "its references lead too far, which is cut short here"
            };
            self.lost.loosen(&at.pointer, what);
            return None;
        }
        self.open.push(node);
        Some(target)
    }

    /// No more of a schema than its type and what it is for.
    fn outline(&self, at: &At<'s>) -> Json {
        let mut at = at.clone();
        // References to references.
        for _ in 0..8 {
            let Some(fields) = at.node.as_object() else { break };
            match self.target(&at, fields) {
                Some(next) => at = next,
                None => break,
            }
        }
        let mut out = Fields::default();
        let Some(fields) = at.node.as_object() else { return Json::Object(out) };
        if let Some(of) = fields.get("type") {
            let known = kinds(of);
            let simple = known.iter().filter(|kind| **kind != "null").count() <= 1;
            if !known.is_empty() && (simple || self.dialect.mixes_types) {
                out.push("type", of.clone());
            }
        }
        if let Some(text) = fields.get("description").and_then(Json::as_text) {
            out.push("description", Json::text(shortened(text, OUTLINE_TEXT)));
        }
        Json::Object(out)
    }

    /// `allOf` where it is not known: all of them put together.
    fn with_all_of(&mut self, at: &At<'s>, fields: &'s Fields, mut out: Fields) -> Fields {
        let is_covered = self.document.reference(fields).is_some() && !self.document.draft.has_siblings();
        let Some(items) = fields.get("allOf").and_then(Json::as_list).filter(|_| !is_covered) else {
            return out;
        };
        for (index, item) in self.few(at, items).iter().enumerate() {
            if let Json::Object(schema) = self.schema(&self.document.item(at, "allOf", index, item)) {
                out = self.together(at, out, schema);
            }
        }
        out
    }

    /// The parts of an `allOf` that are put together.
    fn few(&mut self, at: &At<'s>, parts: &'s [Json]) -> &'s [Json] {
        if parts.len() > MAX_PARTS {
            self.lost
                .loosen(&at.pointer, &format!("allOf has more than {MAX_PARTS} parts; the rest is left out"));
        }
        parts.get(..MAX_PARTS).unwrap_or(parts)
    }

    /// What both fit; the first where nothing does.
    fn together(&mut self, at: &At<'s>, a: Fields, b: Fields) -> Fields {
        let mut given_up = GivenUp::new();
        let out = both(a.clone(), b, self.joining(self.dialect.all_of), &mut given_up);
        self.give_up(at, given_up);
        out.unwrap_or_else(|| {
            self.lost.loosen(&at.pointer, "that nothing fits here is not said");
            a
        })
    }

    fn joining(&self, all_of_here: bool) -> Joining {
        let Dialect { all_of, any_of_alone, .. } = *self.dialect;
        Joining { all_of_here, all_of_inside: all_of, any_of_alone }
    }

    fn give_up(&mut self, at: &At<'s>, given_up: GivenUp) {
        for what in given_up {
            self.lost.loosen(&at.pointer, &what);
        }
    }

    /// Where `anyOf` must stand alone, what stands beside it goes into each alternative.
    fn with_any_of_alone(&mut self, at: &At<'s>, mut out: Fields, hints: &mut Hints) -> Fields {
        let needs_only = |schema: &Json| {
            schema
                .as_object()
                .is_some_and(|fields| fields.iter().all(|(name, _)| matches!(name, "required" | "type")))
        };
        match out.get("anyOf").and_then(Json::as_list) {
            // Whatever stands beside would be said again for each.
            Some(alternatives) if alternatives.iter().all(needs_only) && out.has("properties") => {
                hints.add_needs(alternatives);
                self.lost.loosen(&at.pointer, "anyOf is left out");
                out.take("anyOf");
                out
            }
            Some(_) => {
                let mut given_up = GivenUp::new();
                let out = alone(out, self.joining(false), &mut given_up);
                self.give_up(at, given_up);
                out
            }
            None => out,
        }
    }

    fn describe(&self, out: &mut Fields, hints: Hints) {
        if self.dialect.keywords.is_some() {
            hints.describe(out);
        }
    }
}

/// Adds what another keyword says to what is said already.
fn add(out: &mut Fields, name: &str, value: Json) {
    if !out.has(name) {
        out.push(name, value);
        return;
    }
    let mut more = Fields::default();
    more.push(name, value);
    if let Some(joined) = both(out.clone(), more, Joining::PLAINLY, &mut GivenUp::new()) {
        *out = joined;
    }
}

/// Keywords that decide about values, other than those that hold schemas.
/// About how many bytes a schema takes without those in it.
fn own_weight(fields: &Fields) -> usize {
    let of = |(name, value): (&str, &Json)| match (holds(name), value) {
        (Holds::Data, _) => value.weight(),
        (_, Json::Object(inner)) if holds(name) == Holds::Map => {
            inner.iter().map(|(name, _)| name.len() + 8).sum()
        }
        (_, Json::List(items)) => 4 * items.len(),
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
    format!("{:?}", shortened(text, 60))
}
