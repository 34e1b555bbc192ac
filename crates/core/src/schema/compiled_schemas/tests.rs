use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::schema::Schema;
use crate::testkit::{json, raw};

fn schema(name: &str, all: &Arc<CompiledSchemas>) -> Schema {
    let text = json!({"properties": {name: {"type": "string", "pattern": format!("^{name}[a-z]+x$")}}});
    Schema::from_parameters(Some(&raw(&text.to_string()))).unwrap().counted_in(all)
}

#[test]
fn memory_is_counted_while_a_schema_is_compiled_and_returned_when_it_is_dropped() {
    let all = Arc::new(CompiledSchemas::default());
    let one = schema("a", &all);
    assert_eq!(all.bytes(), 0, "not used yet");
    assert!(one.is_valid(&json(r#"{"a":"abcx"}"#)) && !one.is_valid(&json(r#"{"a":"1"}"#)));
    assert_eq!(all.bytes(), one.validator.bytes());
    drop(one);
    assert_eq!(all.bytes(), 0);
}

#[test]
fn the_schema_that_was_not_used_for_the_longest_time_is_dropped_and_compiled_again() {
    let size = schema("a", &Arc::default()).validator.bytes();
    let all = Arc::new(CompiledSchemas::with_limit(size * 2));
    let [a, b, c] = ["a", "b", "c"].map(|name| schema(name, &all));
    assert!(a.is_valid(&json("{}")) && b.is_valid(&json("{}")) && a.is_valid(&json("{}")));
    assert!(c.is_valid(&json("{}")));
    let compiled = [&a, &b, &c].map(|schema| schema.validator.is_compiled());
    assert_eq!(compiled, [true, false, true]);
    assert_eq!(all.bytes(), size * 2);
    assert!(!b.is_valid(&json(r#"{"b":"1"}"#)));
    assert!(b.validator.is_compiled());
    assert_eq!(all.bytes(), size * 2);
}

#[test]
fn a_schema_larger_than_the_limit_is_used_alone() {
    let all = Arc::new(CompiledSchemas::with_limit(1));
    let (a, b) = (schema("a", &all), schema("b", &all));
    assert!(a.is_valid(&json("{}")));
    assert!(b.is_valid(&json("{}")));
    assert_eq!([a.validator.is_compiled(), b.validator.is_compiled()], [false, true]);
}
