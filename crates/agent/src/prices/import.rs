//! Taking over a table from elsewhere: one of our own form, or the file that LiteLLM keeps.

use std::path::Path;

use toolway_types::JsonObject;

use super::file::MAX_PRICES;
use super::{PriceTable, litellm, parse};
use crate::files::FileProblem;

/// A table that was taken over.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceImport {
    /// The table.
    pub table: PriceTable,
    /// The omitted entries and the reasons, one line each.
    pub notes: Vec<String>,
}

/// Why nothing was taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriceImportError {
    /// It is neither the one nor the other.
    #[error("{name} is neither a price table (TOML) nor LiteLLM's price file (JSON)")]
    Unknown {
        /// The file.
        name: String,
    },
    /// It is a table of prices, and something is wrong in it.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Problems(Vec<FileProblem>),
    /// It is too much.
    #[error("{name} has {count} prices; the maximum is {MAX_PRICES}")]
    TooMany {
        /// The file.
        name: String,
        /// Number of prices.
        count: usize,
    },
}

/// Takes over a table: the text of `path`, in our own form or in LiteLLM's. Prices that don't say where they are from
/// get `source` (the file's name, an address), and `date` for when they were read there.
///
/// LiteLLM's names of providers become names of model providers: its `openai/…` is what costs are found by where the
/// owner's model provider is called `openai`.
///
/// # Errors
/// [`ImportError`]; then there is nothing to be written.
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
