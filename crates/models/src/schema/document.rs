//! A schema as its author wrote it, and where the references in it lead. Nothing outside it is ever looked at.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::json::{Fields, Json};

/// Keywords whose values are data, not schemas.
const DATA: &[&str] = &["enum", "const", "default", "examples", "example"];
/// Objects with more fields than this have an index.
const SMALL: usize = 16;
/// How much of a name is shown in a pointer, and how much of a pointer.
const SHOWN: (usize, usize) = (80, 400);

/// The draft that a schema says it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    Four,
    Six,
    Seven,
    Nineteen,
    Twenty,
}

impl Draft {
    fn of(root: &Json) -> Self {
        let named = root.as_object().and_then(|fields| fields.get("$schema")).and_then(Json::as_text);
        match named {
            Some(uri) if uri.contains("draft-04") || uri.contains("draft-03") => Self::Four,
            Some(uri) if uri.contains("draft-06") => Self::Six,
            Some(uri) if uri.contains("draft-07") => Self::Seven,
            Some(uri) if uri.contains("2019-09") => Self::Nineteen,
            _ => Self::Twenty,
        }
    }

    /// Whether what stands beside a reference counts.
    pub(crate) fn has_siblings(self) -> bool {
        self >= Self::Nineteen
    }

    /// Whether a keyword means something in it. Of a keyword that is no draft's it says yes.
    pub(crate) fn knows(self, keyword: &str) -> bool {
        match keyword {
            "const" | "contains" | "propertyNames" => self >= Self::Six,
            "if" | "then" | "else" => self >= Self::Seven,
            "dependentRequired"
            | "dependentSchemas"
            | "minContains"
            | "maxContains"
            | "unevaluatedProperties"
            | "unevaluatedItems" => self >= Self::Nineteen,
            "prefixItems" | "$dynamicRef" => self >= Self::Twenty,
            "$recursiveRef" => self == Self::Nineteen,
            "additionalItems" => self <= Self::Nineteen,
            "dependencies" => self <= Self::Seven,
            _ => true,
        }
    }

    /// The id of a schema that has one of its own.
    fn id(self, fields: &Fields) -> Option<&str> {
        let id = fields.get(if self == Self::Four { "id" } else { "$id" }).and_then(Json::as_text)?;
        (!id.starts_with('#') && !id.is_empty()).then_some(id)
    }

    /// The names that a schema has as an anchor.
    fn anchors(self, fields: &Fields) -> impl Iterator<Item = &str> {
        // Before draft 2019-09 an anchor was an id that is nothing but a fragment.
        let old = fields.get(if self == Self::Four { "id" } else { "$id" }).and_then(Json::as_text);
        let old =
            old.and_then(|id| id.strip_prefix('#')).filter(|name| !name.is_empty() && self <= Self::Seven);
        let names = ["$anchor", "$dynamicAnchor"].map(|name| fields.get(name).and_then(Json::as_text));
        names.into_iter().flatten().chain(old)
    }
}

/// Where something stands in the document: a JSON pointer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pointer<'s>(Option<Rc<Link<'s>>>);

#[derive(Debug)]
struct Link<'s> {
    before: Pointer<'s>,
    token: Token<'s>,
}

#[derive(Debug, Clone, Copy)]
enum Token<'s> {
    Name(&'s str),
    Index(usize),
}

impl<'s> Pointer<'s> {
    pub(crate) fn name(&self, name: &'s str) -> Self {
        Self(Some(Rc::new(Link { before: self.clone(), token: Token::Name(name) })))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        Self(Some(Rc::new(Link { before: self.clone(), token: Token::Index(index) })))
    }
}

impl fmt::Display for Pointer<'_> {
    /// Shortened where it is of no use to anybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tokens = Vec::new();
        let mut at = self;
        while let Some(link) = &at.0 {
            tokens.push(link.token);
            at = &link.before;
        }
        let mut length = 0;
        for token in tokens.into_iter().rev() {
            let token = match token {
                Token::Index(index) => index.to_string(),
                Token::Name(name) => shortened(&name.replace('~', "~0").replace('/', "~1"), SHOWN.0),
            };
            length += token.len();
            if length > SHOWN.1 {
                return f.write_str("/…");
            }
            write!(f, "/{token}")?;
        }
        Ok(())
    }
}

/// At most so many characters of a text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A schema in the document.
#[derive(Debug, Clone)]
pub(crate) struct At<'s> {
    pub(crate) node: &'s Json,
    /// What pointers in it start from: the nearest schema around it with an `$id`, or the root.
    base: &'s Json,
    pub(crate) pointer: Pointer<'s>,
}

/// A schema as its author wrote it.
#[derive(Debug)]
pub(crate) struct Document<'s> {
    root: &'s Json,
    pub(crate) draft: Draft,
    /// How many values it is made of.
    pub(crate) size: usize,
    /// About how many bytes it has.
    pub(crate) weight: usize,
    /// Schemas with an `$id`, by it.
    ids: HashMap<&'s str, At<'s>>,
    /// The same by the last part of it; none where several have it.
    names: HashMap<&'s str, Option<At<'s>>>,
    /// Schemas with an anchor, by what pointers there start from and its name; none where there are two.
    anchors: HashMap<(*const Json, &'s str), Option<At<'s>>>,
    indexes: HashMap<*const Fields, HashMap<&'s str, &'s Json>>,
    /// Whether every reference leads into `$defs` or `definitions` of the root.
    pub(crate) has_plain_references: bool,
    /// Whether something is said as earlier drafts did: `items` as a list, `exclusiveMinimum` as true or false.
    pub(crate) has_old_forms: bool,
}

