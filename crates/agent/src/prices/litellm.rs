//! Imports prices from LiteLLM's JSON file (`model_prices_and_context_window.json`): one object per model,
//! with prices per token in US dollars. Only prices that can be represented exactly are imported; the others
//! are reported.

use serde::Deserialize;
use serde_json::Value;
use toolway_types::JsonObject;

use super::{Price, TOKENS_PER_PRICE};

/// Kinds of models for conversations.
const MODES: &[&str] = &["chat", "responses"];
/// Entry that documents the format.
const SAMPLE_ENTRY: &str = "sample_spec";

/// Content of the file.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LiteLlmPrices {
    pub(super) prices: Vec<Price>,
    /// The omitted entries and the reasons.
    pub(super) notes: Vec<String>,
}

/// The relevant fields of an entry.
#[derive(Deserialize)]
struct LiteLlmEntry {
    litellm_provider: Option<String>,
    mode: Option<String>,
    max_input_tokens: Option<Value>,
}

/// Returns whether a file looks like LiteLLM's price list.
pub(super) fn is_litellm_file(file: &JsonObject) -> bool {
    file.values().any(|entry| entry.get("litellm_provider").is_some())
}

/// Imports all representable prices.
pub(super) fn read(file: &JsonObject, source: &str, date: &str) -> LiteLlmPrices {
    let mut found = LiteLlmPrices::default();
    for (key, entry) in file.iter().filter(|(key, _)| *key != SAMPLE_ENTRY) {
        let Some(fields) = entry.as_object() else {
            found.notes.push(format!("{key}: not an object"));
            continue;
        };
        let Ok(LiteLlmEntry { litellm_provider, mode, max_input_tokens }) = LiteLlmEntry::deserialize(entry)
        else {
            found.notes.push(format!("{key}: its provider or its mode is not a text"));
            continue;
        };
        // Other models (images, embeddings, speech) do not belong into this table.
        if !mode.as_deref().is_some_and(|mode| MODES.contains(&mode)) {
            continue;
        }
        let Some(provider) = litellm_provider else {
            found.notes.push(format!("{key}: has no provider"));
            continue;
        };
        let id = key.strip_prefix(&format!("{provider}/")).unwrap_or(key);
        if id.contains(['*', '?']) {
            found.notes.push(format!("{key}: a pattern, which may have another meaning here"));
            continue;
        }
        let context_window = max_input_tokens.as_ref().and_then(Value::as_u64);
        let price = Price {
            model: format!("{provider}/{id}"),
            input: None,
            output: None,
            cached: None,
            cache_written: None,
            up_to_input_tokens: None,
            context_window,
            source: Some(source.to_owned()),
            date: Some(date.to_owned()),
        };
        match price_tiers(fields) {
            Ok(steps) => found.prices.extend(steps.into_iter().map(|step| step.apply_to(&price))),
            Err(why) => {
                found.notes.push(format!("{key}: {why}"));
                if context_window.is_some() {
                    found.prices.push(price);
                }
            }
        }
    }
    // By name, and smaller tiers of one model first.
    found.prices.sort_by(|one, other| {
        let most = |price: &Price| price.up_to_input_tokens.unwrap_or(u64::MAX);
        one.model.cmp(&other.model).then_with(|| most(one).cmp(&most(other)))
    });
    found.prices.dedup_by(|later, first| {
        later.model == first.model && later.up_to_input_tokens == first.up_to_input_tokens
    });
    found
}

/// Prices for requests up to a size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct PriceTier {
    up_to_input_tokens: Option<u64>,
    input: Option<f64>,
    output: Option<f64>,
    cached: Option<f64>,
    cache_written: Option<f64>,
}

impl PriceTier {
    fn apply_to(self, price: &Price) -> Price {
        Price {
            input: self.input,
            output: self.output,
            cached: self.cached,
            cache_written: self.cache_written,
            up_to_input_tokens: self.up_to_input_tokens,
            ..price.clone()
        }
    }
}

/// Names of the price fields.
const INPUT: &str = "input_cost_per_token";
const OUTPUT: &str = "output_cost_per_token";
const CACHED: &str = "cache_read_input_token_cost";
const WRITTEN: &str = "cache_creation_input_token_cost";

/// Returns the prices of a model, the tier of the smallest requests first, or the reason why they can't be
/// represented.
fn price_tiers(fields: &JsonObject) -> Result<Vec<PriceTier>, String> {
    if fields.contains_key("tiered_pricing") {
        return Err("its tiered prices have an unsupported form".to_owned());
    }
    let at = |suffix: &str| -> Result<PriceTier, String> {
        let price = |name: &str| per_million(fields, &format!("{name}{suffix}"));
        Ok(PriceTier {
            up_to_input_tokens: None,
            input: price(INPUT)?,
            output: price(OUTPUT)?,
            cached: price(CACHED)?,
            cache_written: price(WRITTEN)?,
        })
    };
    let mut first = at("")?;
    if first.input.is_none() || first.output.is_none() {
        return Err("it has no price per input token or per output token".to_owned());
    }
    let thinking = per_million(fields, "output_cost_per_reasoning_token")?;
    if thinking.is_some_and(|thinking| Some(thinking) != first.output) {
        return Err("it has a separate price for thinking, which is not supported".to_owned());
    }
    let mut bounds: Vec<(u64, String)> = fields.keys().filter_map(|key| tier_bound(key)).collect();
    bounds.sort();
    bounds.dedup();
    let mut steps: Vec<PriceTier> = Vec::with_capacity(bounds.len() + 1);
    for (tokens, suffix) in bounds {
        let above = at(&suffix)?;
        steps.push(PriceTier { up_to_input_tokens: Some(tokens), ..first });
        // A price that is missing above the bound is the same as below it.
        first = PriceTier {
            up_to_input_tokens: None,
            input: above.input.or(first.input),
            output: above.output.or(first.output),
            cached: above.cached.or(first.cached),
            cache_written: above.cache_written.or(first.cache_written),
        };
    }
    steps.push(first);
    Ok(steps)
}

/// Returns the size above which a field's price applies, and the suffix of such fields: `_above_200k_tokens`.
fn tier_bound(key: &str) -> Option<(u64, String)> {
    let rest = [INPUT, OUTPUT, CACHED, WRITTEN].iter().find_map(|name| key.strip_prefix(name))?;
    let thousands = rest.strip_prefix("_above_")?.strip_suffix("k_tokens")?;
    let tokens = thousands.parse::<u64>().ok()?.checked_mul(1000)?;
    Some((tokens, rest.to_owned()))
}

/// Converts a price per token, a number or a string with one, to a price per million. `None` if it is
/// missing.
fn per_million(fields: &JsonObject, name: &str) -> Result<Option<f64>, String> {
    let number = match fields.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(other) => other.as_f64(),
    };
    match number {
        Some(number) if (0.0..1.0).contains(&number) => Ok(Some(rounded(number * TOKENS_PER_PRICE))),
        _ => Err(format!("its {name} is not a price")),
    }
}

/// Removes the last digits, which are artefacts of the multiplication.
fn rounded(number: f64) -> f64 {
    format!("{number:.9}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests;
