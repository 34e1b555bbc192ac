//! Imports a price table in Toolway's format or in LiteLLM's.

use std::path::Path;

use toolway_types::JsonObject;

use super::file::MAX_PRICES;
use super::{PriceTable, litellm, parse};
use toolway_files::owner_file::FileProblem;

/// An imported table.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceImport {
    /// The table.
    pub table: PriceTable,
    /// The omitted entries and the reasons, one line each.
    pub notes: Vec<String>,
}

/// Reason why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriceImportError {
    /// The file has neither format.
    #[error("{name} is neither a price table (TOML) nor LiteLLM's price file (JSON)")]
    Unknown {
        /// Name of the file.
        name: String,
    },
    /// The file is a price table with problems.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Problems(Vec<FileProblem>),
    /// The file has too many prices.
    #[error("{name} has {count} prices; the maximum is {MAX_PRICES}")]
    TooMany {
        /// Name of the file.
        name: String,
        /// Number of prices.
        count: usize,
    },
}

/// Imports a table: the text of `path`, in Toolway's format or in LiteLLM's. Prices without a source get
/// `source` (the file's name or a URL) and `date`, the date of the import.
///
/// LiteLLM's provider names become names of model providers: prices of its `openai/…` apply if the owner's
/// model provider is called `openai`.
///
/// # Errors
/// [`PriceImportError`] if nothing can be imported.
pub fn import(text: &str, path: &Path, source: &str, date: &str) -> Result<PriceImport, PriceImportError> {
    let name = path.display().to_string();
    let found = if text.trim_start().starts_with('{') {
        let json: Option<JsonObject> = serde_json::from_str(text).ok();
        let file = json
            .filter(litellm::is_litellm_file)
            .ok_or_else(|| PriceImportError::Unknown { name: name.clone() })?;
        let found = litellm::read(&file, source, date);
        PriceImport { table: PriceTable::new("USD", found.prices), notes: found.notes }
    } else {
        let mut table = parse(text, path).map_err(PriceImportError::Problems)?;
        for price in &mut table.prices {
            price.source.get_or_insert_with(|| source.to_owned());
            price.date.get_or_insert_with(|| date.to_owned());
        }
        PriceImport { table, notes: Vec::new() }
    };
    let count = found.table.prices.len();
    match count {
        0 => Err(PriceImportError::Unknown { name }),
        _ if count > MAX_PRICES => Err(PriceImportError::TooMany { name, count }),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests;
