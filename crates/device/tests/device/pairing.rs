//! Tests of pairing, and of the verification before the code is sent.

use secrecy::ExposeSecret;
use serde_json::json;
use tokio::io::AsyncReadExt;
use toolway_device::{
    ConnectError, KeyPin, PairError, PairOptions, PairRequest, PairingCode, PairingInput, PairingLink, pair,
};

use crate::gateway::{ScriptedGateway, TOKEN, within_test_timeout};

fn code() -> PairingCode {
    "ABCD-EFGH".parse().unwrap()
}

fn about() -> PairRequest {
    PairRequest { device_id: Some("id-1".into()), name: Some("Test".into()), platform: None }
}

fn pairing_response() -> serde_json::Value {
    json!({ "paired": true, "persisted": true, "token": TOKEN, "message": "Welcome" })
}

/// Pairs with a scripted gateway; also returns the request.
async fn paired(
    gateway: &ScriptedGateway,
    input: PairingInput,
) -> (toolway_device::PairedCredentials, String) {
    let url = gateway.url();
    let (about, options, yes) = (about(), PairOptions::default(), pairing_response());
    let (credentials, request) = within_test_timeout("pairing", async {
        tokio::join!(pair(Some(&url), &input, &about, &options), gateway.answer("200 OK", &yes))
    })
    .await;
    (credentials.unwrap(), request)
}

#[tokio::test]
async fn a_code_is_exchanged_for_a_token() {
    let gateway = ScriptedGateway::plain().await;
    let (credentials, request) = paired(&gateway, PairingInput::Code(code())).await;
    assert_eq!(credentials.token.expose_secret(), TOKEN);
    assert_eq!((credentials.key, credentials.persisted), (None, true));
    assert_eq!(credentials.url, gateway.url());
    assert!(request.starts_with("POST /pair HTTP/1.1\r\n"), "{request}");
    assert!(request.to_lowercase().contains("\r\nx-pairing-code: abcdefgh\r\n"), "{request}");
    assert!(request.ends_with(r#"{"device_id":"id-1","name":"Test"}"#), "{request}");
}

#[tokio::test]
async fn the_key_part_in_the_code_is_enough_and_the_whole_key_is_returned() {
    let gateway = ScriptedGateway::with_key().await;
    let input = PairingInput::Code(code().with_key(&gateway.pin()));
    let (credentials, request) = paired(&gateway, input).await;
    assert_eq!(credentials.key, Some(gateway.pin()));
    assert!(
        request.to_lowercase().contains("x-pairing-code: abcdefgh\r\n"),
        "the key part is not sent: {request}"
    );
}

#[tokio::test]
async fn a_link_is_enough_to_pair() {
    let gateway = ScriptedGateway::with_key().await;
    let link = PairingLink { url: gateway.url(), code: code(), key: Some(gateway.pin()) };
    let input: PairingInput = link.to_string().parse().unwrap();
    let (about, options) = (about(), PairOptions::default());
    let yes = pairing_response();
    let (credentials, _) = within_test_timeout("pairing", async {
        tokio::join!(pair(None, &input, &about, &options), gateway.answer("200 OK", &yes))
    })
    .await;
    let credentials = credentials.unwrap();
    assert_eq!((credentials.url, credentials.key), (gateway.url(), Some(gateway.pin())));
}

#[tokio::test]
async fn the_code_is_not_sent_to_a_gateway_with_another_key() {
    let gateway = ScriptedGateway::with_key().await;
    let other = KeyPin::from_bytes([7; 32]);
    for input in [
        PairingInput::Code(code().with_key(&other)),
        PairingInput::Link(PairingLink { url: gateway.url(), code: code(), key: Some(other) }),
    ] {
        let url = gateway.url();
        let (about, options) = (about(), PairOptions::default());
        let listening = async {
            match gateway.socket().await {
                Err(_) => 0,
                Ok(mut socket) => socket.read(&mut [0; 64]).await.unwrap_or_default(),
            }
        };
        let (result, received) = within_test_timeout("pairing", async {
            tokio::join!(pair(Some(&url), &input, &about, &options), listening)
        })
        .await;
        let Err(PairError::Connect(ConnectError::Key(mismatch))) = result else { panic!("{result:?}") };
        assert_eq!(mismatch.found, gateway.pin());
        assert_eq!(received, 0);
    }
}

#[tokio::test]
async fn a_refused_code_returns_the_gateways_message() {
    let gateway = ScriptedGateway::plain().await;
    let url = gateway.url();
    let (about, options, input) = (about(), PairOptions::default(), PairingInput::Code(code()));
    let no =
        json!({ "error": { "code": "code_unknown", "message": "the code is unknown, spent or expired" } });
    let (result, _) = within_test_timeout("pairing", async {
        tokio::join!(pair(Some(&url), &input, &about, &options), gateway.answer("401 Unauthorized", &no))
    })
    .await;
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), "the gateway refused the code: the code is unknown, spent or expired");
    assert!(error.hint().unwrap().contains("toolway pair"), "{:?}", error.hint());
}

#[tokio::test]
async fn insecure_pairing_is_not_attempted() {
    let (about, options) = (about(), PairOptions::default());
    let attempt = async |url: Option<&str>, code: PairingCode| {
        pair(url, &PairingInput::Code(code), &about, &options).await.unwrap_err()
    };
    assert!(matches!(attempt(None, code()).await, PairError::NoAddress));
    assert!(matches!(attempt(Some("http://192.0.2.1:7717"), code()).await, PairError::Insecure(_)));
    let with_key = code().with_key(&KeyPin::from_bytes([1; 32]));
    assert!(matches!(attempt(Some("http://127.0.0.1:1"), with_key).await, PairError::KeyWithoutTls));
    assert!(matches!(attempt(Some("nonsense"), code()).await, PairError::Address(_)));
}

#[tokio::test]
async fn an_invalid_response_is_reported() {
    let gateway = ScriptedGateway::plain().await;
    let url = gateway.url();
    let (about, options, input) = (about(), PairOptions::default(), PairingInput::Code(code()));
    for body in [json!({ "hello": 1 }), json!("hello")] {
        let (result, _) = within_test_timeout("pairing", async {
            tokio::join!(pair(Some(&url), &input, &about, &options), gateway.answer("200 OK", &body))
        })
        .await;
        assert!(matches!(result, Err(PairError::Connect(ConnectError::Http { .. }))), "{result:?}");
    }
}
