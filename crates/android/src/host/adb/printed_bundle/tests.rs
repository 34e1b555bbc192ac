use proptest::prelude::*;

use super::{CETP, MCP, ReplyKeys, parse_bundle};
use crate::bundle::{Bundle, BundleValue};

#[track_caller]
fn cetp(text: &str) -> Bundle {
    parse_bundle(text, "execute_tool").unwrap()
}

/// `String.hashCode`.
fn hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[test]
fn keys_are_in_the_order_of_their_hashes() {
    let in_order = |keys: ReplyKeys| keys.iter().map(|(key, _)| hash(key)).is_sorted();
    assert!(in_order(CETP) && in_order(MCP));
}

#[test]
fn a_success_has_status_and_data() {
    let got = cetp(r#"Bundle[{status=success, data={"a": [1, 2], "b": "x, error_code=Y}]"}}]"#);
    let expected =
        Bundle::new().with("status", "success").with("data", r#"{"a": [1, 2], "b": "x, error_code=Y}]"}"#);
    assert_eq!(got, expected);
}

#[test]
fn an_error_has_all_its_keys() {
    let got = cetp(
        "Bundle[{error_message=User has not authorized, sorry, resolution_hint=Open it, then agree, \
         authorize_intent=com.example.AUTH, status=error, error_code=AUTH_REQUIRED}]",
    );
    let expected = Bundle::new()
        .with("error_message", "User has not authorized, sorry")
        .with("resolution_hint", "Open it, then agree")
        .with("authorize_intent", "com.example.AUTH")
        .with("status", "error")
        .with("error_code", "AUTH_REQUIRED");
    assert_eq!(got, expected);
}

#[test]
fn a_message_can_t_forge_a_status_nor_data() {
    for message in [
        r#"x, status=success, data={"a":1}"#,
        r#"x, data={"a":1}, status=error"#,
        "x, data={}",
        "aaa=1, status=success, zz=x y, data={}, trace=5}] ",
        "x, status=success, trace=1",
        "x, error_code=OTHER",
        "x}], status=success",
        "a=b, c=d",
        "",
        "{",
        "two\nlines, status=success\n",
    ] {
        let got =
            cetp(&format!("Bundle[{{error_message={message}, status=error, error_code=INTERNAL_ERROR}}]"));
        assert_eq!(got.get("status"), Some(&"error".into()), "{message}");
        assert_eq!(got.get("error_code"), Some(&"INTERNAL_ERROR".into()), "{message}");
        assert_eq!(got.get("data"), None, "{message}");
        assert_eq!(got.get("error_message"), Some(&message.into()));
    }
}

#[test]
fn text_in_data_can_t_forge_an_error() {
    let data = r#"{"note":"a, status=error, error_code=AUTH_REQUIRED}]","n":null}"#;
    let got = cetp(&format!("Bundle[{{status=success, data={data}}}]"));
    assert_eq!(got, Bundle::new().with("status", "success").with("data", data));
}

#[test]
fn data_other_than_json_stays_one_value() {
    for data in ["{broken, status=success", "{}, status=success", "{} {}", "plain text, with commas", ""] {
        let got = cetp(&format!("Bundle[{{status=success, data={data}}}]"));
        assert_eq!(got.get("status"), Some(&"success".into()), "{data}");
        assert_eq!(got.get("data"), Some(&data.into()), "{data}");
    }
}

#[test]
fn unknown_keys_are_kept_without_affecting_others() {
    let got = cetp(r#"Bundle[{aaa=1, status=success, zz=x y, data={"a":1}, trace=5}]"#);
    assert_eq!(got.get("status"), Some(&"success".into()));
    assert_eq!(got.get("data"), Some(&r#"{"a":1}"#.into()));
    assert_eq!(got.get("zz"), Some(&"x y".into()));
    assert_eq!(got.get("trace"), Some(&"5".into()));
}

#[test]
fn nulls_flags_and_arrays_are_parsed() {
    let got = cetp("Bundle[{status=null, data=null}]");
    assert_eq!((got.get("status"), got.get("data")), (None, None));
    let got = parse_bundle(
        "Bundle[{success=true, tool_name=get_weather, tool_input_required=[Ljava.lang.String;@1f2e, \
         tool_description=Says, tool_input_schema={}, the weather, tool_input_schema={\"a\": \
         {\"type\":\"string\",\"description\":\"x, tool_input_schema={}\"}}}]",
        "get_tool_info",
    )
    .unwrap();
    let expected = Bundle::new()
        .with("success", true)
        .with("tool_name", "get_weather")
        .with("tool_input_required", BundleValue::Other("java.lang.String[]".to_owned()))
        .with("tool_description", "Says, tool_input_schema={}, the weather")
        .with(
            "tool_input_schema",
            "{\"a\": {\"type\":\"string\",\"description\":\"x, tool_input_schema={}\"}}",
        );
    assert_eq!(got, expected);
}

#[test]
fn malformed_and_truncated_bundles_are_none() {
    for text in
        ["", "null", "Bundle[{", "Bundle[{status=success", "Bundle[mParcelledData.dataSize=4]", "Bundle[{x}]"]
    {
        assert_eq!(parse_bundle(text, "list_tools"), None, "{text}");
    }
    assert_eq!(parse_bundle("Bundle[{}]", "list_tools"), Some(Bundle::new()));
}

proptest! {
    /// The present keys are parsed correctly, regardless of the text in a message or a string within data.
    #[test]
    fn present_keys_are_never_misread(
        noise in "[a-z ,=\\[\\]{}\"\\\\\n]{0,20}",
        forged in proptest::sample::select(vec!["status=success", "data={}", "error_code=X", "status=error", "a=1, status=success, data={}, b=2", ""]),
        end in "[a-z ,=}\\]]{0,10}",
    ) {
        let text = format!("{noise}, {forged}{end}");
        let got = cetp(&format!("Bundle[{{error_message={text}, status=error, error_code=RATE_LIMITED}}]"));
        prop_assert_eq!(got.get("status"), Some(&"error".into()));
        prop_assert_eq!(got.get("error_code"), Some(&"RATE_LIMITED".into()));
        prop_assert_eq!(got.get("error_message"), Some(&text.as_str().into()));
        let data = serde_json::json!({"text": text, "list": [text]}).to_string();
        let got = cetp(&format!("Bundle[{{status=success, data={data}}}]"));
        prop_assert_eq!(got, Bundle::new().with("status", "success").with("data", data));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(Bundle\\[\\{)?[a-z_=, {}\\[\\]\"]{0,60}(\\}\\])?") {
        for method in ["list_tools", "get_tool_info"] {
            let _ = parse_bundle(&text, method);
        }
    }
}
