//! The root of parameters, which is always an object: alternatives and references there are folded into one that
//! fits everything they fit.

use std::collections::{HashMap, HashSet};

use super::super::combine::{GivenUp, any, both, kinds};
use super::super::dialect::{Dialect, is_annotation, is_plumbing};
use super::super::document::{At, Document, shortened};
use super::super::hint::{Hints, add_words};
use super::super::json::{Fields, Json};
use super::finish::finish;
use super::{Converter, quoted};
use crate::names::alias;
use crate::provider::NotExpressible;

/// Longest name of a property that has another there.
const MAX_PROPERTY: usize = 64;
/// How much is shown of a schema that is said in a description.
const SHOWN: usize = 300;

/// Parameters in a dialect.
#[derive(Debug)]
pub(in super::super) struct Root {
    pub(in super::super) fields: Fields,
    /// Properties that have another name there: that name, and their own.
    pub(in super::super) renamed: Vec<(String, String)>,
}

impl<'s> Converter<'s> {
    /// The parameters.
    pub(in super::super) fn root(&mut self) -> Result<Root, NotExpressible> {
        let at = self.document.start();
        let mut fields = match at.node {
            Json::Object(fields)
                if !self.dialect.writes_out && !must_be_folded(self.document, self.dialect) =>
            {
                self.object(&at, fields)
            }
            _ => {
                let folded = self.view(&at, true);
                folded.ok_or_else(|| {
                    NotExpressible("its parameters fit no object, so nobody can call it".to_owned())
                })?
            }
        };
        match fields.get_mut("type") {
            Some(of) => *of = Json::text("object"),
            None => fields.put_first("type", Json::text("object")),
        }
        if self.dialect.keywords.is_none() && !fields.has("properties") {
            fields.push("properties", Json::default());
        }
        let renamed = self.rename(&mut fields);
        finish(&mut fields, self.dialect, &mut self.lost);
        Ok(Root { fields, renamed })
    }

    /// What is no object's.
    pub(in super::super) fn anything(&mut self) -> Json {
        let at = self.document.start();
        let mut out = self.schema(&at);
        if let Json::Object(fields) = &mut out {
            finish(fields, self.dialect, &mut self.lost);
        }
        out
    }

    /// A schema as one of objects alone; none where no object fits.
    fn view(&mut self, at: &At<'s>, is_root: bool) -> Option<Fields> {
        let fields = match at.node {
            Json::Object(fields) => fields,
            Json::Bool(false) => return None,
            _ => return Some(Fields::default()),
        };
        if !self.spend(at) {
            return Some(Fields::default());
        }
        let is_covered = self.document.reference(fields).is_some() && !self.document.draft.has_siblings();
        let of = fields.get("type").filter(|_| !is_covered).map(kinds).unwrap_or_default();
        if !of.is_empty() && !of.contains(&"object") {
            return None;
        }
        let mut skip = vec!["anyOf", "oneOf", "allOf"];
        skip.extend(if is_root { None } else { Some("type") });
        for name in ["enum", "const", "not"] {
            let refused = if name == "const" { "enum" } else { name };
            if self.dialect.not_at_root.contains(&refused) && fields.has(name) && !is_covered {
                skip.push(name);
                self.lost
                    .loosen(&at.pointer, &format!("{name} is left out, since it may not stand at the root"));
            }
        }
        self.depth += 1;
        let out = self.folded(at, fields, &skip, is_covered);
        self.depth -= 1;
        out
    }

    fn folded(&mut self, at: &At<'s>, fields: &'s Fields, skip: &[&str], is_covered: bool) -> Option<Fields> {
        let mut hints = Hints::default();
        let mut out = self.own(at, fields, skip, &mut hints);
        if skip.contains(&"type") {
            out.retain(|name, _| !is_plumbing(name));
        }
        let is_reference = |name: &str| matches!(name, "$ref" | "$dynamicRef" | "$recursiveRef");
        out.retain(|name, _| {
            !is_reference(name) && (!is_covered || is_annotation(name) || is_plumbing(name))
        });
        if self.document.reference(fields).is_some()
            && let Some(target) = self.enter(at, fields)
        {
            let view = self.view(&target, false);
            self.open.pop();
            out = self.join(at, out, view?)?;
        }
        if is_covered {
            return Some(out);
        }
        let parts = fields.get("allOf").and_then(Json::as_list).unwrap_or_default();
        for (index, item) in self.few(at, parts).iter().enumerate() {
            let view = self.view(&self.document.item(at, "allOf", index, item), false)?;
            out = self.join(at, out, view)?;
        }
        for name in ["anyOf", "oneOf"] {
            let Some(items) = fields.get(name).and_then(Json::as_list).filter(|items| !items.is_empty())
            else {
                continue;
            };
            let items = items.iter().enumerate();
            let views: Vec<_> = items
                .filter_map(|(index, item)| self.view(&self.document.item(at, name, index, item), false))
                .collect();
            if views.is_empty() {
                return None;
            }
            self.lost.loosen(
                &at.pointer,
                &format!("{name} may not stand at the root; it is folded into one object"),
            );
            hints.add_needs(&views.iter().cloned().map(Json::Object).collect::<Vec<_>>());
            let dialect = self.dialect;
            out = self.join(at, out, any(views, |schema| loosely(schema, dialect)))?;
        }
        hints.describe(&mut out);
        Some(out)
    }

