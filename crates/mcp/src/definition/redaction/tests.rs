use std::collections::BTreeMap;

use super::*;

fn pairs(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn secrets_are_known_by_their_names() {
    for name in [
        "GITHUB_TOKEN",
        "API_KEY",
        "api-key",
        "apiKey",
        "--api-key",
        "OPENAI_APIKEY",
        "DB_PASSWORD",
        "PGPASSWORD",
        "Authorization",
        "X-Api-Key",
        "GITHUB_PAT",
        "AWS_SECRET_ACCESS_KEY",
        "client_secret",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "LOG_LEVEL",
        "HOME",
        "MAX_TOKENS",
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "PATH",
        "TOKEN_FILE",
        "AUTHOR",
        "SSH_KEY_PATH",
        "monkey",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn what_may_be_a_secret_is_not_shown_and_not_debugged() {
    let definition = ServerDefinition {
        command: Some("npx".to_owned()),
        args: [
            "-y",
            "--api-key",
            "s3cret-a",
            "--token=s3cret-b",
            "--port",
            "80",
            "https://x.example/?key=s3cret-c&a=1",
        ]
        .map(str::to_owned)
        .to_vec(),
        env: pairs(&[("A", "s3cret-d"), ("B", "secret:named"), ("C", "")]),
        headers: pairs(&[("X-Key", "s3cret-e")]),
        url: Some("https://h.example/mcp?api_key=s3cret-f&region=eu".to_owned()),
        oauth: Some(OauthDefinition {
            client_secret: Some("s3cret-g".to_owned()),
            private_key: Some("s3cret-h".to_owned()),
            assertion: Some("s3cret-i".to_owned()),
            identity_provider: Some(IdentityProviderDefinition {
                client_secret: Some("s3cret-j".to_owned()),
                private_key: Some("s3cret-k".to_owned()),
                subject_token: "s3cret-l".to_owned(),
                ..IdentityProviderDefinition::default()
            }),
            ..OauthDefinition::default()
        }),
        ..ServerDefinition::default()
    };
    let shown = definition.redacted();
    assert_eq!(
        shown.args,
        [
            "-y",
            "--api-key",
            HIDDEN,
            "--token=[hidden]",
            "--port",
            "80",
            "https://x.example/?key=%5Bhidden%5D&a=1"
        ]
    );
    assert_eq!(shown.env, pairs(&[("A", HIDDEN), ("B", "secret:named"), ("C", "")]));
    assert_eq!(shown.url.as_deref(), Some("https://h.example/mcp?api_key=%5Bhidden%5D&region=eu"));
    for text in [format!("{definition:?}"), format!("{:?}", definition.oauth), definition.location()] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    assert!(format!("{definition:?}").contains("secret:named"));
}

#[test]
fn where_it_is_is_said_in_one_line() {
    let command = ServerDefinition {
        command: Some("uvx".to_owned()),
        args: vec!["mcp-server-time".to_owned()],
        ..ServerDefinition::default()
    };
    assert_eq!(command.location(), "uvx mcp-server-time");
    let url =
        ServerDefinition { url: Some("https://x.example/mcp".to_owned()), ..ServerDefinition::default() };
    assert_eq!(url.location(), "https://x.example/mcp");
}
