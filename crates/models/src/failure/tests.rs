use http::HeaderValue;

use super::*;
use crate::error::ModelErrorKind as Kind;
use crate::provider::AvailableModel;
use crate::provider_kind::ProviderKind;

fn config() -> ProviderConfig {
    let base_url = "https://api.example.org/v1".parse().unwrap();
    ProviderConfig::new("mine", ProviderKind::Openai, base_url)
        .with_key("sk-0123456789", "the environment variable MINE_KEY")
}

fn answer(status: u16, body: &str) -> AttemptFailure {
    answer_with(status, body, &HeaderMap::new())
}

fn answer_with(status: u16, body: &str, headers: &HeaderMap) -> AttemptFailure {
    let url = "https://api.example.org/v1/chat/completions".parse().unwrap();
    from_response(&config(), &url, "m-1", StatusCode::from_u16(status).unwrap(), headers, body.as_bytes())
}

/// The kinds of refusals as their providers document them, and whether they are worth another attempt.
#[test]
fn errors_of_all_providers_are_classified() {
    for (status, body, kind, again) in [
        // OpenAI.
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided: sk-01***89.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            Kind::Auth,
            false,
        ),
        (
            404,
            r#"{"error":{"message":"The model `m-1` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
            Kind::ModelNotFound,
            false,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            Kind::ContextTooLong,
            false,
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            Kind::RateLimited,
            false,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for m-1","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            Kind::RateLimited,
            true,
        ),
        (
            500,
            r#"{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}"#,
            Kind::Overloaded,
            true,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid schema for function 'x'","type":"invalid_request_error","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}"#,
            Kind::InvalidRequest,
            false,
        ),
        // Anthropic.
        (
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            Kind::Auth,
            false,
        ),
        (
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission"}}"#,
            Kind::Auth,
            false,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: m-1"}}"#,
            Kind::ModelNotFound,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
            Kind::ContextTooLong,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            Kind::ContextTooLong,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            Kind::RateLimited,
            false,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes"}}"#,
            Kind::InvalidRequest,
            false,
        ),
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}"#,
            Kind::RateLimited,
            true,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Kind::Overloaded,
            true,
        ),
        // Gemini.
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
            Kind::Auth,
            false,
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"models/m-1 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#,
            Kind::ModelNotFound,
            false,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
            Kind::ContextTooLong,
            false,
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#,
            Kind::RateLimited,
            true,
        ),
        (
            503,
            r#"[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]"#,
            Kind::Overloaded,
            true,
        ),
        // Others.
        (
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            Kind::RateLimited,
            false,
        ),
        (
            400,
            r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            Kind::ModelNotFound,
            false,
        ),
        (
            404,
            r#"{"error":{"message":"model \"m-1\" not found, try pulling it first","type":"api_error","param":null,"code":null}}"#,
            Kind::ModelNotFound,
            false,
        ),
        (
            400,
            r#"{"error":{"message":"m-1 is not a valid model ID","code":400},"user_id":"u"}"#,
            Kind::ModelNotFound,
            false,
        ),
        (
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
            Kind::ContextTooLong,
            false,
        ),
        (
            422,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not permitted","input":1}]},"type":"invalid_request_error"}"#,
            Kind::InvalidRequest,
            false,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
            Kind::ContextTooLong,
            false,
        ),
        (
            413,
            r#"{"error":{"message":"Request too large for model `m-1` on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}"#,
            Kind::RateLimited,
            true,
        ),
        (
            429,
            r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m-1 is temporarily rate-limited upstream","provider_name":"P"}}}"#,
            Kind::RateLimited,
            true,
        ),
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: sk***89."}"#,
            Kind::Auth,
            false,
        ),
        (
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            Kind::Overloaded,
            true,
        ),
        (502, "<html><head><title>502 Bad Gateway</title></head></html>", Kind::Overloaded, true),
        (404, "<!DOCTYPE html><html><title>Not Found</title>", Kind::InvalidRequest, false),
        (404, r#"{"detail":"Not Found"}"#, Kind::InvalidRequest, false),
        (405, "", Kind::InvalidRequest, false),
        (408, "", Kind::Overloaded, true),
        (501, "", Kind::InvalidRequest, false),
        (400, "not json", Kind::InvalidRequest, false),
    ] {
        let failure = answer(status, body);
        assert_eq!((failure.error.kind, failure.is_retryable), (kind, again), "{status} {body}");
        assert_eq!(failure.error.status, Some(status));
        assert_eq!(&*failure.error.provider, "mine");
    }
}

