//! Parses the table with all problems and their lines, and writes it.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::{Price, PriceTable};
use toolway_files::owner_file::{self, FileProblem, TextProblem};

/// Fields of a price that had another name in version 0.1.
const RENAMED_FIELDS: &[(&str, &str)] =
    &[("context_tokens", "context_window"), ("up_to_input", "up_to_input_tokens")];
/// Maximum number of prices in one file.
pub(super) const MAX_PRICES: usize = 20_000;
/// Price per million tokens above which a value counts as a mistake.
const MAX_PRICE: f64 = 1e9;

pub(super) fn parse(text: &str, path: &Path) -> Result<PriceTable, Vec<FileProblem>> {
    let parsed = DeTable::parse(text)
        .map_err(|error| vec![TextProblem::from_toml(0, &error, RENAMED_FIELDS).in_file(text, path)])?;
    let mut problems = Vec::new();
    let mut table = PriceTable::default();
    for (key, value) in parsed.into_inner() {
        let at = value.span().start;
        match (key.get_ref().as_ref(), value.into_inner()) {
            ("currency", DeValue::String(currency)) if is_currency(&currency) => {
                table.currency = currency.as_ref().into();
            }
            ("currency", _) => {
                let message = "`currency` must be three capital letters, such as \"USD\"";
                problems.push(TextProblem::new(at, message));
            }
            ("price", DeValue::Array(prices)) if prices.len() > MAX_PRICES => {
                let message = format!("there are {} prices; the maximum is {MAX_PRICES}", prices.len());
                problems.push(TextProblem::new(at, message));
            }
            ("price", DeValue::Array(prices)) => {
                for price in prices {
                    match read(price) {
                        Ok(price) => table.prices.push(price),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            ("price", _) => {
                let message = "each price starts with a line [[price]], in double brackets";
                problems.push(TextProblem::new(at, message));
            }
            (other, _) => {
                let message = format!("unknown field `{other}`, expected `currency` or `price`");
                problems.push(TextProblem::at(key.span(), message));
            }
        }
    }
    owner_file::all_or_nothing(table, problems, text, path)
}

/// One price, or the problem with it.
fn read(price: Spanned<DeValue<'_>>) -> Result<Price, TextProblem> {
    let start = price.span().start;
    let places: Vec<(String, usize)> = match price.get_ref() {
        DeValue::Table(fields) => {
            fields.iter().map(|(key, value)| (key.get_ref().to_string(), value.span().start)).collect()
        }
        _ => {
            return Err(TextProblem::new(
                start,
                "each price starts with a line [[price]], in double brackets",
            ));
        }
    };
    let place = |field: &str| places.iter().find(|(name, _)| name == field).map_or(start, |(_, at)| *at);
    let price = Price::deserialize(ValueDeserializer::from(price))
        .map_err(|error| TextProblem::from_toml(start, &error, RENAMED_FIELDS))?;
    if !price.model.contains('/') && !price.model.contains('*') {
        let message = format!("`model` is a pattern over NAME/ID, and {:?} has no `/`", price.model);
        return Err(TextProblem::new(place("model"), message));
    }
    for (name, number) in [
        ("input", price.input),
        ("output", price.output),
        ("cached", price.cached),
        ("cache_written", price.cache_written),
    ] {
        if number.is_some_and(|number| !(0.0..=MAX_PRICE).contains(&number)) {
            let message = format!("`{name}` must be a price per million tokens, 0 or more");
            return Err(TextProblem::new(place(name), message));
        }
    }
    if price.input.is_none() && price.output.is_none() && price.context_window.is_none() {
        let message = "a price needs `input` and `output`, or at least `context_window`";
        return Err(TextProblem::new(start, message));
    }
    Ok(price)
}

fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

pub(super) fn write(table: &PriceTable) -> String {
    let mut text = format!(
        "# Prices per million tokens. The first matching `model` is used; see docs/models.md.\n\
         currency = {}\n",
        quoted(&table.currency)
    );
    for price in &table.prices {
        text.push_str("\n[[price]]\n");
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{name} = {value}");
            }
        };
        line("model", Some(quoted(&price.model)));
        // With a point or an exponent, so that it stays a float.
        line("input", price.input.map(|number| format!("{number:?}")));
        line("cached", price.cached.map(|number| format!("{number:?}")));
        line("cache_written", price.cache_written.map(|number| format!("{number:?}")));
        line("output", price.output.map(|number| format!("{number:?}")));
        line("up_to_input_tokens", price.up_to_input_tokens.map(|number| number.to_string()));
        line("context_window", price.context_window.map(|number| number.to_string()));
        line("source", price.source.as_deref().map(quoted));
        line("date", price.date.as_deref().map(quoted));
    }
    text
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
