//! Formats token counts and money. Unknown amounts are omitted, never shown as 0.

use toolway_api::token_usage::TokenUsage;

/// Formats the usage of a turn in one line; `None` if nothing is known.
pub(crate) fn format_turn_usage(
    tokens: &TokenUsage,
    cost: Option<f64>,
    currency: Option<&str>,
) -> Option<String> {
    let part = |amount: Option<u64>, what: &str| match amount {
        Some(amount @ 1..) => format!(" ({} {what})", format_count(amount)),
        _ => String::new(),
    };
    let input = tokens
        .input
        .map(|input| format!("{} tokens in{}", format_count(input), part(tokens.cached, "cached")));
    let output = tokens
        .output
        .map(|output| format!("{} out{}", format_count(output), part(tokens.reasoning, "thinking")));
    let cost = cost.map(|cost| format_money(cost, currency));
    let known: Vec<_> = input.into_iter().chain(output).chain(cost).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// Formats a number with thousands separators.
pub(crate) fn format_count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats money: two decimals, or more for small amounts to show two significant digits.
pub(crate) fn format_money(amount: f64, currency: Option<&str>) -> String {
    let mut decimals = 2;
    let mut least = 0.1;
    while amount > 0.0 && amount < least && decimals < 8 {
        decimals += 1;
        least /= 10.0;
    }
    let number = format!("{amount:.decimals$}");
    match currency {
        Some(currency) => format!("{number} {}", super::escape::line(currency)),
        None => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_money_are_formatted() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(format_count(number), text);
        }
        for (amount, text) in [
            (0.0, "0.00 USD"),
            (12.3456, "12.35 USD"),
            (0.5, "0.50 USD"),
            (0.0123, "0.012 USD"),
            (0.000_056_7, "0.000057 USD"),
        ] {
            assert_eq!(format_money(amount, Some("USD")), text);
        }
        assert_eq!(format_money(1.0, None), "1.00");
    }

    #[test]
    fn unknown_amounts_are_omitted() {
        let all = TokenUsage {
            input: Some(1200),
            output: Some(50),
            cached: Some(1000),
            reasoning: Some(0),
            ..TokenUsage::default()
        };
        assert_eq!(
            format_turn_usage(&all, Some(0.0123), Some("USD")).unwrap(),
            "1,200 tokens in (1,000 cached), 50 out, 0.012 USD"
        );
        let some = TokenUsage { output: Some(7), ..TokenUsage::default() };
        assert_eq!(format_turn_usage(&some, None, None).unwrap(), "7 out");
        assert_eq!(format_turn_usage(&TokenUsage::default(), None, None), None);
    }
}
