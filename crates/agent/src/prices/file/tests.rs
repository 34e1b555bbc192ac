use super::*;

const GOOD: &str = r#"
currency = "EUR"
[[price]]
model = "openai/gpt-*"
input = 1.25
cached = 0.125
output = 10
up_to_input_tokens = 200000
source = "https://example.org/prices"
date = "2026-11-01"

[[price]]
model = "local/*"
context_window = 32768
"#;

fn problems(text: &str) -> Vec<(usize, String)> {
    let problems = parse(text, Path::new("prices.toml")).unwrap_err();
    problems.into_iter().map(|problem| (problem.line, problem.message)).collect()
}

#[test]
fn a_table_is_read_and_written() {
    let table = parse(GOOD, Path::new("prices.toml")).unwrap();
    assert_eq!(&**table.currency(), "EUR");
    let first = Price {
        model: "openai/gpt-*".to_owned(),
        input: Some(1.25),
        output: Some(10.0),
        cached: Some(0.125),
        cache_written: None,
        up_to_input_tokens: Some(200_000),
        context_window: None,
        source: Some("https://example.org/prices".to_owned()),
        date: Some("2026-11-01".to_owned()),
    };
    assert_eq!((table.prices().len(), &table.prices()[0]), (2, &first));
    assert_eq!(table.context_window("local/x"), Some(32_768));
    assert_eq!(parse(&table.to_toml(), Path::new("x")).unwrap(), table);
    assert_eq!(parse("", Path::new("x")).unwrap(), PriceTable::default());
}

#[test]
fn unusual_texts_and_small_prices_are_preserved() {
    let odd = Price {
        model: "a/\"b\"\n\\".to_owned(),
        input: Some(1e-7),
        source: Some("l'été\u{7f}\t'''".to_owned()),
        ..parse(GOOD, Path::new("x")).unwrap().prices()[0].clone()
    };
    let table = PriceTable::new("USD", vec![odd]);
    assert_eq!(parse(&table.to_toml(), Path::new("x")).unwrap(), table);
}

#[test]
fn all_problems_are_reported_with_their_lines() {
    let text = "currency = \"dollars\"\nprices = 1\n[[price]]\nmodel = \"a/b\"\ninput = -1.0\noutput = 2\n\
         [[price]]\ninput = 1.0\n[[price]]\nmodel = \"a/b\"\noutput = 1\ninput = \"much\"\n[[price]]\nmodel = \"gpt\"\n\
         output = 1\n[[price]]\nmodel = \"a/c\"\n[[price]]\nmodel = \"a/d\"\ninput = nan\n[[price]]\nmodel = \"a/b\"\n\
         inputs = 1\n";
    let found = problems(text);
    let expected = [
        (1, "three capital letters"),
        (2, "unknown field `prices`"),
        (5, "`input` must be a price"),
        (7, "missing field `model`"),
        (12, "expected f64"),
        (14, "has no `/`"),
        (16, "at least `context_window`"),
        (20, "`input` must be a price"),
        (23, "unknown field `inputs`"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((line, message), (at, words)) in found.iter().zip(expected) {
        assert!(*line == at && message.contains(words), "{line}: {message} (expected {at}: {words})");
    }
    assert_eq!(problems("currency = \"USD\"\n[[price\n")[0].0, 2);
    for (former, present) in [("up_to_input", "up_to_input_tokens"), ("context_tokens", "context_window")] {
        let [(line, message)] = &problems(&format!("[[price]]\nmodel = \"a/b\"\n{former} = 1\n"))[..] else {
            panic!("one problem")
        };
        assert_eq!(*line, 3);
        assert_eq!(message, &format!("unknown field `{former}`: it was renamed to `{present}`"));
    }
    assert!(problems("price = 1")[0].1.contains("double brackets"));
    assert!(problems("price = [1]")[0].1.contains("double brackets"));
}
