use super::*;

fn view(pairs: &[(&str, &str)]) -> Result<McpViewQuery, ApiError> {
    McpViewQuery::of(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn query_parameters_select_the_tools() {
    assert_eq!(view(&[("token", "t"), ("other", "x")]).unwrap(), McpViewQuery::default());
    let said =
        view(&[("only", "a/*"), ("agent", "cook"), ("only", "b/{c,d}"), ("read_only", "true")]).unwrap();
    let expected = McpViewQuery {
        agent: Some("cook".to_owned()),
        read_only: true,
        tool_patterns: vec!["a/*".to_owned(), "b/{c,d}".to_owned()],
    };
    assert_eq!(said, expected);
    assert_eq!(
        view(&[("read_only", ""), ("agent", "")]).unwrap(),
        McpViewQuery { read_only: true, ..McpViewQuery::default() }
    );
    assert!(!view(&[("read_only", "0")]).unwrap().read_only);
    assert!(view(&[("read_only", "maybe")]).is_err(), "a bound that is not understood is not left out");
}
