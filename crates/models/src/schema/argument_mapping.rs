//! Conversion of arguments from a provider's form of a tool to the tool's own form.

use toolway_types::RawJson;

use super::{parse_schema, remove_filler_nulls};
use crate::raw_fields::rename_fields;

/// Conversion of arguments that match a converted schema to arguments of the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArgumentMapping {
    /// In strict form, null stands for an optional property that is absent.
    pub is_strict: bool,
    /// Renamed properties of the root: the name in the converted schema, and the original name.
    pub renamed: Vec<(String, String)>,
}

impl ArgumentMapping {
    /// Returns the tool's own arguments if they differ from the text that the model wrote.
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
