//! Values that are listed, and types that are mixed.

use super::super::combine::{GivenUp, Joining, both, kinds};
use super::super::document::At;
use super::super::json::{Fields, Json, is_whole};
use super::Converter;

/// Types and the keywords that are about values of them.
const OF_TYPES: &[(&str, &[&str])] = &[
    ("string", &["enum", "format"]),
    ("integer", &["minimum", "maximum"]),
    ("number", &["minimum", "maximum"]),
    ("boolean", &[]),
    ("array", &["items", "prefixItems", "minItems", "maxItems"]),
    ("object", &["properties", "required", "additionalProperties"]),
    ("null", &[]),
];

impl<'s> Converter<'s> {
    /// `enum`, and `const` as one.
    pub(super) fn values(&mut self, at: &At<'s>, values: &'s [Json], fields: &'s Fields, out: &mut Fields) {
        let of = fields.get("type").map(kinds).unwrap_or_default();
        let fits = |value: &&Json| {
            of.is_empty()
                || of.contains(&value.kind())
                || (value.kind() == "integer" && of.contains(&"number"))
        };
        let said = if self.dialect.mixes_types {
            let mut said = Fields::default();
            said.push("enum", Json::List(values.to_vec()));
            said
        } else {
            self.separate_values(at, values.iter().filter(fits).collect())
        };
        if values.is_empty() {
            self.lost.loosen(&at.pointer, "that nothing fits here is not said");
            return;
        }
        match both(out.clone(), said, Joining::PLAINLY, &mut GivenUp::new()) {
            Some(joined) => *out = joined,
            None => self.lost.loosen(&at.pointer, "that nothing fits here is not said"),
        }
    }

    /// Values by their types.
    fn separate_values(&mut self, at: &At<'s>, values: Vec<&Json>) -> Fields {
        let mut alternatives = Vec::new();
        for (kind, _) in OF_TYPES {
            let is_of = |value: &&Json| match *kind {
                "integer" => false,
                "number" => matches!(value, Json::Number(_)),
                kind => value.kind() == kind,
            };
            let of: Vec<Json> = values.iter().copied().filter(is_of).cloned().collect();
            if of.is_empty() {
                continue;
            }
            let mut alternative = Fields::default();
            match *kind {
                "string" => {
                    alternative.push("type", Json::text("string"));
                    alternative.push("enum", Json::List(of));
                }
                "number" => {
                    let whole =
                        of.iter().all(|value| matches!(value, Json::Number(number) if is_whole(number)));
                    alternative.push("type", Json::text(if whole { "integer" } else { "number" }));
                    alternative.push("enum", Json::List(of));
                }
                kind => {
                    alternative.push("type", Json::text(kind));
                    let is_every_one = match kind {
                        "null" => true,
                        "boolean" => of.contains(&Json::Bool(true)) && of.contains(&Json::Bool(false)),
                        _ => false,
                    };
                    if !is_every_one {
                        self.lost.loosen(&at.pointer, &format!("which {kind} it must be is not said"));
                    }
                }
            }
            alternatives.push(alternative);
        }
        let mut out = Fields::default();
        match alternatives.len() {
            0 => {}
            1 => out.extend(alternatives.remove(0)),
            _ => out.push("anyOf", Json::List(alternatives.into_iter().map(Json::Object).collect())),
        }
        out
    }

    /// Several types as so many alternatives, each with the keywords that are about it; `null` may stand beside one.
    pub(super) fn separate_types(&mut self, at: &At<'s>, out: &mut Fields) {
        let Some(of @ Json::List(_)) = out.get("type") else { return };
        let of: Vec<&'static str> =
            OF_TYPES.iter().map(|(kind, _)| *kind).filter(|kind| kinds(of).contains(kind)).collect();
        match of.as_slice() {
            [] => {
                out.take("type");
            }
            [one] => out.put("type", Json::text(*one)),
            [one, "null"] => out.put("type", Json::List(vec![Json::text(*one), Json::text("null")])),
            _ if out.has("anyOf") => {
                let has_one = |schema: &Json| {
                    schema
                        .as_object()
                        .and_then(|fields| fields.get("type"))
                        .is_some_and(|of| kinds(of).len() == 1)
                };
                if !out.get("anyOf").and_then(Json::as_list).is_some_and(|all| all.iter().all(has_one)) {
                    out.take("type");
                    self.lost.loosen(&at.pointer, "type is left out beside anyOf");
                }
            }
            several => {
                let mut alternatives = Vec::new();
                for (kind, keywords) in OF_TYPES.iter().filter(|(kind, _)| several.contains(kind)) {
                    let mut alternative = Fields::default();
                    alternative.push("type", Json::text(*kind));
                    for (name, value) in out.iter().filter(|(name, _)| keywords.contains(name)) {
                        alternative.push(name, value.clone());
                    }
                    alternatives.push(Json::Object(alternative));
                }
                out.retain(|name, _| {
                    name != "type" && !OF_TYPES.iter().any(|(_, keywords)| keywords.contains(&name))
                });
                out.push("anyOf", Json::List(alternatives));
            }
        }
    }
}
