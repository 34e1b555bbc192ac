//! Arguments as a provider's form of a tool has them, and as the tool itself does.

use toolway_types::RawJson;

use super::{parse_schema, remove_filler_nulls};
use crate::raw_fields::rename_fields;

/// How arguments that fit a converted schema become arguments of the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArgumentMapping {
    /// Whether properties that are optional are null where they are not meant to be there.
    pub is_strict: bool,
    /// Properties of the root that have another name there: that name, and their own.
    pub renamed: Vec<(String, String)>,
}

impl ArgumentMapping {
    /// The tool's own arguments, where they are another text than what the model wrote.
    pub(crate) fn restore(&self, parameters: Option<&RawJson>, arguments: &str) -> Option<String> {
        let named = if self.renamed.is_empty() { None } else { self.rename_to_original(arguments) };
        if !self.is_strict {
            return named;
        }
        let schema = parse_schema(parameters?).ok()?;
        remove_filler_nulls(&schema, named.as_deref().unwrap_or(arguments)).or(named)
    }

    fn rename_to_original(&self, arguments: &str) -> Option<String> {
        rename_fields(arguments, |name| {
            let found = self.renamed.iter().find(|(sent, _)| sent == name);
            found.map(|(_, own)| own.clone())
        })
    }
}
