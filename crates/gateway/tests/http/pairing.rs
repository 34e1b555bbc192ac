use serde_json::json;

use crate::support::GatewayHarness;

#[tokio::test]
async fn a_code_becomes_a_token_of_its_role() {
    let bench = GatewayHarness::new().await;
    for (role, lists_tools) in [("device", 403), ("client", 200), ("companion", 200)] {
        let made = bench.create_code(json!({"role": role})).await;
        let (code, link) = (made.text("code"), made.text("link"));
        assert_eq!(code.len(), "ABCD-EFGH".len());
        assert!(link.starts_with("toolway://pair?url=http%3A%2F%2F127.0.0.1%3A"), "{link}");
        assert!(link.ends_with(&format!("&code={}", code.replace('-', ""))), "{link}");
        assert_eq!(made.json()["expires_ms"], json!(1_700_000_000_000_i64 + 600_000));
        assert!(made.json().get("key").is_none(), "nothing is encrypted");
        let about = r#"{"device_id":"id-1","name":"Ann's phone","platform":"Android 16","more":1}"#;
        let paired = bench.pair(&code, about).await;
        assert_eq!(paired.status, 200, "{paired:?}");
        assert_eq!(paired.header("cache-control"), Some("no-store"));
        let answer = paired.json();
        assert_eq!((&answer["paired"], &answer["persisted"]), (&json!(true), &json!(true)));
        let token = paired.text("token");
        assert_eq!(bench.send("GET", "/api/tools", Some(&token), None).await.status, lists_tools);
        let listed = bench.send_as_owner("GET", "/api/tokens", None).await.json();
        let found =
            listed["tokens"].as_array().unwrap().iter().find(|it| it["role"] == role).unwrap().clone();
        assert_eq!(found["label"], "Ann's phone");
        assert_eq!((&found["device_id"], &found["platform"]), (&json!("id-1"), &json!("Android 16")));
    }
}

#[tokio::test]
async fn the_notation_of_a_code_is_lenient_and_the_body_optional() {
    let bench = GatewayHarness::new().await;
    let made = bench.create_code(json!({"role": "client", "label": "laptop", "agent": "home"})).await;
    let typed = made.text("code").to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
    assert_eq!(bench.pair(&typed, "").await.status, 200);
    let listed = bench.send_as_owner("GET", "/api/tokens", None).await.json();
    let token =
        listed["tokens"].as_array().unwrap().iter().find(|it| it["role"] == "client").unwrap().clone();
    assert_eq!((&token["label"], &token["agent"]), (&json!("laptop"), &json!("home")));
}

#[tokio::test]
async fn ten_wrong_codes_invalidate_pending_codes() {
    let bench = GatewayHarness::new().await;
    let first = bench.create_code(json!({"role": "device"})).await.text("code");
    let second = bench.create_code(json!({"role": "client"})).await.text("code");
    for number in 0..10 {
        let refused = bench.pair(&format!("0000000{number}"), "").await;
        assert_eq!((refused.status, refused.code().as_str()), (401, "pairing_code_unknown"));
    }
    for code in [first, second] {
        let refused = bench.pair(&code, "").await;
        assert_eq!((refused.status, refused.code().as_str()), (429, "pairing_code_void"));
    }
    let third = bench.create_code(json!({"role": "device"})).await.text("code");
    assert_eq!(bench.pair(&third, "").await.status, 200);
}

#[tokio::test]
async fn the_attempts_of_an_address_are_limited() {
    let bench = GatewayHarness::with(json!({"limits": {"pairing_attempts_per_minute": 2}})).await;
    let code = bench.create_code(json!({"role": "device"})).await.text("code");
    bench.pair("00000000", "").await;
    bench.pair("00000000", "").await;
    let refused = bench.pair(&code, "").await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_attempts"));
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() <= 31);
}

#[tokio::test]
async fn a_malformed_attempt_is_refused_and_uses_no_code() {
    let bench = GatewayHarness::new().await;
    let code = bench.create_code(json!({"role": "device"})).await.text("code");
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(129));
    for (given, body, refusal) in [
        ("", "", "pairing_code_malformed"),
        ("ABC", "", "pairing_code_malformed"),
        ("ABCD-EFG!", "", "pairing_code_malformed"),
        (code.as_str(), "{", "malformed_request"),
        (code.as_str(), "[]", "malformed_request"),
        (code.as_str(), r#"{"name":5}"#, "malformed_request"),
        (code.as_str(), r#"{"device_id":""}"#, "malformed_request"),
        (code.as_str(), r#"{"name":"a\u0000b"}"#, "malformed_request"),
        (code.as_str(), long.as_str(), "malformed_request"),
    ] {
        let refused = bench.pair(given, body).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, refusal), "{given} {body}");
    }
    let none = bench.send("POST", "/pair", None, None).await;
    assert_eq!((none.status, none.code().as_str()), (400, "pairing_code_missing"));
    assert_eq!(bench.pair(&code, "").await.status, 200);
}

#[tokio::test]
async fn an_invalid_new_code_is_refused_with_the_reason() {
    let bench = GatewayHarness::with(json!({"limits": {"pairing_codes": 1}})).await;
    for body in [
        // The default role is device.
        json!({"agent": "home"}),
        json!({"role": "owner"}),
        json!({"role": "device", "agent": "home"}),
        json!({"role": "device", "label": ""}),
        json!({"role": "device", "lable": "x"}),
    ] {
        let refused = bench.send_as_owner("POST", "/api/pair", Some(body.clone())).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{body}");
    }
    bench.create_code(json!({"role": "device"})).await;
    let refused = bench.send_as_owner("POST", "/api/pair", Some(json!({"role": "device"}))).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_pairing_codes"));
}
