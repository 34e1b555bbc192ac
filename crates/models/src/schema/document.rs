//! A schema as its author wrote it, with its references resolved inside the document. Nothing outside the document is
//! read.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::json::{OrderedFields, OrderedJson};

/// Keywords whose values are data, not schemas.
const DATA_KEYWORDS: &[&str] = &["enum", "const", "default", "examples", "example"];
/// Objects with more fields than this have an index.
const INDEX_THRESHOLD: usize = 16;
/// Maximum length of a name in a pointer, and of a pointer, in characters.
const MAX_SHOWN_CHARS: (usize, usize) = (80, 400);

/// Draft that a schema declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SchemaDraft {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl SchemaDraft {
    fn detect(root: &OrderedJson) -> Self {
        let named = root.as_object().and_then(|fields| fields.get("$schema")).and_then(OrderedJson::as_text);
        match named {
            Some(uri) if uri.contains("draft-04") || uri.contains("draft-03") => Self::Draft4,
            Some(uri) if uri.contains("draft-06") => Self::Draft6,
            Some(uri) if uri.contains("draft-07") => Self::Draft7,
            Some(uri) if uri.contains("2019-09") => Self::Draft2019,
            _ => Self::Draft2020,
        }
    }

    /// Returns true if keywords next to a reference apply.
    pub(crate) fn allows_reference_siblings(self) -> bool {
        self >= Self::Draft2019
    }

    /// Returns true if the draft has a keyword, or if no draft has it.
    pub(crate) fn has_keyword(self, keyword: &str) -> bool {
        match keyword {
            "const" | "contains" | "propertyNames" => self >= Self::Draft6,
            "if" | "then" | "else" => self >= Self::Draft7,
            "dependentRequired"
            | "dependentSchemas"
            | "minContains"
            | "maxContains"
            | "unevaluatedProperties"
            | "unevaluatedItems" => self >= Self::Draft2019,
            "prefixItems" | "$dynamicRef" => self >= Self::Draft2020,
            "$recursiveRef" => self == Self::Draft2019,
            "additionalItems" => self <= Self::Draft2019,
            "dependencies" => self <= Self::Draft7,
            _ => true,
        }
    }

    /// Returns the `$id` of a schema.
    fn id(self, fields: &OrderedFields) -> Option<&str> {
        let id =
            fields.get(if self == Self::Draft4 { "id" } else { "$id" }).and_then(OrderedJson::as_text)?;
        (!id.starts_with('#') && !id.is_empty()).then_some(id)
    }

    /// Returns the anchor names of a schema.
    fn anchors(self, fields: &OrderedFields) -> impl Iterator<Item = &str> {
        // Before draft 2019-09, an anchor was an id that consists of a fragment only.
        let old = fields.get(if self == Self::Draft4 { "id" } else { "$id" }).and_then(OrderedJson::as_text);
        let old =
            old.and_then(|id| id.strip_prefix('#')).filter(|name| !name.is_empty() && self <= Self::Draft7);
        let names = ["$anchor", "$dynamicAnchor"].map(|name| fields.get(name).and_then(OrderedJson::as_text));
        names.into_iter().flatten().chain(old)
    }
}

/// JSON pointer to a place in the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaPointer<'s>(Option<Rc<PointerLink<'s>>>);

#[derive(Debug)]
struct PointerLink<'s> {
    parent: SchemaPointer<'s>,
    token: ReferenceToken<'s>,
}

#[derive(Debug, Clone, Copy)]
enum ReferenceToken<'s> {
    Name(&'s str),
    Index(usize),
}

impl<'s> SchemaPointer<'s> {
    pub(crate) fn name(&self, name: &'s str) -> Self {
        Self(Some(Rc::new(PointerLink { parent: self.clone(), token: ReferenceToken::Name(name) })))
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        Self(Some(Rc::new(PointerLink { parent: self.clone(), token: ReferenceToken::Index(index) })))
    }
}

