use super::*;

fn price(model: &str) -> Price {
    Price {
        model: model.to_owned(),
        input: Some(3.0),
        output: Some(15.0),
        cached: Some(0.3),
        cache_written: Some(3.75),
        up_to_input_tokens: None,
        context_window: None,
        source: None,
        date: None,
    }
}

fn usage(input: u64, output: u64) -> ModelUsage {
    ModelUsage { input: Some(input), output: Some(output), ..ModelUsage::default() }
}

#[track_caller]
fn costs(table: &PriceTable, usage: &ModelUsage, expected: Option<f64>) {
    let cost = table.cost("a/m", usage).map(|cost| cost.amount);
    match (cost, expected) {
        (Some(cost), Some(expected)) => assert!((cost - expected).abs() < 1e-12, "{cost} is not {expected}"),
        (cost, expected) => assert_eq!(cost, expected),
    }
}

#[test]
fn costs_match_manual_calculations() {
    let table = PriceTable::new("EUR", vec![price("a/*")]);
    // 1,000,000 · 3 + 200,000 · 15, each per million.
    costs(&table, &usage(1_000_000, 200_000), Some(6.0));
    // 1,000 fresh of 12,000: 0.003 + 9,000 · 0.3 = 0.0027 + 2,000 · 3.75 = 0.0075 + 500 · 15 = 0.0075.
    let cached = ModelUsage { cached: Some(9_000), cache_written: Some(2_000), ..usage(12_000, 500) };
    costs(&table, &cached, Some(0.0207));
    // Thinking is part of the output.
    costs(&table, &ModelUsage { reasoning: Some(400), ..usage(0, 500) }, Some(0.0075));
    assert_eq!(&*table.cost("a/m", &usage(1, 1)).unwrap().currency, "EUR");

    // Without its own price, the cache has the price of the input.
    let plain = PriceTable::new("USD", vec![Price { cached: None, cache_written: None, ..price("a/*") }]);
    costs(&plain, &cached, Some(0.036 + 0.0075));
}

#[test]
fn unknown_costs_are_not_estimated() {
    let table = PriceTable::new("USD", vec![price("a/m")]);
    costs(&table, &ModelUsage { input: None, ..usage(0, 5) }, None);
    costs(&table, &ModelUsage { output: None, ..usage(5, 0) }, None);
    assert_eq!(table.cost("b/m", &usage(1, 1)), None);
    assert_eq!(PriceTable::default().cost("a/m", &usage(1, 1)), None);

    let no_output = PriceTable::new("USD", vec![Price { output: None, ..price("a/m") }]);
    costs(&no_output, &usage(1_000_000, 1), None);
    // There was no output, so no price is missing.
    costs(&no_output, &usage(1_000_000, 0), Some(3.0));
    let no_input = PriceTable::new("USD", vec![Price { input: None, ..price("a/m") }]);
    costs(&no_input, &ModelUsage { cached: Some(1_000_000), ..usage(1_000_000, 0) }, Some(0.3));
    costs(&no_input, &ModelUsage { cached: Some(999_999), ..usage(1_000_000, 0) }, None);
}

#[test]
fn cached_tokens_are_limited_to_the_input() {
    let table = PriceTable::new("USD", vec![price("a/m")]);
    let odd = ModelUsage { cached: Some(2_000_000), cache_written: Some(5), ..usage(1_000_000, 0) };
    costs(&table, &odd, Some(0.3));
}

#[test]
fn the_first_matching_price_wins() {
    let dear = Price { input: Some(6.0), ..price("a/m") };
    let small = Price { up_to_input_tokens: Some(200_000), ..price("a/m") };
    let table = PriceTable::new("USD", vec![price("b/*"), small, dear, price("a/*")]);
    costs(&table, &usage(200_000, 0), Some(0.6));
    costs(&table, &usage(200_001, 0), Some(1.200006));
    let known = Price { context_window: Some(400_000), ..price("a/*") };
    assert_eq!(PriceTable::new("USD", vec![price("a/m"), known]).context_window("a/m"), Some(400_000));
    assert_eq!(table.context_window("a/m"), None);
}
