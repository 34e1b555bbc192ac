use std::time::Duration;

use serde_json::json;

use crate::support::{GatewayHarness, owner_token};

#[tokio::test]
async fn a_token_is_created_listed_used_and_revoked() {
    let bench = GatewayHarness::new().await;
    let body = json!({"role": "client", "label": "scripts", "agent": "home", "expires_in_s": 3600});
    let made = bench.send_as_owner("POST", "/api/tokens", Some(body)).await;
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.json();
    assert_eq!(made["role"], "client");
    assert_eq!(made["label"], "scripts");
    assert_eq!(made["agent"], "home");
    assert_eq!(made["status"], "active");
    assert_eq!(made["expires_ms"], json!(1_700_000_000_000_i64 + 3_600_000));
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());

    assert_eq!(bench.send("GET", "/api/tools", Some(token), None).await.status, 200);
    let listed = bench.send_as_owner("GET", "/api/tokens", None).await;
    assert!(!listed.body.contains(token), "its text is shown once");
    let find = |list: serde_json::Value| {
        let found = list["tokens"].as_array().unwrap().iter().find(|it| it["id"] == id).cloned();
        found.map(|it| it["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(find(listed.json()).as_deref(), Some("active"));

    let revoked = bench.send_as_owner("DELETE", &format!("/api/tokens/{id}"), None).await;
    assert_eq!((revoked.status, revoked.text("status")), (200, "revoked".to_owned()));
    assert_eq!(bench.send("GET", "/api/tools", Some(token), None).await.code(), "token_revoked");
    assert_eq!(find(bench.send_as_owner("GET", "/api/tokens", None).await.json()), None);
    let all = bench.send_as_owner("GET", "/api/tokens?all=true", None).await.json();
    assert_eq!(find(all).as_deref(), Some("revoked"));
    let again = bench.send_as_owner("DELETE", &format!("/api/tokens/{id}"), None).await;
    assert_eq!(again.json(), revoked.json());
}

#[tokio::test]
async fn spent_revoked_and_expired_have_different_codes_r17() {
    let bench = GatewayHarness::new().await;
    let body = json!({"role": "client", "expires_in_s": 60});
    let expiring = bench.send_as_owner("POST", "/api/tokens", Some(body)).await.text("token");
    let revoked = bench.create_token("device").await;
    bench.send_as_owner("DELETE", &format!("/api/tokens/{}", revoked.id), None).await;
    bench.clock.advance(Duration::from_secs(60));
    for (token, code) in [
        (expiring.as_str(), "token_expired"),
        (revoked.token.as_str(), "token_revoked"),
        ("twy_c_AAAA", "token_unknown"),
    ] {
        for path in ["/api/tools", "/ws/device", "/ws/chat"] {
            let refused = bench.send("GET", path, Some(token), None).await;
            assert_eq!((refused.status, refused.code().as_str()), (401, code), "{path}");
        }
    }
    let code = bench.create_code(json!({"role": "device"})).await.text("code");
    assert_eq!(bench.pair(&code, "").await.status, 200);
    let spent = bench.pair(&code, "").await;
    assert_eq!((spent.status, spent.code().as_str()), (401, "pairing_code_used"));
}

#[tokio::test]
async fn the_owners_token_is_replaced_in_the_file_too() {
    let bench = GatewayHarness::new().await;
    let rotated = bench.send_as_owner("POST", "/api/tokens/owner/rotate", None).await;
    assert_eq!(rotated.status, 200, "{rotated:?}");
    let new = rotated.text("token");
    assert_eq!(owner_token(bench.dir.path()), new);
    assert_eq!(bench.send_as_owner("GET", "/api/status", None).await.code(), "token_revoked");
    assert_eq!(bench.send("GET", "/api/status", Some(&new), None).await.status, 200);
}

#[tokio::test]
async fn the_gateways_own_tokens_cannot_be_revoked() {
    let bench = GatewayHarness::new().await;
    bench.gateway.issue_local_device().await.unwrap();
    for id in ["owner", "local-device"] {
        let refused = bench.send_as_owner("DELETE", &format!("/api/tokens/{id}"), None).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "token_protected"), "{id}");
    }
}

#[tokio::test]
async fn an_invalid_new_token_is_refused_with_the_reason() {
    let bench = GatewayHarness::new().await;
    for (body, word) in [
        (json!({}), "role"),
        (json!({"role": "owner"}), "owner"),
        (json!({"role": "client", "expires_in_s": 0}), "expires_in_s"),
        (json!({"role": "client", "expires_in_s": -5}), "expires_in_s"),
        (json!({"role": "client", "expires_in_s": 99_999_999_999_i64}), "expires_in_s"),
        (json!({"role": "client", "label": ""}), "label"),
        (json!({"role": "client", "label": "x".repeat(129)}), "label"),
        (json!({"role": "client", "label": "a\u{202e}b"}), "U+202E"),
        (json!({"role": "device", "agent": "home"}), "agent"),
        (json!({"role": "client", "lable": "x"}), "lable"),
        (json!([]), "wrong form"),
    ] {
        let refused = bench.send_as_owner("POST", "/api/tokens", Some(body.clone())).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"), "{body}");
        assert!(refused.body.contains(word), "{body}: {refused:?}");
    }
    let listed = bench.send_as_owner("GET", "/api/tokens?all=true", None).await.json();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1, "only the owner's");
}

#[tokio::test]
async fn ids_are_used_unchanged() {
    let bench = GatewayHarness::new().await;
    for id in ["x", "%00", "..%2f..%2fetc", "%F0%9F%98%80", "' OR 1=1 --".replace(' ', "%20").as_str()] {
        let refused = bench.send_as_owner("DELETE", &format!("/api/tokens/{id}"), None).await;
        assert_eq!((refused.status, refused.code().as_str()), (404, "token_not_found"), "{id}");
    }
    let refused = bench.send_as_owner("DELETE", "/api/tokens/%ff", None).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "malformed_request"));
}

#[tokio::test]
async fn no_token_is_returned_if_it_cannot_be_stored() {
    let bench = GatewayHarness::new().await;
    let code = bench.create_code(json!({"role": "device"})).await.text("code");
    bench.gateway.app().store.close().await;
    for answer in [
        bench.send_as_owner("POST", "/api/tokens", Some(json!({"role": "client"}))).await,
        bench.send_as_owner("POST", "/api/tokens/owner/rotate", None).await,
        bench.pair(&code, "").await,
    ] {
        assert_eq!((answer.status, answer.code().as_str()), (503, "storage_failed"));
    }
    assert_eq!(bench.send_as_owner("GET", "/health", None).await.status, 200);
    // The code stays valid.
    assert_eq!(bench.pair(&code, "").await.code(), "storage_failed");
}

#[tokio::test]
async fn a_valid_token_is_not_limited_by_invalid_ones_of_its_address() {
    let bench = GatewayHarness::with(json!({"limits": {"failed_sign_ins_per_minute": 3}})).await;
    let mut codes = Vec::new();
    for _ in 0..5 {
        let refused = bench.send("GET", "/api/tools", Some("wrong"), None).await;
        codes.push((refused.status, refused.header("retry-after").is_some()));
    }
    assert_eq!(codes, [(401, false), (401, false), (401, false), (429, true), (429, true)]);
    assert_eq!(bench.send_as_owner("GET", "/api/tools", None).await.status, 200);
}