impl fmt::Display for SchemaPointer<'_> {
    /// Shortens long pointers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tokens = Vec::new();
        let mut at = self;
        while let Some(link) = &at.0 {
            tokens.push(link.token);
            at = &link.parent;
        }
        let mut length = 0;
        for token in tokens.into_iter().rev() {
            let token = match token {
                ReferenceToken::Index(index) => index.to_string(),
                ReferenceToken::Name(name) => {
                    truncate_chars(&name.replace('~', "~0").replace('/', "~1"), MAX_SHOWN_CHARS.0)
                }
            };
            length += token.len();
            if length > MAX_SHOWN_CHARS.1 {
                return f.write_str("/…");
            }
            write!(f, "/{token}")?;
        }
        Ok(())
    }
}

/// Truncates a text to a number of characters.
pub(crate) fn truncate_chars(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A schema in the document.
#[derive(Debug, Clone)]
pub(crate) struct SchemaLocation<'s> {
    pub(crate) node: &'s OrderedJson,
    /// Schema from which JSON pointers start: the nearest enclosing schema with an `$id`, or the root.
    base: &'s OrderedJson,
    pub(crate) pointer: SchemaPointer<'s>,
}

/// A schema as its author wrote it.
#[derive(Debug)]
pub(crate) struct ParsedSchema<'s> {
    root: &'s OrderedJson,
    pub(crate) draft: SchemaDraft,
    /// Number of values.
    pub(crate) size: usize,
    /// Approximate size in bytes.
    pub(crate) byte_size: usize,
    /// Schemas with an `$id`, by this id.
    ids: HashMap<&'s str, SchemaLocation<'s>>,
    /// Schemas with an `$id`, by its last segment; `None` if several have it.
    names: HashMap<&'s str, Option<SchemaLocation<'s>>>,
    /// Schemas with an anchor, by their base and the anchor's name; `None` if two have it.
    anchors: HashMap<(*const OrderedJson, &'s str), Option<SchemaLocation<'s>>>,
    indexes: HashMap<*const OrderedFields, HashMap<&'s str, &'s OrderedJson>>,
    /// True if every reference points into `$defs` or `definitions` of the root.
    pub(crate) has_plain_references: bool,
    /// True if the schema uses forms of earlier drafts: `items` as a list, `exclusiveMinimum` as a boolean.
    pub(crate) has_legacy_forms: bool,
}

impl<'s> ParsedSchema<'s> {
    pub(crate) fn new(root: &'s OrderedJson) -> Self {
        let mut document = Self {
            root,
            draft: SchemaDraft::detect(root),
            size: root.value_count(),
            byte_size: root.byte_size(),
            ids: HashMap::new(),
            names: HashMap::new(),
            anchors: HashMap::new(),
            indexes: HashMap::new(),
            has_plain_references: true,
            has_legacy_forms: false,
        };
        document.index_subschemas(&document.root_location());
        document
    }

