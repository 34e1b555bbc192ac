use super::*;
use crate::testkit::json;

/// Names found; `*` for everything.
#[track_caller]
fn names(schema: &str) -> Vec<String> {
    let Some(secrets) = SecretProperties::of(&json(schema)) else { return vec!["nothing marked".to_owned()] };
    let all = secrets.is_all_secret().then(|| "*".to_owned());
    all.into_iter().chain(secrets.names.iter().map(ToString::to_string)).collect()
}

#[test]
fn marks_are_found_at_every_position() {
    for (schema, expected) in [
        (r#"{"properties":{"a":{"writeOnly":true},"b":{}}}"#, vec!["a"]),
        (r#"{"properties":{"a":{"properties":{"b":{"writeOnly":true}}}}}"#, vec!["b"]),
        (r#"{"properties":{"a":{"items":{"properties":{"b":{"writeOnly":true}}}}}}"#, vec!["b"]),
        (r#"{"anyOf":[{"properties":{"a":{"writeOnly":true}}},{"properties":{"b":{}}}]}"#, vec!["a"]),
        (r##"{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"writeOnly":true}}}}}"##, vec!["a"]),
    ] {
        assert_eq!(names(schema), expected, "{schema}");
    }
}

#[test]
fn marks_are_followed_through_references_and_combinations() {
    for schema in [
        r##"{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"writeOnly":true}}}"##,
        r##"{"properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"$ref":"#/$defs/s"},"s":{"writeOnly":true}}}"##,
        r##"{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/s"},{"type":"null"}]}},"$defs":{"s":{"writeOnly":true}}}"##,
        r#"{"properties":{"a":{"allOf":[{"writeOnly":true}]}}}"#,
        r#"{"properties":{"a":{"if":{},"then":{"writeOnly":true}}}}"#,
        r#"{"properties":{"a":{"items":{"writeOnly":true}}}}"#,
        r#"{"properties":{"a":{"items":[{},{"writeOnly":true}]}}}"#,
        r#"{"properties":{"a":{"prefixItems":[{"writeOnly":true}]}}}"#,
        r#"{"properties":{"a":{"additionalProperties":{"writeOnly":true}}}}"#,
        r#"{"properties":{"a":{"patternProperties":{"^x":{"items":{"writeOnly":true}}}}}}"#,
    ] {
        assert_eq!(names(schema), ["a"], "{schema}");
    }
}

#[test]
fn a_mark_on_an_unnamed_part_makes_the_whole_value_secret() {
    for schema in [
        r#"{"writeOnly":true}"#,
        r#"{"additionalProperties":{"writeOnly":true}}"#,
        r#"{"patternProperties":{"key$":{"writeOnly":true}}}"#,
        r##"{"$ref":"#/$defs/x","$defs":{"x":{"unevaluatedProperties":{"writeOnly":true}}}}"##,
    ] {
        assert_eq!(names(schema), ["*"], "{schema}");
    }
}

#[test]
fn an_unresolved_reference_counts_as_marked() {
    let by_anchor =
        r##"{"properties":{"a":{"$ref":"#s"},"b":{}},"$defs":{"s":{"$anchor":"s","writeOnly":true}}}"##;
    assert_eq!(names(by_anchor), ["a"]);
}

#[test]
fn a_search_through_cycles_ends() {
    let circle = r##"{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#"},"c":{"writeOnly":true}},
        "$defs":{"x":{"anyOf":[{"$ref":"#/$defs/y"}]},"y":{"items":{"$ref":"#/$defs/x"}}}}"##;
    assert_eq!(names(circle), ["c"]);
}

#[test]
fn text_that_only_resembles_a_mark_is_ignored() {
    for schema in [
        r#"{"properties":{"a":{"type":"string"}}}"#,
        r#"{"properties":{"a":{"writeOnly":false}}}"#,
        r#"{"properties":{"a":{"writeOnly":"true"}}}"#,
        r#"{"properties":{"writeOnly":{"type":"boolean"}}}"#,
    ] {
        assert_eq!(names(schema), ["nothing marked"], "{schema}");
    }
}

/// Definitions reached through every property: visited up to the limit, then everything is secret.
#[test]
fn the_search_for_marks_is_limited() {
    let properties: Vec<_> = (0..3000).map(|at| format!(r##""p{at}":{{"$ref":"#/$defs/many"}}"##)).collect();
    let schema = |last: &str| {
        let choices = vec!["{}"; 3000].join(",");
        format!(
            r#"{{"properties":{{"pin":{{"writeOnly":true}},{}}},"$defs":{{"many":{{"anyOf":[{last},{choices}]}}}}}}"#,
            properties.join(",")
        )
    };
    assert_eq!(names(&schema("{}")), ["pin"], "what leads to no mark is looked at once");
    let marked = schema(r#"{"writeOnly":true}"#);
    let found = names(&marked);
    assert_eq!(found.first().map(String::as_str), Some("*"));
}
