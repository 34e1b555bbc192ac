//! Prices of models: a table that the owner writes or imports into the file `prices.toml`. Toolway includes
//! no prices and never estimates costs: the cost of a request is unknown if a number of tokens or a price is
//! missing.
//!
//! ```toml
//! currency = "USD"
//!
//! [[price]]
//! model = "openai/gpt-*"      # pattern for NAME/ID; the first matching price applies
//! input = 1.25                # each per million tokens
//! cached = 0.125              # read from the provider's cache; default: the value of input
//! cache_written = 1.25        # written to the cache; same default
//! output = 10.0               # thinking included
//! up_to_input_tokens = 200000        # only for requests that read at most so many tokens
//! context_window = 400000     # how many the model can read
//! source = "https://…"
//! date = "2026-11-01"
//! ```

mod catalog;
mod file;
mod import;
mod litellm;
mod pattern;

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_models::ModelUsage;

use toolway_files::owner_file::FileProblem;

pub use catalog::PriceCatalog;
pub use import::{PriceImport, PriceImportError, import};

/// Tokens that a price is for.
const TOKENS_PER_PRICE: f64 = 1_000_000.0;

/// Prices of the models that match a pattern, in the table's currency per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// A pattern over `NAME/ID`: `*` is any text, `?` any character.
    pub model: String,
    /// Input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<f64>,
    /// Output tokens, including thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<f64>,
    /// Tokens read from the provider's cache; like `input` if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Tokens written into the provider's cache; like `input` if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_written: Option<f64>,
    /// Maximum number of input tokens of requests with this price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_input_tokens: Option<u64>,
    /// Context size of these models in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Source of the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Date of the price at its source, for example `2026-11-01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The amount.
    pub amount: f64,
    /// Currency of the amount.
    pub currency: Arc<str>,
}

/// A table of prices.
#[derive(Debug, Clone, PartialEq)]
pub struct PriceTable {
    currency: Arc<str>,
    prices: Vec<Price>,
}

impl Default for PriceTable {
    /// Creates a table without prices.
    fn default() -> Self {
        Self { currency: "USD".into(), prices: Vec::new() }
    }
}

/// Parses a table. `path` is used only in problems.
///
/// # Errors
/// All problems of the table.
pub fn parse(text: &str, path: &Path) -> Result<PriceTable, Vec<FileProblem>> {
    file::parse(text, path)
}

impl PriceTable {
    /// Creates a table. The first price that matches a model wins.
    #[must_use]
    pub fn new(currency: &str, prices: Vec<Price>) -> Self {
        Self { currency: currency.into(), prices }
    }

    /// Returns the currency of all prices, three capital letters.
    #[must_use]
    pub fn currency(&self) -> &Arc<str> {
        &self.currency
    }

    /// Returns the prices in order.
    #[must_use]
    pub fn prices(&self) -> &[Price] {
        &self.prices
    }

    /// Returns the cost of a request to a model (`NAME/ID`). `None` if a price or a number of tokens is not
    /// known.
    #[must_use]
    pub fn cost(&self, model: &str, usage: &ModelUsage) -> Option<Cost> {
        let (input, output) = (usage.input?, usage.output?);
        let within = |price: &&Price| price.up_to_input_tokens.is_none_or(|most| input <= most);
        let price = self.matching(model).find(within)?;
        // A count that is not reported counts as 0; these tokens are part of the input then, at the input's
        // price.
        let cached = usage.cached.unwrap_or(0).min(input);
        let written = usage.cache_written.unwrap_or(0).min(input - cached);
        let amount = token_cost(input - cached - written, price.input)?
            + token_cost(cached, price.cached.or(price.input))?
            + token_cost(written, price.cache_written.or(price.input))?
            + token_cost(output, price.output)?;
        Some(Cost { amount, currency: Arc::clone(&self.currency) })
    }

    /// Returns the context size of a model (`NAME/ID`) in tokens, if it is in the table.
    #[must_use]
    pub fn context_window(&self, model: &str) -> Option<u64> {
        self.matching(model).find_map(|price| price.context_window)
    }

    /// Formats the table as a file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        file::write(self)
    }

    /// Returns the prices that match a model, in order.
    fn matching(&self, model: &str) -> impl Iterator<Item = &Price> {
        self.prices.iter().filter(move |price| pattern::matches(&price.model, model))
    }
}

#[allow(clippy::cast_precision_loss, reason = "no request has so many tokens")]
fn token_cost(count: u64, price: Option<f64>) -> Option<f64> {
    if count == 0 { Some(0.0) } else { price.map(|price| count as f64 * price / TOKENS_PER_PRICE) }
}

#[cfg(test)]
mod tests;