    /// Returns the location of the root.
    pub(crate) fn root_location(&self) -> SchemaLocation<'s> {
        SchemaLocation { node: self.root, base: self.root, pointer: SchemaPointer::default() }
    }

    /// Returns the location of a keyword's value.
    pub(crate) fn field_location(
        &self,
        at: &SchemaLocation<'s>,
        name: &'s str,
        node: &'s OrderedJson,
    ) -> SchemaLocation<'s> {
        self.child_location(at, node, at.pointer.name(name))
    }

    /// Returns the location of an entry of a keyword's value, by name.
    pub(crate) fn entry_location(
        &self,
        at: &SchemaLocation<'s>,
        field: &'s str,
        name: &'s str,
        node: &'s OrderedJson,
    ) -> SchemaLocation<'s> {
        self.child_location(at, node, at.pointer.name(field).name(name))
    }

    /// Returns the location of an item of a keyword's value, by index.
    pub(crate) fn item_location(
        &self,
        at: &SchemaLocation<'s>,
        field: &'s str,
        index: usize,
        node: &'s OrderedJson,
    ) -> SchemaLocation<'s> {
        self.child_location(at, node, at.pointer.name(field).index(index))
    }

    fn child_location(
        &self,
        at: &SchemaLocation<'s>,
        node: &'s OrderedJson,
        pointer: SchemaPointer<'s>,
    ) -> SchemaLocation<'s> {
        let has_id = node.as_object().is_some_and(|fields| self.draft.id(fields).is_some());
        SchemaLocation { node, base: if has_id { node } else { at.base }, pointer }
    }

    fn index_subschemas(&mut self, at: &SchemaLocation<'s>) {
        match at.node {
            OrderedJson::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let inner = self.child_location(at, item, at.pointer.index(index));
                    self.index_subschemas(&inner);
                }
            }
            OrderedJson::Object(fields) => {
                self.index_object(fields, at);
                for (name, value) in fields.iter().filter(|(name, _)| !DATA_KEYWORDS.contains(name)) {
                    let inner = self.child_location(at, value, at.pointer.name(name));
                    self.index_subschemas(&inner);
                }
            }
            _ => {}
        }
    }

    fn index_object(&mut self, fields: &'s OrderedFields, at: &SchemaLocation<'s>) {
        if fields.len() > INDEX_THRESHOLD {
            self.indexes.insert(std::ptr::from_ref(fields), fields.index());
        }
        if let Some(id) = self.draft.id(fields) {
            let id = id.trim_end_matches('#');
            self.ids.entry(id).or_insert_with(|| at.clone());
            let name = self.names.entry(last_part(id));
            name.and_modify(|other| *other = None).or_insert_with(|| Some(at.clone()));
            self.has_plain_references &= std::ptr::eq(at.node, self.root);
        }
        self.has_legacy_forms |= matches!(fields.get("items"), Some(OrderedJson::List(_)));
        let mut bounds = ["exclusiveMinimum", "exclusiveMaximum"].into_iter();
        self.has_legacy_forms |= bounds.any(|bound| matches!(fields.get(bound), Some(OrderedJson::Bool(_))));
        for name in self.draft.anchors(fields) {
            let place = self.anchors.entry((std::ptr::from_ref(at.base), name));
            place.and_modify(|other| *other = None).or_insert_with(|| Some(at.clone()));
        }
        if let Some(reference) = self.reference(fields) {
            let is_plain = ["#/$defs/", "#/definitions/"].iter().any(|place| reference.starts_with(place));
            self.has_plain_references &= is_plain;
        }
    }

    /// Returns the reference of a schema.
    pub(crate) fn reference(&self, fields: &'s OrderedFields) -> Option<&'s str> {
        let mut words = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter();
        let word = words.find(|word| fields.has(word) && self.draft.has_keyword(word))?;
        fields.get(word).and_then(OrderedJson::as_text)
    }

    /// Resolves a reference; `None` if it points outside the document or is ambiguous.
    pub(crate) fn resolve(&self, reference: &str, from: &SchemaLocation<'s>) -> Option<SchemaLocation<'s>> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let start = if uri.is_empty() { self.base_location(from)? } else { self.find_by_id(uri)? };
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() {
            return Some(start);
        }
        match fragment.strip_prefix('/') {
            Some(pointer) => self.resolve_pointer(start, pointer),
            None => self.anchors.get(&(std::ptr::from_ref(start.node), fragment.as_str())).cloned().flatten(),
        }
    }

    fn base_location(&self, from: &SchemaLocation<'s>) -> Option<SchemaLocation<'s>> {
        if std::ptr::eq(from.base, self.root) {
            return Some(self.root_location());
        }
        let id = from.base.as_object().and_then(|fields| self.draft.id(fields))?;
        self.ids.get(id.trim_end_matches('#')).filter(|at| std::ptr::eq(at.node, from.base)).cloned()
    }

    /// Finds a schema by its `$id`, or by the last segment of its `$id` if that is unique.
    fn find_by_id(&self, uri: &str) -> Option<SchemaLocation<'s>> {
        match self.ids.get(uri) {
            Some(at) => Some(at.clone()),
            None => self.names.get(last_part(uri)).cloned().flatten(),
        }
    }

    fn resolve_pointer(&self, start: SchemaLocation<'s>, pointer: &str) -> Option<SchemaLocation<'s>> {
        let mut at = start;
        for token in pointer.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            at = match at.node {
                OrderedJson::Object(fields) => {
                    let (name, node) = self.find_field(fields, &token)?;
                    self.field_location(&at, name, node)
                }
                OrderedJson::List(items) => {
                    let index = token.parse().ok()?;
                    self.child_location(&at, items.get(index)?, at.pointer.index(index))
                }
                _ => return None,
            };
        }
        Some(at)
    }

    fn find_field(&self, fields: &'s OrderedFields, name: &str) -> Option<(&'s str, &'s OrderedJson)> {
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
