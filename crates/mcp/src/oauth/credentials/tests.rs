use secrecy::ExposeSecret as _;

use super::*;
use crate::oauth::client::{ClientRegistrationKind, TokenEndpointAuthMethod};

fn credentials(received_ms: i64, expires_ms: Option<i64>) -> OauthCredentials {
    OauthCredentials {
        resource: "https://a.example/mcp".to_owned(),
        issuer: "https://login.example".to_owned(),
        client: OauthClient {
            id: "client".to_owned(),
            secret: Some("the client's secret".to_owned().into()),
            key: None,
            auth: TokenEndpointAuthMethod::Post,
            origin: ClientRegistrationKind::Registered,
            redirect_uri: "http://127.0.0.1:1/callback".to_owned(),
            secret_expires_ms: None,
        },
        metadata: None,
        access_token: "the access token".to_owned().into(),
        refresh_token: Some("the refresh token".to_owned().into()),
        received_ms,
        expires_ms,
        scopes: vec!["a".to_owned()],
        missing: vec![],
        dpop_key: None,
        grant: OauthGrantType::AuthorizationCode,
        settings: None,
    }
}

#[test]
fn they_are_renewed_a_minute_early_or_at_half_their_life() {
    for (life_ms, stale_from) in [(3_600_000, 3_540_000), (120_000, 60_000), (60_000, 30_000), (1000, 500)] {
        let it = credentials(0, Some(life_ms));
        assert!(!it.is_stale(stale_from - 1), "{life_ms}");
        assert!(it.is_stale(stale_from), "{life_ms}");
        assert!(!it.is_expired(life_ms - 1) && it.is_expired(life_ms));
    }
    assert!(!credentials(0, None).is_stale(i64::MAX));
}

#[test]
fn what_is_written_can_be_read_and_shows_nothing_to_a_debugger() {
    let it = credentials(5, Some(10));
    let text = serde_json::to_string(&it).unwrap();
    let read: OauthCredentials = serde_json::from_str(&text).unwrap();
    assert_eq!(read.access_token.expose_secret(), "the access token");
    assert_eq!(read.refresh_token.unwrap().expose_secret(), "the refresh token");
    assert_eq!(read.client.secret.unwrap().expose_secret(), "the client's secret");
    assert_eq!((read.received_ms, read.expires_ms, read.scopes), (5, Some(10), vec!["a".to_owned()]));
    let shown = format!("{it:?}");
    assert!(!shown.contains("token\"") && !shown.contains("the "), "{shown}");
}

/// RFC 6749, section 6: what a renewal does not give anew stays.
#[test]
fn a_renewal_keeps_what_it_does_not_replace() {
    let mut it = credentials(0, Some(10));
    let issued = |refresh: Option<&str>, scopes: Option<&str>| IssuedToken {
        access_token: "new".to_owned().into(),
        refresh_token: refresh.map(|it| it.to_owned().into()),
        life_ms: None,
        scopes: scopes.map(|it| vec![it.to_owned()]),
        is_bound: false,
    };
    it.renew(issued(None, None), 100);
    assert_eq!(it.refresh_token.as_ref().unwrap().expose_secret(), "the refresh token");
    assert_eq!((it.received_ms, it.expires_ms, it.scopes.clone()), (100, None, vec!["a".to_owned()]));
    it.renew(issued(Some("rotated"), Some("b")), 200);
    assert_eq!(it.refresh_token.as_ref().unwrap().expose_secret(), "rotated");
    assert_eq!(it.scopes, ["b"]);
}
