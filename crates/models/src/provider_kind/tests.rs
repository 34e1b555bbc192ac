use super::*;

#[test]
fn every_kind_has_one_name_everywhere() {
    for kind in ProviderKind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        assert_eq!(serde_json::from_value::<ProviderKind>(kind.as_str().into()).unwrap(), kind);
    }
}

#[test]
fn an_unknown_kind_is_answered_with_the_list_of_kinds() {
    assert_eq!(
        "colossal".parse::<ProviderKind>().unwrap_err().to_string(),
        "\"colossal\" is not a kind of model provider; use openai, openai-responses, anthropic, gemini or compatible"
    );
}
