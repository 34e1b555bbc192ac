use serde_json::json;

use super::*;

#[track_caller]
fn positions(pattern: &str) -> u64 {
    PatternCost::of(pattern).unwrap().positions
}

/// The numbers are counted by hand: one for each character that the written-out pattern has.
#[test]
fn repetitions_count_as_written_out() {
    for (pattern, expected) in [
        ("", 0),
        ("abc", 3),
        ("^abc$", 3),
        ("a{5}", 5),
        ("a{2,5}", 5),
        ("a{5,}", 6),
        ("a{,5}", 5),
        ("(ab){10}", 20),
        ("((a{30}){30}){30}", 27_000),
        ("(?:a|bc){4}", 12),
        ("[a-z]{3}x", 4),
        ("[]a]{3}", 3),
        (r"\{5\}", 3),
        (r"[\]]{2}", 2),
        ("a{x}", 4),
        (r"\p{L}{7}\pN{2}", 9),
        ("(?<name>a){3}", 3),
        ("(?<=a)(?<!b)(?=c)(?!d)(?>e){2}", 6),
        ("(?i)a{3}", 3),
        ("(?i:a){3}", 3),
        ("a*b+c?", 3),
        ("(", 0),
        ("a)b", 2),
    ] {
        assert_eq!(positions(pattern), expected, "{pattern}");
    }
    assert_eq!(PatternCost::of("a{99999999999999999999999}"), Err(PatternError::TooLarge));
}

#[test]
fn a_pattern_that_would_be_large_is_refused() {
    for pattern in [
        r"[\p{L}\p{N}]{100}|x0".to_owned(),
        r"(?:\p{L}{20}){20}".to_owned(),
        r"(?i)(?:[a-z]{100}){100}".to_owned(),
        r"\p{L}".repeat(3000),
        "((((a{10}){10}){10}){10}){10}".to_owned(),
    ] {
        assert_eq!(PatternCost::of(&pattern), Err(PatternError::TooLarge), "{pattern:.60}");
    }
    assert_eq!(PatternCost::of(&"a".repeat(16_385)), Err(PatternError::TooLong(16_385)));
    assert!(PatternCost::of(&"a".repeat(16_384)).is_ok());
}

/// A validator translates `\w` to ASCII, but not in patterns with look-around.
#[test]
fn shorthands_are_larger_in_patterns_that_are_not_translated() {
    let bytes = |pattern| PatternCost::of(pattern).unwrap().bytes;
    assert!(bytes(r"\w{20}x") < 100_000);
    assert!(bytes(r"(?=a)\w{20}x") > 1_000_000);
    assert!(bytes(r"(a)\1\w{20}x") > 1_000_000);
    assert!(bytes(r"^(?=.*\d)(?=.*[a-z]).{8,64}$") < 500_000);
}

#[test]
fn usual_patterns_are_accepted() {
    for pattern in [
        r"^[\p{L}\p{M} .'-]{1,100}$",
        r"^\p{L}{1,40}$",
        r"^[\p{L} '-]{2,30}( [\p{L} '-]{2,30})?$",
        r"^.{1,64}@.{1,255}$",
        r"^(?=.*[A-Z])(?=.*\d).{8,128}$",
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^((25[0-5]|(2[0-4]|1\d|[1-9]|)\d)\.?\b){4}$",
        r"^data:image/(png|jpeg);base64,[A-Za-z0-9+/]+={0,2}$",
        r"^[^\s@]+@[^\s@]+\.[^\s@]+$",
        r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    ] {
        assert!(PatternCost::of(pattern).is_ok(), "{pattern}");
    }
}

/// Constructs of the engine that no JSON Schema needs, and that would hide cost from the scan.
#[test]
fn constructs_of_unknown_cost_are_refused() {
    for pattern in [
        r"(?<a>\p{L}{9})\g<a>",
        "(?x)a # (",
        "(?ix)a",
        "(?(1)a|b)",
        "(?&name)",
        "(?P>name)",
        "(?1)",
        "(?R)",
        "(?#comment)",
        "(?|a|b)",
        r"\Ka",
        r"\Ga",
    ] {
        assert!(matches!(PatternCost::of(pattern), Err(PatternError::Unsupported(_))), "{pattern}");
    }
}

#[test]
fn the_patterns_of_a_schema_are_counted_once_each() {
    let one = PatternCost::of("^a$").unwrap().bytes;
    let schema = json!({"properties": {"a": {"pattern": "^a$"}, "b": {"allOf": [{"pattern": "^a$"}]}},
        "patternProperties": {"^a$": {}, "^b$": {"pattern": "^a$"}}});
    assert_eq!(SchemaPatterns::of(&schema), Ok(SchemaPatterns { count: 2, bytes: 2 * one }));
    // A property may have the name of a keyword.
    let named =
        json!({"properties": {"pattern": {"type": "string"}, "patternProperties": {"type": "object"}}});
    assert_eq!(SchemaPatterns::of(&named).map(|found| found.bytes < MAX_PATTERN_BYTES), Ok(true));
    assert_eq!(SchemaPatterns::of(&json!(true)), Ok(SchemaPatterns::default()));
}

#[test]
fn a_schema_with_too_many_patterns_is_refused() {
    let with = |count: usize| {
        let all: Vec<_> = (0..count).map(|at| json!({"pattern": format!("^a{at}")})).collect();
        json!({"properties": {"a": {"allOf": all}}})
    };
    assert_eq!(SchemaPatterns::of(&with(200)).map(|found| found.count), Ok(200));
    assert_eq!(SchemaPatterns::of(&with(201)), Err("has more than 200 different patterns".to_owned()));
    let large: Vec<_> = (0..5).map(|at| json!({"pattern": format!(r"\p{{L}}{{100}}{at}")})).collect();
    assert_eq!(
        SchemaPatterns::of(&json!({ "allOf": large })),
        Err(
            "has patterns of more than 16777216 bytes in total when compiled, counted up to /allOf/2/pattern"
                .to_owned()
        )
    );
}

#[test]
fn a_refusal_names_the_place_and_cuts_the_pattern() {
    let long = format!("(x{}", "ä".repeat(20_000));
    let refused = SchemaPatterns::of(&json!({"properties": {"a/b": {"pattern": long}}})).unwrap_err();
    assert!(refused.starts_with("has the pattern \"(xäää"), "{refused}");
    assert!(
        refused
            .ends_with("at /properties/a~1b/pattern, which is 40002 bytes long; at most 16384 are allowed"),
        "{refused}"
    );
    let deep = json!({ ("n".repeat(5000)): {"pattern": "(?x)"} });
    assert!(SchemaPatterns::of(&deep).unwrap_err().len() < 400);
}
