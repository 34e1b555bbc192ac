use serde::Deserialize;

use super::*;

#[allow(dead_code, reason = "only their schemas are of interest")]
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Metre,
    Foot,
}

/// Not part of the schema.
#[allow(dead_code, reason = "only its schema is of interest")]
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Distance {
    /// Start of the way, which is long enough
    /// for two lines.
    start_point: String,
    end: Option<f64>,
    /// Unit of the result.
    unit: Option<Unit>,
    #[schemars(range(max = 9))]
    #[serde(default)]
    count: Option<u64>,
}

#[test]
fn properties_are_in_the_order_of_the_fields() {
    assert_eq!(
        schema_of_arguments::<Distance>(OptionalArgument::Absent).get(),
        concat!(
            r#"{"additionalProperties":false,"properties":{"#,
            r#""startPoint":{"description":"Start of the way, which is long enough for two lines.","type":"string"},"#,
            r#""end":{"type":"number"},"#,
            r#""unit":{"description":"Unit of the result.","enum":["metre","foot"],"type":"string"},"#,
            r#""count":{"maximum":9,"minimum":0,"type":"integer"}"#,
            r#"},"required":["startPoint"],"type":"object"}"#,
        )
    );
}

#[test]
fn an_optional_argument_may_be_null_where_the_tool_accepts_null() {
    let schema = schema_of_arguments::<Distance>(OptionalArgument::AbsentOrNull).to_value();
    assert_eq!(schema["properties"]["end"]["type"], serde_json::json!(["number", "null"]));
    assert_eq!(schema["properties"]["unit"]["enum"], serde_json::json!(["metre", "foot", null]));
}

#[test]
fn only_formats_of_rust_are_removed() {
    for (format, stays) in [
        ("uint", false),
        ("uint64", false),
        ("int32", false),
        ("double", false),
        ("float", false),
        ("date-time", true),
        ("uri", true),
        ("interval", true),
    ] {
        let mut schema = JsonObject::from_iter([("format".to_owned(), format.into())]);
        remove_rust_format(&mut schema);
        assert_eq!(schema.contains_key("format"), stays, "{format}");
    }
}

#[test]
fn a_type_without_fields_has_no_properties() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    assert_eq!(schema_of_arguments::<Nothing>(OptionalArgument::Absent).get(), r#"{"type":"object"}"#);
}
