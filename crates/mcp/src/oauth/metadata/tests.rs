use serde_json::{Value, json};

use super::*;

const RESOURCE: &str = "https://mcp.example.org/mcp";
const ISSUER: &str = "https://login.example.org";

fn document() -> Value {
    json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://login.example.org/authorize",
        "token_endpoint": "https://login.example.org/token",
        "registration_endpoint": "https://login.example.org/register",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["plain", "S256"],
    })
}

fn read(change: impl FnOnce(&mut Value)) -> Result<AuthorizationServer, OauthError> {
    let mut document = document();
    change(&mut document);
    let document: AuthorizationServerMetadata = serde_json::from_value(document).unwrap();
    document.validate(&[ISSUER], &Url::parse(RESOURCE).unwrap(), MetadataPurpose::Login)
}

#[test]
fn a_server_that_says_all_that_is_needed_is_used() {
    let it = read(|_| {}).unwrap();
    assert_eq!(it.issuer, ISSUER);
    assert_eq!(it.token.as_str(), "https://login.example.org/token");
    assert_eq!(it.registration.unwrap().as_str(), "https://login.example.org/register");
    assert_eq!((it.auth_methods, it.scopes), (None, None));
    assert!(!it.takes_metadata_documents && !it.sends_issuer);
}

/// RFC 8414, section 3.3: identical, which neither a slash nor the case of a letter is.
#[test]
fn the_issuer_is_compared_character_by_character() {
    for other in [
        "https://login.example.org/",
        "https://LOGIN.example.org",
        "https://login.example.org:443",
        "https://evil.example",
    ] {
        let error = read(|it| it["issuer"] = other.into()).unwrap_err();
        assert!(matches!(error, OauthError::IssuerMismatch { .. }), "{other}: {error}");
    }
}

#[test]
fn a_server_that_does_not_say_that_it_checks_pkce_is_refused() {
    for methods in [Value::Null, json!([]), json!(["plain"]), json!(["s256"])] {
        let error = read(|it| it["code_challenge_methods_supported"] = methods.clone()).unwrap_err();
        assert!(matches!(error, OauthError::NoPkce(_)), "{methods}: {error}");
    }
}

#[test]
fn endpoints_in_the_clear_or_on_this_computer_are_refused() {
    for field in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        for address in
            ["http://login.example.org/x", "http://127.0.0.1/x", "https://localhost/x", "data:text/html,x"]
        {
            let error = read(|it| it[field] = address.into()).unwrap_err();
            assert!(matches!(error, OauthError::Address { .. }), "{field} {address}: {error}");
        }
    }
}

#[test]
fn a_server_without_codes_is_refused() {
    for (field, value) in
        [("response_types_supported", "token"), ("grant_types_supported", "client_credentials")]
    {
        let error = read(|it| it[field] = json!([value])).unwrap_err();
        assert!(matches!(error, OauthError::Unsuitable { .. }), "{field}: {error}");
    }
}

#[test]
fn metadata_of_another_resource_is_refused() {
    let server = Url::parse(RESOURCE).unwrap();
    let of = |resource: &str| {
        let it = ProtectedResourceMetadata {
            resource: resource.to_owned(),
            authorization_servers: vec![],
            scopes_supported: None,
            dpop_bound_access_tokens_required: false,
        };
        it.validate(&server)
    };
    assert!(of("https://mcp.example.org/mcp").is_ok());
    assert!(of("https://mcp.example.org").is_ok());
    for other in
        ["https://evil.example/mcp", "https://mcp.example.org/other", "http://mcp.example.org/mcp", "mcp", ""]
    {
        let error = of(other).unwrap_err();
        assert!(matches!(error, OauthError::ResourceMismatch { .. }), "{other}: {error}");
    }
}

#[test]
fn a_server_for_programs_alone_needs_no_login_page() {
    let document: AuthorizationServerMetadata = serde_json::from_value(json!({
        "issuer": ISSUER, "token_endpoint": "https://login.example.org/token",
        "grant_types_supported": ["client_credentials"],
    }))
    .unwrap();
    let resource = Url::parse(RESOURCE).unwrap();
    let it = document.clone().validate(&[ISSUER], &resource, MetadataPurpose::TokenRequest).unwrap();
    assert_eq!(it.authorization, None);
    assert!(document.validate(&[ISSUER], &resource, MetadataPurpose::Login).is_err());
}
