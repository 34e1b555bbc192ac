use serde_json::json;

use super::*;

#[test]
fn marked_parameters_are_repeated_in_headers() {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            "in": {"type": "object", "properties": {"key": {"type": "string", "x-mcp-header": "Key"}}},
            "plain": {"type": "string", "default": {"x-mcp-header": "not a schema"}},
        },
    });
    let params = header_params(&schema).unwrap();
    let headers = |arguments: Value| {
        let mut headers: Vec<_> = argument_headers(&params, &arguments)
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        headers.sort();
        headers
    };
    assert_eq!(
        headers(json!({"region": "eu west", "count": 3, "dry": false, "in": {"key": "k"}, "plain": "x"})),
        ["mcp-param-count: 3", "mcp-param-dry-run: false", "mcp-param-key: k", "mcp-param-region: eu west"]
    );
    assert_eq!(headers(json!({"region": null, "in": 3})), Vec::<String>::new());
    // The encodings of the table in MCP 2026-07-28, Transports, "Streamable HTTP" (`Mcp-Param` headers).
    assert_eq!(
        headers(json!({"region": "Hello, 世界"})),
        ["mcp-param-region: =?base64?SGVsbG8sIOS4lueVjA==?="]
    );
    assert_eq!(headers(json!({"region": " padded "})), ["mcp-param-region: =?base64?IHBhZGRlZCA=?="]);
    assert_eq!(
        headers(json!({"region": "=?base64?eA==?="})),
        ["mcp-param-region: =?base64?PT9iYXNlNjQ/ZUE9PT89?="]
    );
    assert_eq!(headers(json!({"region": ""})), ["mcp-param-region: "]);
}

#[test]
fn bad_marks_are_refused() {
    let with = |property: Value| json!({"type": "object", "properties": {"p": property}});
    for bad in [
        json!({"x-mcp-header": "X", "type": "object"}),
        with(json!({"type": "string", "x-mcp-header": ""})),
        with(json!({"type": "string", "x-mcp-header": 7})),
        with(json!({"type": "string", "x-mcp-header": "My Region"})),
        with(json!({"type": "string", "x-mcp-header": "Région"})),
        with(json!({"type": "string", "x-mcp-header": "a\r\nb"})),
        with(json!({"type": "number", "x-mcp-header": "X"})),
        with(json!({"type": "object", "x-mcp-header": "X"})),
        with(json!({"x-mcp-header": "X"})),
        with(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "X"}})),
        json!({"$defs": {"d": {"type": "string", "x-mcp-header": "X"}}}),
        json!({"anyOf": [{"properties": {"p": {"type": "string", "x-mcp-header": "X"}}}]}),
        json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "Same"},
            "b": {"type": "string", "x-mcp-header": "same"},
        }}),
    ] {
        assert!(header_params(&bad).is_err(), "{bad}");
    }
    assert_eq!(header_params(&json!({"type": "object"})), Ok(Vec::new()));
    assert_eq!(header_params(&json!(true)), Ok(Vec::new()));
}

#[test]
fn headers_are_compared_with_the_arguments() {
    let schema =
        json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let params = header_params(&schema).unwrap();
    let check = |values: &[&str], arguments: Value| {
        let name = HeaderName::from_static("mcp-param-region");
        let pairs = values.iter().map(|value| (name.clone(), HeaderValue::from_str(value).unwrap()));
        let mut headers = HeaderMap::new();
        pairs.for_each(|(name, value)| _ = headers.append(name, value));
        check_argument_headers(&params, &arguments, &headers).is_ok()
    };
    assert!(check(&["eu"], json!({"region": "eu"})));
    assert!(check(&["=?base64?w6k=?="], json!({"region": "é"})));
    assert!(check(&[], json!({})) && check(&[], json!({"region": null})));
    assert!(!check(&["us"], json!({"region": "eu"})));
    assert!(!check(&[], json!({"region": "eu"})));
    assert!(!check(&["eu"], json!({})));
    assert!(!check(&["=?base64?!?="], json!({"region": "eu"})));
    // A proxy might go by the other one.
    assert!(!check(&["eu", "eu"], json!({"region": "eu"})));
}
