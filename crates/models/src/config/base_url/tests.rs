use super::*;

fn base(text: &str) -> BaseUrl {
    text.parse().unwrap()
}

#[test]
fn a_base_url_may_contain_the_version() {
    for (given, address) in [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
        ("https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1/chat/completions"),
        ("https://example.org/v4", "https://example.org/v4/chat/completions"),
        ("https://example.org/v1/chat/completions", "https://example.org/v1/chat/completions"),
        (
            "https://x.openai.azure.com/openai/deployments/gpt?api-version=2025-04-01-preview",
            "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2025-04-01-preview",
        ),
        (
            "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=1",
            "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=1",
        ),
        (
            "https://example.org?api-version=1&b=%20c",
            "https://example.org/v1/chat/completions?api-version=1&b=%20c",
        ),
    ] {
        assert_eq!(base(given).with_version("v1", "chat/completions").as_str(), address, "{given}");
    }
}

#[test]
fn a_base_url_may_end_before_the_version() {
    for (given, address) in [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://example.org/anthropic", "https://example.org/anthropic/v1/messages"),
        ("https://example.org/v1/?api-version=1", "https://example.org/v1/messages?api-version=1"),
    ] {
        assert_eq!(base(given).adding_version(&["v1"], "messages").as_str(), address, "{given}");
    }
    let gemini =
        base("https://generativelanguage.googleapis.com/v1").adding_version(&["v1beta", "v1"], "models");
    assert_eq!(gemini.as_str(), "https://generativelanguage.googleapis.com/v1/models");
}

#[test]
fn an_invalid_base_url_is_refused() {
    assert!(matches!("localhost:11434".parse::<BaseUrl>(), Err(InvalidBaseUrl::Scheme(_))));
    assert!(matches!("api.openai.com".parse::<BaseUrl>(), Err(InvalidBaseUrl::Malformed(_))));
    for name in ["key", "api_key", "API-KEY", "access_token", "sig", "client%5Fsecret"] {
        let refused = format!("https://x.org/v1?api-version=1&{name}=1").parse::<BaseUrl>();
        assert!(matches!(refused, Err(InvalidBaseUrl::SecretInQuery(_))), "{name}");
    }
    assert_eq!("https://x.org/v1#a".parse::<BaseUrl>(), Err(InvalidBaseUrl::Extras));
    assert_eq!("https://a:b@x.org/v1".parse::<BaseUrl>(), Err(InvalidBaseUrl::Extras));
    assert!(matches!(
        format!("https://x.org/{}", "a".repeat(3000)).parse::<BaseUrl>(),
        Err(InvalidBaseUrl::TooLong(_))
    ));
}
