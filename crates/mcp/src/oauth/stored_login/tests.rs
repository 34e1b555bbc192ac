use super::*;

const CREDENTIALS: &str = r#"{"resource":"https://mcp.example.com/mcp","issuer":"https://login.example.com",
    "client":{"id":"c","auth":"none","origin":"given","redirect_uri":"http://127.0.0.1:1/callback"},
    "metadata":"https://mcp.example.com/meta","access_token":"a","received_ms":1}"#;

fn server() -> Url {
    Url::parse("https://mcp.example.com/mcp").unwrap()
}

fn stored(text: &str) -> StoredLogin {
    StoredLogin::parse(&SecretString::from(text.to_owned()))
}

#[test]
fn credentials_alone_are_read_as_before_and_lend_their_metadata_address() {
    let login = stored(CREDENTIALS);
    assert_eq!(login.credentials.as_ref().map(OauthCredentials::issuer), Some("https://login.example.com"));
    let challenge = login.challenge_of(&server());
    assert_eq!(challenge.resource_metadata.as_deref(), Some("https://mcp.example.com/meta"));
    assert_eq!(challenge.scope, None);
}

#[test]
fn a_challenge_is_kept_with_and_without_credentials_and_belongs_to_its_server_only() {
    let challenge = BearerChallenge::parse(r#"Bearer scope="a b a", resource_metadata="/meta""#);
    for text in ["", CREDENTIALS] {
        let mut login = stored(text);
        login.challenge = RecordedChallenge::new(&server(), &challenge);
        let again = StoredLogin::parse(&login.to_secret_text());
        assert_eq!(again.credentials.is_some(), !text.is_empty());
        let kept = again.challenge_of(&server());
        assert_eq!((kept.scope.as_deref(), kept.resource_metadata.as_deref()), (Some("a b"), Some("/meta")));
        let other = Url::parse("https://mcp.example.com/other").unwrap();
        assert_eq!(again.challenge_of(&other), BearerChallenge::default());
    }
    assert_eq!(
        RecordedChallenge::new(&server(), &BearerChallenge::parse("Bearer error=\"invalid_token\"")),
        None
    );
}
