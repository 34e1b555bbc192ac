//! Converts a schema to a provider's dialect. The converted schema accepts every value that the original accepts.
//! It may accept more, because arguments are validated against the original anyway.

use super::dialect::{KeywordValueKind, SchemaDialect, keyword_value_kind};
use super::document::{ParsedSchema, SchemaLocation, truncate_chars};
use super::hint::DescriptionHints;
use super::json::{OrderedFields, OrderedJson};
use super::notes::ConversionNotes;

mod alternatives;
mod bounds;
mod dialect_fixes;
mod intersection;
mod keywords;
mod references;
mod root;
mod values;

pub(super) use root::must_be_folded;

/// Maximum number of nested inlined schemas.
const MAX_DEPTH: usize = 32;
/// Maximum number of schemas that inlining references may add to the original.
const MAX_EXTRA_SCHEMAS: usize = 4_000;
/// Approximate number of bytes that inlining references may add to the original.
const MAX_EXTRA_BYTES: usize = 256 * 1024;
/// Limits for inlining, from the loosest to the tightest: how often a schema may be nested in itself, and how many
/// references may follow each other. The first pair with a small enough result is used.
const EXPANSION_LIMITS: &[(usize, usize)] = &[(2, 12), (1, 8), (1, 4), (1, 2), (1, 1)];

/// Converter of one schema to a dialect.
pub(super) struct SchemaConverter<'s> {
    document: &'s ParsedSchema<'s>,
    dialect: &'static SchemaDialect,
    pub(super) notes: ConversionNotes,
    /// See [`EXPANSION_LIMITS`].
    rounds: usize,
    references: usize,
    /// Remaining budget: number of schemas, and approximate number of bytes.
    remaining_schemas: usize,
    remaining_bytes: usize,
    is_too_large: bool,
    /// Targets of the references on the path from the root to here.
    open_references: Vec<*const OrderedJson>,
    depth: usize,
}

impl<'s> SchemaConverter<'s> {
    fn new(
        document: &'s ParsedSchema<'s>,
        dialect: &'static SchemaDialect,
        (rounds, references): (usize, usize),
    ) -> Self {
        Self {
            document,
            dialect,
            notes: ConversionNotes::default(),
            rounds,
            references,
            remaining_schemas: document.size + MAX_EXTRA_SCHEMAS,
            remaining_bytes: document.byte_size + MAX_EXTRA_BYTES,
            is_too_large: false,
            open_references: vec![std::ptr::from_ref(document.root_location().node)],
            depth: 0,
        }
    }

    /// Converts with the loosest limits for inlining whose result is small enough.
    pub(super) fn try_limits<T>(
        document: &'s ParsedSchema<'s>,
        dialect: &'static SchemaDialect,
        work: impl Fn(&mut Self) -> T,
    ) -> (T, ConversionNotes) {
        let mut limits = EXPANSION_LIMITS.iter();
        loop {
            let limit = limits.next().copied().unwrap_or((1, 1));
            let mut converter = Self::new(document, dialect, limit);
            let out = work(&mut converter);
            if !converter.is_too_large || limits.len() == 0 {
                return (out, converter.notes);
            }
        }
    }

    /// Converts a schema that is not the root of parameters.
    pub(super) fn schema(&mut self, at: &SchemaLocation<'s>) -> OrderedJson {
        match at.node {
            OrderedJson::Bool(accepts) if self.dialect.allows_boolean_schemas => OrderedJson::Bool(*accepts),
            OrderedJson::Bool(true) => OrderedJson::default(),
            OrderedJson::Bool(false) => {
                self.notes
                    .add_loosening(&at.pointer, "no value is valid here, but the sent schema accepts any");
                OrderedJson::default()
            }
            OrderedJson::Object(fields) if self.use_budget(at) => {
                self.depth += 1;
                let out = self.object(at, fields);
                self.depth -= 1;
                OrderedJson::Object(out)
            }
            OrderedJson::Object(_) => self.outline(at),
            _ => {
                self.notes.add_note(&at.pointer, "it is not a schema and is left out");
                OrderedJson::default()
            }
        }
    }

    fn use_budget(&mut self, at: &SchemaLocation<'s>) -> bool {
        let bytes =
            if self.remaining_schemas == 0 { 0 } else { at.node.as_object().map_or(0, own_byte_size) };
        if self.remaining_schemas == 0 || self.remaining_bytes < bytes {
            self.is_too_large = true;
            self.remaining_schemas = 0;
            self.notes.add_loosening(
                &at.pointer,
                "the schema is too large with its references inlined; this part is truncated",
            );
            return false;
        }
        self.remaining_schemas -= 1;
        self.remaining_bytes -= bytes;
        if self.dialect.inlines_references && self.depth >= MAX_DEPTH {
            self.notes.add_loosening(&at.pointer, "the schema is nested too deeply; this part is truncated");
            return false;
        }
        true
    }

    fn object(&mut self, at: &SchemaLocation<'s>, fields: &'s OrderedFields) -> OrderedFields {
        let mut hints = DescriptionHints::default();
        let mut out = self.own_keywords(at, fields, &[], &mut hints);
        if self.dialect.inlines_references && self.document.reference(fields).is_some() {
            out = self.with_reference(at, fields, out);
        }
        if !self.dialect.has_all_of {
            out = self.with_all_of(at, fields, out);
        }
        if self.dialect.needs_lone_any_of {
            out = self.with_any_of_alone(at, out, &mut hints);
        }
        self.describe(&mut out, hints);
        out
    }

    fn describe(&self, out: &mut OrderedFields, hints: DescriptionHints) {
        if self.dialect.keywords.is_some() {
            hints.describe(out);
        }
    }
}

/// Returns the approximate size of a schema in bytes, without the schemas in it.
fn own_byte_size(fields: &OrderedFields) -> usize {
    let of = |(name, value): (&str, &OrderedJson)| match (keyword_value_kind(name), value) {
        (KeywordValueKind::Data, _) => value.byte_size(),
        (_, OrderedJson::Object(inner)) if keyword_value_kind(name) == KeywordValueKind::Map => {
            inner.iter().map(|(name, _)| name.len() + 8).sum()
        }
        (_, OrderedJson::List(items)) => 4 * items.len(),
        _ => 4,
    };
    fields.iter().map(|field| field.0.len() + 4 + of(field)).sum()
}

fn quoted(text: &str) -> String {
    format!("{:?}", truncate_chars(text, 60))
}
