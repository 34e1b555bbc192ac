use serde_json::json;

use super::*;

#[track_caller]
fn written(error: OpenAiApiError) -> (u16, serde_json::Value, String) {
    let words = serde_json::to_value(error.to_response()).unwrap();
    let response = error.into_response();
    let retry = response.headers()["x-should-retry"].to_str().unwrap().to_owned();
    (response.status().as_u16(), words, retry)
}

#[test]
fn an_error_has_openais_form() {
    let error = OpenAiApiError::invalid("messages[0].role", "no such role");
    let words = json!({"error": {"message": "no such role", "type": "invalid_request_error",
                                  "param": "messages[0].role", "code": "invalid_value"}});
    assert_eq!(written(error), (400, words, "false".to_owned()));
    let unknown = NoSuchAgent { name: "hom".to_owned(), close: vec!["home".to_owned()] };
    let words = json!({"error": {
        "message": "The model `hom` does not exist: there is no agent \"hom\"; did you mean home?",
        "type": "invalid_request_error", "param": "model", "code": "model_not_found"}});
    assert_eq!(written(OpenAiApiError::no_such_model(&unknown)), (404, words, "false".to_owned()));
}

#[test]
fn each_turn_failure_has_its_status() {
    use TurnFailureCode as Code;
    for (code, status, kind, word, retry) in [
        (Code::NoModel, 503, "server_error", "no_model", "false"),
        (Code::Auth, 502, "server_error", "provider_auth", "false"),
        (Code::Provider, 502, "server_error", "provider_failed", "false"),
        (Code::LimitReached, 500, "server_error", "limit_reached", "false"),
        (Code::BudgetExceeded, 429, "insufficient_quota", "insufficient_quota", "false"),
        (Code::ContextTooLong, 400, "invalid_request_error", "context_length_exceeded", "false"),
        (Code::ShuttingDown, 503, "server_error", "shutting_down", "true"),
        (Code::Internal, 500, "server_error", "internal", "false"),
    ] {
        let why = TurnFailure { code, message: "it failed".to_owned(), hint: Some("do this".to_owned()) };
        let words =
            json!({"error": {"message": "it failed (do this)", "type": kind, "param": null, "code": word}});
        assert_eq!(
            written(OpenAiApiError::from_turn_failure(&why)),
            (status, words, retry.to_owned()),
            "{code:?}"
        );
    }
}

#[test]
fn errors_of_the_gateway_are_converted() {
    for (status, code, kind, word, retry) in [
        (StatusCode::UNAUTHORIZED, "token_revoked", "invalid_request_error", "invalid_api_key", "false"),
        (StatusCode::FORBIDDEN, "agent_forbidden", "permission_error", "agent_forbidden", "false"),
        (StatusCode::TOO_MANY_REQUESTS, "too_many_turns", "rate_limit_error", "rate_limit_exceeded", "true"),
        (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "invalid_request_error", "body_too_large", "false"),
        (StatusCode::SERVICE_UNAVAILABLE, "storage_failed", "server_error", "storage_failed", "true"),
    ] {
        let error = OpenAiApiError::from(ApiError::new(status, code, "no").with_hint("do this"));
        let words = json!({"error": {"message": "no (do this)", "type": kind, "param": null, "code": word}});
        assert_eq!(written(error), (status.as_u16(), words, retry.to_owned()), "{code}");
    }
}

#[test]
fn headers_for_sign_in_and_retry_are_kept() {
    let refused = ApiError::new(StatusCode::UNAUTHORIZED, "token_missing", "a token is needed");
    let response = OpenAiApiError::from(refused).into_response();
    assert_eq!(response.headers()[WWW_AUTHENTICATE], "Bearer");
    let slow = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_failures", "slow down");
    let response = OpenAiApiError::from(slow.retry_after(Duration::from_secs(7))).into_response();
    assert_eq!(response.headers()[RETRY_AFTER], "8");
}