    fn join(&mut self, at: &At<'s>, a: Fields, b: Fields) -> Option<Fields> {
        let mut given_up = GivenUp::new();
        let out = both(a, b, self.joining(false), &mut given_up);
        self.give_up(at, given_up);
        out
    }

    /// Gives names to properties that theirs is not allowed for. What speaks of properties by other means than their
    /// names is left out then.
    fn rename(&mut self, fields: &mut Fields) -> Vec<(String, String)> {
        let Some(is_property) = self.dialect.is_property else { return Vec::new() };
        let at = self.document.start();
        let Some(Json::Object(properties)) = fields.get_mut("properties") else { return Vec::new() };
        if properties.iter().all(|(name, _)| is_property(name)) {
            self.rename_required(fields, is_property, &[]);
            return Vec::new();
        }
        let mut taken: HashSet<String> = properties.iter().map(|(name, _)| name.to_owned()).collect();
        let (mut renamed, mut left_out) = (Vec::new(), false);
        let mut kept = Fields::default();
        for (name, mut schema) in std::mem::take(properties) {
            if is_property(&name) {
                kept.push(name, schema);
                continue;
            }
            let sent = property_alias(&name, is_property);
            if !taken.insert(sent.clone()) {
                self.lost.loosen(&at.pointer, &format!("the property {} is left out", quoted(&name)));
                left_out = true;
                continue;
            }
            self.lost.remark(&at.pointer, &format!("the property {} is called {sent} there", quoted(&name)));
            say_name(&mut schema, &name);
            kept.push(sent.clone(), schema);
            renamed.push((sent, name));
        }
        *properties = kept;
        if fields.take("patternProperties").is_some() || left_out {
            fields.take("additionalProperties");
        }
        for name in ["propertyNames", "dependentRequired", "dependentSchemas", "not", "if", "then", "else"] {
            if fields.take(name).is_some() {
                self.lost.loosen(
                    &at.pointer,
                    &format!("{name} is left out, since properties have other names there"),
                );
            }
        }
        self.rename_required(fields, is_property, &renamed);
        renamed
    }

    fn rename_required(
        &mut self,
        fields: &mut Fields,
        is_property: fn(&str) -> bool,
        renamed: &[(String, String)],
    ) {
        let at = self.document.start();
        let Some(Json::List(required)) = fields.get_mut("required") else { return };
        let sent_as: HashMap<&str, &str> =
            renamed.iter().map(|(sent, own)| (own.as_str(), sent.as_str())).collect();
        let mut kept = Vec::new();
        for name in std::mem::take(required) {
            let Some(own) = name.as_text() else { continue };
            match sent_as.get(own) {
                Some(sent) => kept.push(Json::text(*sent)),
                None if is_property(own) => kept.push(name),
                None => {
                    self.lost.loosen(&at.pointer, &format!("that {} must be there is not said", quoted(own)))
                }
            }
        }
        *required = kept;
    }
}

/// Whether the root has something that may not stand there.
pub(in super::super) fn must_be_folded(document: &Document<'_>, dialect: &Dialect) -> bool {
    let Some(fields) = document.start().node.as_object() else { return false };
    document.reference(fields).is_some()
        || dialect.not_at_root.iter().any(|name| fields.has(name))
        || fields.get("type").is_some_and(|of| *of != Json::text("object"))
}

/// The name of a property there.
fn property_alias(name: &str, is_property: fn(&str) -> bool) -> String {
    let sent = alias(name, MAX_PROPERTY);
    if is_property(&sent) { sent } else { sent.replace('-', "_") }
}

/// Puts a property's own name into its description.
fn say_name(schema: &mut Json, name: &str) {
    if !matches!(schema, Json::Object(_)) {
        *schema = Json::default();
    }
    if let Json::Object(fields) = schema {
        add_words(fields, &format!("called {} by the tool", quoted(name)));
    }
}

/// A schema that fits everything and says what is usual.
fn loosely(schema: Json, dialect: &Dialect) -> Json {
    let Json::Object(mut fields) = schema else { return Json::default() };
    let description = fields.take("description");
    if fields.is_empty() {
        fields.extend(
            description.map(|text| Fields::from_iter([("description".to_owned(), text)])).unwrap_or_default(),
        );
        return Json::Object(fields);
    }
    let mut out = Fields::default();
    if dialect.booleans {
        if let Some(description) = description {
            out.push("description", description);
        }
        out.push("anyOf", Json::List(vec![Json::Object(fields), Json::default()]));
        return Json::Object(out);
    }
    let usual = format!("usually fits {}", shortened(&Json::Object(fields).written(), SHOWN));
    out.extend(
        description.map(|text| Fields::from_iter([("description".to_owned(), text)])).unwrap_or_default(),
    );
    add_words(&mut out, &usual);
    Json::Object(out)
}
