use serde_json::json;

use super::*;

#[track_caller]
fn refused(schema: &Value) -> String {
    SchemaComplexity::measure(schema).unwrap_err()
}

/// Nests `inmost` this many times in a keyword.
fn nested(levels: usize, keyword: &str, inmost: Value) -> Value {
    (0..levels).fold(inmost, |inner, _| match keyword {
        "properties" => json!({"properties": {"a": inner}}),
        "allOf" => json!({"allOf": [inner]}),
        other => json!({ other: inner }),
    })
}

/// Definitions `a0`, `a1`…, each created from its number.
fn defs(count: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..count).map(|at| (format!("a{at}"), make(at))).collect::<Map<_, _>>().into()
}

fn reference_to(at: usize) -> Value {
    json!({"$ref": format!("#/$defs/a{at}")})
}

#[test]
fn ordinary_schemas_have_a_low_weight() {
    for (schema, weight) in [
        (json!({}), 1),
        (json!(true), 1),
        (json!({"type": "object"}), 2),
        (json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}), 7),
        (json!({"enum": [1, 2, 3]}), 5),
        (json!({"items": {"enum": [1, 2, 3]}}), 6),
        (json!({"pattern": "^[a-z]{2,30}$"}), 2 + 13 + 32),
        (json!({"patternProperties": {"^x-": {}}}), 1 + 1 + 3),
        (json!({"properties": {"a": {"pattern": "^(?=x)"}}}), 1 + 2 + 6 + 10_000),
    ] {
        assert_eq!(SchemaComplexity::measure(&schema).unwrap().weight, weight, "{schema}");
    }
}

#[test]
fn recursion_and_alternatives_are_recognized() {
    let shape = |schema: Value| SchemaComplexity::measure(&schema).unwrap();
    let plain = shape(json!({"properties": {"a": {"items": {}}}}));
    assert!(
        !plain.has_choices && !plain.is_recursive && !plain.has_unresolved_references && !plain.has_patterns
    );
    assert!(shape(json!({"properties": {"a": {"anyOf": [{}, {}]}}})).has_choices);
    assert!(shape(json!({"items": {"oneOf": [{}]}})).has_choices);
    assert!(shape(json!({"properties": {"a": {"$ref": "#"}}})).is_recursive);
    assert!(
        shape(json!({"items": reference_to(0), "$defs": {"a0": {"items": reference_to(0)}}})).is_recursive
    );
    assert!(
        !shape(json!({"items": reference_to(0), "not": reference_to(0), "$defs": {"a0": {"items": {}}}}))
            .is_recursive
    );
    assert!(shape(json!({"patternProperties": {"a": {}}})).has_patterns);
}

#[test]
fn depth_is_limited() {
    for keyword in ["properties", "items", "additionalProperties", "allOf", "not"] {
        let most = if matches!(keyword, "allOf" | "not") { MAX_SAME_VALUE_LEVELS } else { MAX_LEVELS };
        assert!(SchemaComplexity::measure(&nested(most, keyword, json!({}))).is_ok(), "{keyword}");
        let expected = match keyword {
            "allOf" | "not" => "has more than 32 schemas inside one another that speak of the same value",
            _ => "nests more than 64 levels deep, references followed",
        };
        assert_eq!(refused(&nested(most + 1, keyword, json!({}))), expected, "{keyword}");
    }
    // Data may be as deep as JSON allows.
    let data = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert!(
        SchemaComplexity::measure(&json!({"default": data, "properties": {"a": {"const": data}}})).is_ok()
    );
}

#[test]
fn depth_is_counted_through_references() {
    let chain = |count: usize, make: &dyn Fn(usize) -> Value| json!({"properties": {"a": reference_to(0)}, "$defs": defs(count, |at| if at + 1 < count { make(at) } else { json!({}) })});
    let by_part = |at: usize| json!({"properties": {"a": reference_to(at + 1)}});
    let by_same = |at: usize| reference_to(at + 1);
    assert!(SchemaComplexity::measure(&chain(32, &by_part)).is_ok());
    assert_eq!(refused(&chain(40, &by_part)), "nests more than 64 levels deep, references followed");
    assert!(SchemaComplexity::measure(&chain(32, &by_same)).is_ok());
    assert_eq!(
        refused(&chain(100, &by_same)),
        "has more than 32 schemas inside one another that speak of the same value"
    );
    // Of any length.
    assert!(SchemaComplexity::measure(&chain(20_000, &by_part)).is_err());
    assert!(SchemaComplexity::measure(&chain(20_000, &by_same)).is_err());
    // In reverse order, schemas that were measured before count too.
    let backwards: Map<_, _> = (0..60).rev().map(|at| (format!("p{at:02}"), reference_to(59 - at))).collect();
    let schema = json!({"properties": backwards, "$defs": defs(60, |at| if at < 59 { by_part(at) } else { json!({}) })});
    assert_eq!(refused(&schema), "nests more than 64 levels deep, references followed");
}