#[test]
fn a_refused_key_is_named_by_its_location_and_never_shown() {
    let error = answer(401, r#"{"error":{"message":"The key sk-0123456789 is wrong"}}"#).error;
    assert_eq!(error.to_string(), "mine: refused the key (HTTP 401): The key [redacted] is wrong");
    assert_eq!(
        error.hint.unwrap(),
        "The key comes from the environment variable MINE_KEY. Check that it is complete, still valid, and allowed to use this model."
    );
    let mut without = config();
    without.key = None;
    let url = "https://x.org/".parse().unwrap();
    let error = from_response(&without, &url, "m", StatusCode::UNAUTHORIZED, &HeaderMap::new(), b"").error;
    assert_eq!(error.to_string(), "mine: refused the key (HTTP 401)");
    assert_eq!(error.hint.unwrap(), "No key was sent: the environment variable MINE_KEY is not set.");
}

#[test]
fn secrets_in_headers_are_not_shown_either() {
    let mut config = config();
    config.headers.insert("x-api-token", HeaderValue::from_static("Basic hunter2222"));
    config.headers.insert("x-title", HeaderValue::from_static("toolway"));
    let text = sanitize_quote(&config, "toolway sent hunter2222 and sk-0123456789");
    assert_eq!(text, "toolway sent [redacted] and [redacted]");
}

#[test]
fn a_providers_text_is_one_line_and_truncated() {
    let error = answer(400, &format!("{{\"error\":\"a\\n\\u202Eb\\u001b[31m {}\"}}", "x".repeat(5000))).error;
    assert!(error.message.starts_with("refused the request (HTTP 400): a b [31m xxx"), "{}", error.message);
    assert!(error.message.ends_with('…') && error.message.len() < 700);
    let page = answer(502, "<html><TITLE> Bad\n gateway </TITLE>").error;
    assert_eq!(page.message, "failed or is overloaded (HTTP 502): a web page, \"Bad\\n gateway\"");
}

#[test]
fn the_requested_address_is_shown_if_it_does_not_exist() {
    let error = answer(404, "").error;
    let hint = error.hint.unwrap();
    assert!(hint.starts_with("https://api.example.org/v1/chat/completions was requested."), "{hint}");
    let mut headers = HeaderMap::new();
    headers.insert("location", HeaderValue::from_static("https://elsewhere.org/"));
    let failure = answer_with(301, "", &headers);
    assert_eq!(failure.error.message, "responded with 301 and redirects to https://elsewhere.org/");
    assert!(!failure.is_retryable);
}

#[test]
fn retry_after_is_read_from_headers() {
    let after = |headers: &[(&'static str, &'static str)]| {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        answer_with(429, "", &map).error.retry_after.map(|wait| wait.as_millis())
    };
    assert_eq!(after(&[("retry-after", "12")]), Some(12_000));
    assert_eq!(after(&[("retry-after", "0.5")]), Some(500));
    assert_eq!(after(&[("retry-after", "12"), ("retry-after-ms", "1500")]), Some(1500));
    let date = ("date", "Fri, 31 Dec 1999 23:59:30 GMT");
    assert_eq!(after(&[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"), date]), Some(29_000));
    assert_eq!(after(&[("retry-after", "Friday, 31-Dec-99 23:59:59 GMT"), date]), Some(29_000));
    assert_eq!(after(&[("retry-after", "Fri, 31 Dec 1999 23:00:00 GMT"), date]), Some(0));
    assert_eq!(after(&[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")]), None);
    assert_eq!(after(&[("retry-after", "soon")]), None);
    assert_eq!(after(&[("retry-after", "-3")]), None);
    assert_eq!(after(&[("retry-after", "1e300")]), None);
    let google = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34.5s"}]}}"#;
    assert_eq!(answer(429, google).error.retry_after, Some(Duration::from_millis(34_500)));
}

#[test]
fn the_header_should_retry_overrides_the_status() {
    let mut headers = HeaderMap::new();
    headers.insert("x-should-retry", HeaderValue::from_static("false"));
    assert!(!answer_with(500, "", &headers).is_retryable);
    headers.insert("x-should-retry", HeaderValue::from_static("true"));
    assert!(answer_with(400, "", &headers).is_retryable);
    assert!(!answer_with(401, "", &headers).is_retryable);
}

#[test]
fn errors_inside_a_stream_are_classified() {
    for (data, kind, again) in [
        (r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#, Kind::Overloaded, true),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}"#,
            Kind::InvalidRequest,
            false,
        ),
        (r#"{"error":{"code":502,"message":"Provider disconnected"}}"#, Kind::Overloaded, true),
        (r#"{"error":{"code":"429","message":"slower"}}"#, Kind::RateLimited, true),
        (r#"{"error":"it broke"}"#, Kind::Overloaded, true),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            Kind::InvalidRequest,
            false,
        ),
        (
            r#"{"type":"error","code":"server_error","message":"m","param":null,"sequence_number":1}"#,
            Kind::Overloaded,
            true,
        ),
    ] {
        let failure = from_stream_error(&config(), "m", &ProviderErrorBody::from_text(data).unwrap());
        assert_eq!((failure.error.kind, failure.is_retryable), (kind, again), "{data}");
    }
    for no_error in
        [r#"{"choices":[]}"#, r#"{"error":null}"#, "[]", "{}", "x", r#"{"detail":1,"choices":[]}"#]
    {
        assert_eq!(ProviderErrorBody::from_text(no_error), None, "{no_error}");
    }
}

#[test]
fn similar_model_names_are_suggested() {
    let offered: Vec<_> = ["gpt-5.1", "gpt-5.1-mini", "text-embedding-3-small", "openai/gpt-4o", "o3"]
        .iter()
        .map(|id| AvailableModel { id: (*id).to_owned(), context_tokens: None })
        .collect();
    let hint = |model: &str, offered: &[AvailableModel]| {
        with_similar_models(ModelError::new(Kind::ModelNotFound, "mine", "no"), model, offered).hint.unwrap()
    };
    assert_eq!(hint("gpt-51", &offered), "Similar models: gpt-5.1, gpt-5.1-mini, openai/gpt-4o.");
    assert!(hint("GPT-4o", &offered).starts_with("Similar models: openai/gpt-4o, "));
    assert_eq!(hint("claude", &offered), "The provider offers 5 models, none with a similar name.");
    assert_eq!(hint("claude", &[]), "The provider offers no models.");
}
