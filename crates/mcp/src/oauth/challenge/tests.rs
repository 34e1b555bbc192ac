use super::*;

fn challenge(resource_metadata: Option<&str>, scope: Option<&str>, error: Option<&str>) -> BearerChallenge {
    BearerChallenge {
        resource_metadata: resource_metadata.map(str::to_owned),
        scope: scope.map(str::to_owned),
        error: error.map(str::to_owned),
        ..BearerChallenge::default()
    }
}

/// Uses the examples of RFC 9728 (section 5.1), RFC 6750 (section 3) and RFC 9110 (section 11.6.1), and forms that
/// real servers send.
#[test]
fn what_a_server_asks_for_is_read() {
    for (header, expected) in [
        (
            r#"Bearer resource_metadata="https://resource.example.com/.well-known/oauth-protected-resource""#,
            challenge(Some("https://resource.example.com/.well-known/oauth-protected-resource"), None, None),
        ),
        (
            r#"Bearer realm="example", error="invalid_token", error_description="The access token expired""#,
            challenge(None, None, Some("invalid_token")),
        ),
        (
            r#"Bearer error="insufficient_scope", scope="files:read files:write", resource_metadata="https://a.example/x""#,
            challenge(
                Some("https://a.example/x"),
                Some("files:read files:write"),
                Some("insufficient_scope"),
            ),
        ),
        (
            r#"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple", bearer scope=one"#,
            challenge(None, Some("one"), None),
        ),
        (r#"Basic realm="x, Bearer scope=\"no\"""#, challenge(None, None, None)),
        (r#"Basic scope="not ours", Bearer"#, challenge(None, None, None)),
        ("Negotiate dG9rZW42OA==, Bearer scope=a", challenge(None, Some("a"), None)),
        (
            r#"BEARER SCOPE="a" , Resource_Metadata = "https://b.example/y""#,
            challenge(Some("https://b.example/y"), Some("a"), None),
        ),
        (r#"Bearer scope="first", scope="second""#, challenge(None, Some("first"), None)),
        (r#"Bearer scope="""#, challenge(None, None, None)),
        ("", BearerChallenge::default()),
        ("\u{1F600}", BearerChallenge::default()),
    ] {
        assert_eq!(BearerChallenge::parse(header), expected, "{header}");
    }
}

#[test]
fn a_header_that_ends_early_gives_what_stands_before() {
    assert_eq!(
        BearerChallenge::parse(r#"Bearer error="x", scope="never ends"#),
        challenge(None, None, Some("x"))
    );
    assert_eq!(BearerChallenge::parse(r#"Bearer scope="a\"#), BearerChallenge::default());
}

#[test]
fn a_header_that_is_too_long_is_not_read() {
    let long = format!("Bearer scope=a, realm=\"{}\"", "x".repeat(MAX_HEADER));
    assert_eq!(BearerChallenge::parse(&long), BearerChallenge::default());
}

#[test]
fn scopes_are_listed_once_each() {
    let it = challenge(None, Some(" a  b a\tc "), Some("insufficient_scope"));
    assert_eq!(it.scopes(), ["a", "b", "c"]);
    assert!(it.is_insufficient_scope());
    assert!(!challenge(None, None, Some("invalid_token")).is_insufficient_scope());
}

/// RFC 9449, sections 7.1 and 9, with one challenge in a header, and with two.
#[test]
fn a_challenge_for_bound_tokens_is_read_and_names_a_missing_nonce() {
    for (header, resource, wants_nonce) in [
        (r#"DPoP algs="ES256 PS256", resource_metadata="/m""#, Some("/m"), false),
        (r#"DPoP error="use_dpop_nonce", error_description="Nonce required""#, None, true),
        (
            r#"Bearer error="invalid_token", dpop error="use_dpop_nonce", resource_metadata="/m""#,
            Some("/m"),
            true,
        ),
        (r#"DPoP algs=ES256, Bearer error="use_dpop_nonce""#, None, false),
    ] {
        let it = BearerChallenge::parse(header);
        assert!(it.accepts_dpop, "{header}");
        assert_eq!((it.resource_metadata.as_deref(), it.wants_nonce), (resource, wants_nonce), "{header}");
    }
    assert!(!BearerChallenge::parse("Bearer scope=dpop").accepts_dpop);
}