#[test]
fn size_is_limited() {
    let many = |count: usize| json!({ "enum": vec![1; count] });
    assert!(SchemaComplexity::measure(&many(MAX_VALUES - 2)).is_ok());
    assert_eq!(refused(&many(MAX_VALUES)), "is made of more than 100000 values");
    let properties = |count: usize| {
        let one = json!({"type": "string", "description": "a property"});
        json!({"properties": (0..count).map(|at| (format!("p{at}"), one.clone())).collect::<Map<_, _>>()})
    };
    assert!(SchemaComplexity::measure(&properties(10_000)).is_ok());
    assert_eq!(refused(&properties(50_000)), "is made of more than 100000 values");
}

/// A few lines that stand for endless work: each definition refers twice to the next.
#[test]
fn multiplying_references_are_limited() {
    for (make, most) in [
        (
            &(|at: usize| json!({"allOf": [reference_to(at + 1), reference_to(at + 1)]}))
                as &dyn Fn(usize) -> Value,
            14,
        ),
        (&|at: usize| json!({"properties": {"a": reference_to(at + 1), "b": reference_to(at + 1)}}), 18),
        (&|at: usize| json!({"items": {"anyOf": [reference_to(at + 1), reference_to(at + 1)]}}), 17),
        (
            &|at: usize| json!({"patternProperties": {"a": reference_to(at + 1), "b": reference_to(at + 1)}}),
            18,
        ),
    ] {
        let schema = |count: usize| {
            json!({"properties": {"x": reference_to(0)},
                "$defs": defs(count, |at| if at + 1 < count { make(at) } else { json!({"type": "string"}) })})
        };
        assert!(SchemaComplexity::measure(&schema(most)).is_ok(), "{}", make(0));
        let too_many = refused(&schema(most + 13));
        assert!(
            too_many == "takes more than 1000000 steps to check a value"
                || too_many.starts_with("has more than 32")
                || too_many.starts_with("nests more than 64"),
            "{too_many}"
        );
    }
    let laughs = json!({"properties": {"x": reference_to(0)},
        "$defs": defs(15, |at| if at < 14 { json!({"allOf": vec![reference_to(at + 1); 8]}) } else { json!({}) })});
    assert_eq!(refused(&laughs), "takes more than 1000000 steps to check a value");
}

/// To find unevaluated parts, all schemas of the same value are visited again on every level.
#[test]
fn unevaluated_keywords_multiply_too() {
    let schema = |levels: usize, keyword: &str| {
        (0..levels).fold(
            json!({"properties": {"p": {}}}),
            |inner, at| json!({"allOf": [inner], "properties": {format!("q{at}"): {}}, keyword: false}),
        )
    };
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        assert!(SchemaComplexity::measure(&schema(9, keyword)).is_ok());
        assert_eq!(refused(&schema(16, keyword)), "takes more than 1000000 steps to check a value");
    }
    assert!(
        SchemaComplexity::measure(&nested(40, "unevaluatedProperties", json!({}))).is_ok(),
        "one in a part of another is no harm"
    );
}

#[test]
fn a_cycle_for_the_same_value_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"properties": {"a": reference_to(0)}, "$defs": {"a0": reference_to(0)}}),
        json!({"properties": {"a": reference_to(0)}, "$defs": {"a0": reference_to(1), "a1": reference_to(0)}}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"type": "object"}, {"not": {"$ref": "#"}}]}),
        json!({"if": {"$ref": "#/then"}, "then": {"$ref": "#/if"}}),
        json!({"items": reference_to(0), "$defs": {"a0": {"dependentSchemas": {"x": {"oneOf": [reference_to(0)]}}}}}),
        json!({"properties": {"a": {"else": {"$ref": "#/properties/a"}}}}),
        json!({"properties": {"a": {"$ref": "#/properties/a%62"}, "ab": {"allOf": [{"$ref": "#/properties/a"}]}}}),
        // Found although a part of the value is visited first.
        json!({"properties": {"a": reference_to(1)}, "allOf": [reference_to(0)],
            "$defs": {"a0": {"properties": {"x": reference_to(1)}, "allOf": [reference_to(1)]}, "a1": {"allOf": [reference_to(0)]}}}),
    ] {
        assert_eq!(refused(&schema), "refers to itself without looking at a part of the value", "{schema}");
    }
    let all_to_all = json!({"properties": {"x": reference_to(0)},
        "$defs": defs(12, |_| json!({"allOf": (0..12).map(reference_to).collect::<Vec<_>>()}))});
    assert_eq!(refused(&all_to_all), "refers to itself without looking at a part of the value");
}