impl<'s> Document<'s> {
    pub(crate) fn new(root: &'s Json) -> Self {
        let mut document = Self {
            root,
            draft: Draft::of(root),
            size: root.size(),
            weight: root.weight(),
            ids: HashMap::new(),
            names: HashMap::new(),
            anchors: HashMap::new(),
            indexes: HashMap::new(),
            has_plain_references: true,
            has_old_forms: false,
        };
        document.look_at(&document.start());
        document
    }

    /// The root.
    pub(crate) fn start(&self) -> At<'s> {
        At { node: self.root, base: self.root, pointer: Pointer::default() }
    }

    /// The value of a field of a schema.
    pub(crate) fn field(&self, at: &At<'s>, name: &'s str, node: &'s Json) -> At<'s> {
        self.inner(at, node, at.pointer.name(name))
    }

    /// A value in a field of a schema that holds several, by name.
    pub(crate) fn entry(&self, at: &At<'s>, field: &'s str, name: &'s str, node: &'s Json) -> At<'s> {
        self.inner(at, node, at.pointer.name(field).name(name))
    }

    /// A value in a field of a schema that holds several, in order.
    pub(crate) fn item(&self, at: &At<'s>, field: &'s str, index: usize, node: &'s Json) -> At<'s> {
        self.inner(at, node, at.pointer.name(field).index(index))
    }

    fn inner(&self, at: &At<'s>, node: &'s Json, pointer: Pointer<'s>) -> At<'s> {
        let has_id = node.as_object().is_some_and(|fields| self.draft.id(fields).is_some());
        At { node, base: if has_id { node } else { at.base }, pointer }
    }

    fn look_at(&mut self, at: &At<'s>) {
        match at.node {
            Json::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let inner = self.inner(at, item, at.pointer.index(index));
                    self.look_at(&inner);
                }
            }
            Json::Object(fields) => {
                self.remember(fields, at);
                for (name, value) in fields.iter().filter(|(name, _)| !DATA.contains(name)) {
                    let inner = self.inner(at, value, at.pointer.name(name));
                    self.look_at(&inner);
                }
            }
            _ => {}
        }
    }

    fn remember(&mut self, fields: &'s Fields, at: &At<'s>) {
        if fields.len() > SMALL {
            self.indexes.insert(std::ptr::from_ref(fields), fields.index());
        }
        if let Some(id) = self.draft.id(fields) {
            let id = id.trim_end_matches('#');
            self.ids.entry(id).or_insert_with(|| at.clone());
            let name = self.names.entry(last_part(id));
            name.and_modify(|other| *other = None).or_insert_with(|| Some(at.clone()));
            self.has_plain_references &= std::ptr::eq(at.node, self.root);
        }
        self.has_old_forms |= matches!(fields.get("items"), Some(Json::List(_)));
        let mut bounds = ["exclusiveMinimum", "exclusiveMaximum"].into_iter();
        self.has_old_forms |= bounds.any(|bound| matches!(fields.get(bound), Some(Json::Bool(_))));
        for name in self.draft.anchors(fields) {
            let place = self.anchors.entry((std::ptr::from_ref(at.base), name));
            place.and_modify(|other| *other = None).or_insert_with(|| Some(at.clone()));
        }
        if let Some(reference) = self.reference(fields) {
            let is_plain = ["#/$defs/", "#/definitions/"].iter().any(|place| reference.starts_with(place));
            self.has_plain_references &= is_plain;
        }
    }

    /// The reference that a schema has.
    pub(crate) fn reference(&self, fields: &'s Fields) -> Option<&'s str> {
        let mut words = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter();
        let word = words.find(|word| fields.has(word) && self.draft.knows(word))?;
        fields.get(word).and_then(Json::as_text)
    }

    /// Where a reference leads; none where that is outside, or unclear.
    pub(crate) fn resolve(&self, reference: &str, from: &At<'s>) -> Option<At<'s>> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let start = if uri.is_empty() { self.at_base(from)? } else { self.by_id(uri)? };
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() {
            return Some(start);
        }
        match fragment.strip_prefix('/') {
            Some(pointer) => self.walk(start, pointer),
            None => self.anchors.get(&(std::ptr::from_ref(start.node), fragment.as_str())).cloned().flatten(),
        }
    }

    fn at_base(&self, from: &At<'s>) -> Option<At<'s>> {
        if std::ptr::eq(from.base, self.root) {
            return Some(self.start());
        }
        let id = from.base.as_object().and_then(|fields| self.draft.id(fields))?;
        self.ids.get(id.trim_end_matches('#')).filter(|at| std::ptr::eq(at.node, from.base)).cloned()
    }

    /// By the whole id, or by its last part where only one has that.
    fn by_id(&self, uri: &str) -> Option<At<'s>> {
        match self.ids.get(uri) {
            Some(at) => Some(at.clone()),
            None => self.names.get(last_part(uri)).cloned().flatten(),
        }
    }

    fn walk(&self, start: At<'s>, pointer: &str) -> Option<At<'s>> {
        let mut at = start;
        for token in pointer.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            at = match at.node {
                Json::Object(fields) => {
                    let (name, node) = self.named(fields, &token)?;
                    self.field(&at, name, node)
                }
                Json::List(items) => {
                    let index = token.parse().ok()?;
                    self.inner(&at, items.get(index)?, at.pointer.index(index))
                }
                _ => return None,
            };
        }
        Some(at)
    }

    fn named(&self, fields: &'s Fields, name: &str) -> Option<(&'s str, &'s Json)> {
        match self.indexes.get(&std::ptr::from_ref(fields)) {
            Some(index) => index.get_key_value(name).map(|(name, node)| (*name, *node)),
            None => fields.iter().find(|(of, _)| *of == name),
        }
    }
}

fn last_part(uri: &str) -> &str {
    uri.rsplit(['/', ':']).next().unwrap_or(uri)
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let code = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        rest = after.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
