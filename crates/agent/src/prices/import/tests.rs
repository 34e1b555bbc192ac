use super::*;
use toolway_models::ModelUsage;

const LITELLM: &str = r#"{"m": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06,
    "output_cost_per_token": 2e-06}}"#;

fn read(text: &str) -> Result<PriceImport, PriceImportError> {
    import(text, Path::new("list.json"), "list.json", "2026-11-01")
}

#[test]
fn both_formats_are_imported() {
    let usage = ModelUsage { input: Some(1_000_000), output: Some(1_000_000), ..ModelUsage::default() };
    let imported = read(LITELLM).unwrap();
    assert_eq!(imported.table.cost("openai/m", &usage).map(|cost| cost.amount), Some(3.0));
    let again = read(&imported.table.to_toml()).unwrap();
    assert_eq!(again.table, imported.table);

    let own = "currency = \"EUR\"\n[[price]]\nmodel = \"a/b\"\ninput = 1\noutput = 2\n[[price]]\nmodel = \"a/c\"\n\
         output = 1\nsource = \"the maker\"\ndate = \"2026-01-01\"\n";
    let table = read(own).unwrap().table;
    let from: Vec<_> =
        table.prices().iter().map(|price| (price.source.as_deref(), price.date.as_deref())).collect();
    let expected = [(Some("list.json"), Some("2026-11-01")), (Some("the maker"), Some("2026-01-01"))];
    assert_eq!(from, expected);
    assert_eq!(&**table.currency(), "EUR");
}

#[test]
fn other_formats_are_refused_with_a_message() {
    for text in ["", "{}", "{\"a\": 1}", "{\"a\": {\"b\": 1}}", "{broken", "currency = \"USD\""] {
        let error = read(text).unwrap_err();
        assert!(error.to_string().contains("list.json is neither"), "{text}: {error}");
    }
    let error = read("[[price]]\ninput = 1").unwrap_err();
    assert!(matches!(&error, PriceImportError::Problems(problems) if problems.len() == 1));
    assert!(error.to_string().starts_with("list.json:1: missing field"), "{error}");
    let many: Vec<String> = (0..=MAX_PRICES)
        .map(|number| {
            format!(r#""m{number}": {{"litellm_provider": "a", "mode": "chat", "max_input_tokens": 1}}"#)
        })
        .collect();
    let error = read(&format!("{{{}}}", many.join(","))).unwrap_err();
    assert!(matches!(error, PriceImportError::TooMany { count: 20_001, .. }));
}