#[test]
fn a_cycle_into_parts_of_the_value_is_accepted() {
    for schema in [
        json!({"properties": {"child": {"$ref": "#"}}}),
        json!({"items": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}}),
        json!({"properties": {"a": reference_to(0)}, "$defs": {
            "a0": {"anyOf": [{"type": "string"}, reference_to(1)]}, "a1": {"type": "array", "items": reference_to(0)}}}),
        json!({"additionalProperties": {"$ref": "#"}, "propertyNames": {"pattern": "^a"}}),
        // The same schema twice is not a cycle.
        json!({"allOf": [reference_to(0), reference_to(0), {"anyOf": [reference_to(0)]}], "$defs": {"a0": {"type": "object"}}}),
    ] {
        let shape = SchemaComplexity::measure(&schema).unwrap();
        assert_eq!(shape.is_recursive, !schema.to_string().contains(r#""allOf""#), "{schema}");
    }
}

#[test]
fn the_number_of_unresolved_references_is_limited() {
    let by_anchor = |count: usize| {
        json!({"properties": (0..count).map(|at| (format!("p{at}"), json!({"$ref": "#n"}))).collect::<Map<_, _>>(),
            "$defs": {"n": {"$anchor": "n", "type": "integer"}}})
    };
    assert!(
        SchemaComplexity::measure(&by_anchor(MAX_UNRESOLVED_REFERENCES)).unwrap().has_unresolved_references
    );
    assert_eq!(
        refused(&by_anchor(MAX_UNRESOLVED_REFERENCES + 1)),
        "has 13 references, some of them other than pointers into it; then at most 12 are allowed"
    );
    let deep = (0..6).fold(json!({"$ref": "#n"}), |inner, _| json!({"allOf": [inner, {"$ref": "#n"}]}));
    assert_eq!(
        refused(&json!({"properties": {"a": deep}, "$defs": {"n": {"$anchor": "n"}}})),
        "has too many schemas inside one another for references other than pointers into it"
    );
    for schema in [
        json!({"properties": {"a": {"$dynamicRef": "#x"}}}),
        json!({"properties": {"a": {"$recursiveRef": "#"}}}),
        json!({"properties": {"a": {"$ref": "other.json"}}}),
        json!({"properties": {"a": reference_to(0)}, "$defs": {"a0": {"$id": "https://example.com/a0", "$ref": "#/$defs/b"}}}),
        json!({"properties": {"a": reference_to(0)}, "$defs": {"a0": {"$schema": "http://json-schema.org/draft-04/schema#"}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "items": reference_to(0), "$defs": {"a0": {"id": "x"}}}),
    ] {
        assert!(SchemaComplexity::measure(&schema).unwrap().has_unresolved_references, "{schema}");
    }
    for schema in [
        json!({"$id": "https://example.com/a", "$schema": "https://json-schema.org/draft/2020-12/schema",
            "properties": {"a": reference_to(0)}, "$defs": {"a0": {}}}),
        json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "a": reference_to(0)}, "$defs": {"a0": {}}}),
        json!({"examples": [{"id": "u1"}], "properties": {"a": reference_to(0)}, "$defs": {"a0": {}}}),
        json!({"$defs": {"a0": {"$id": "x", "$anchor": "y"}}}),
    ] {
        assert!(!SchemaComplexity::measure(&schema).unwrap().has_unresolved_references, "{schema}");
    }
}

#[test]
fn the_weight_of_a_pattern_is_its_cost() {
    for (pattern, weight) in [
        ("", 0),
        ("^abc$", 5),
        ("[ab]*a[ab]{200}c", 16 + 200),
        ("^.{1,64}@.{1,255}$", 18 + 1 + 64 + 1 + 255),
        ("a{3,}", 5 + 3),
        (r"\{literal\}", 11),
        ("{", 1),
        ("(?:a)(?i)(?<name>b)", 19),
        ("(?=a)", 5 + BACKTRACKING_WEIGHT),
        ("(?!a)", 5 + BACKTRACKING_WEIGHT),
        ("(?<=a)", 6 + BACKTRACKING_WEIGHT),
        ("(?<!a)", 6 + BACKTRACKING_WEIGHT),
        ("(?>a)", 5 + BACKTRACKING_WEIGHT),
        (r"(a)\1", 5 + BACKTRACKING_WEIGHT),
        (r"(?<x>a)\k<x>", 12 + BACKTRACKING_WEIGHT),
        ("a++", 3 + BACKTRACKING_WEIGHT),
        (r"\d+\.\d+", 8),
    ] {
        assert_eq!(pattern_weight(pattern), weight, "{pattern}");
    }
}
