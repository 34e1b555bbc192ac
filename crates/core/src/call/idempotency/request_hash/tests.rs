use super::*;
use crate::arguments::RawArguments;
use crate::testkit::raw;

fn hash_of(tool: &str, arguments: &str) -> [u8; 32] {
    let arguments = Arguments::parse(RawArguments::Json(raw(arguments))).unwrap();
    hash_request(&tool.parse().unwrap(), &arguments)
}

#[track_caller]
fn assert_same(one: &str, other: &str) {
    assert_eq!(hash_of("phone/scan", one), hash_of("phone/scan", other), "{one} {other}");
}

#[track_caller]
fn assert_different(one: &str, other: &str) {
    assert_ne!(hash_of("phone/scan", one), hash_of("phone/scan", other), "{one} {other}");
}

#[test]
fn white_space_and_key_order_do_not_matter() {
    assert_same(r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true , null ],\n\"a\" : 1 }");
    assert_same(r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#);
    assert_same(r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#);
    assert_same("null", "{}");
    assert_same(r#"{"n":12345678901234567890123,"m":"x"}"#, r#"{"m":"x","n":12345678901234567890123}"#);
}

#[test]
fn every_other_difference_matters() {
    assert_ne!(hash_of("phone/scan", "{}"), hash_of("phone/ring", "{}"));
    assert_ne!(hash_of("phone/scan", "{}"), hash_of("pc/scan", "{}"));
    assert_different("{}", r#"{"a":null}"#);
    assert_different(r#"{"a":1}"#, r#"{"a":"1"}"#);
    assert_different(r#"{"a":1}"#, r#"{"b":1}"#);
    assert_different(r#"{"a":true}"#, r#"{"a":false}"#);
    assert_different(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#);
    assert_different(r#"{"a":[["x"],"y"]}"#, r#"{"a":["x",["y"]]}"#);
    assert_different(r#"{"a":["x","y"]}"#, r#"{"a":["xy"]}"#);
    assert_different(r#"{"a":{"b":1},"c":2}"#, r#"{"a":{"b":1,"c":2}}"#);
    assert_different(r#"{"a":""}"#, r#"{"a":[]}"#);
    assert_different(r#"{"a":{}}"#, r#"{"a":[]}"#);
}

#[test]
fn numbers_that_round_to_the_same_value_are_different() {
    let (one, other) = (
        r#"{"id":340282366920938463463374607431768211455}"#,
        r#"{"id":340282366920938463463374607431768211456}"#,
    );
    let parsed: [Value; 2] = [one, other].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(parsed[0], parsed[1], "the parsed values alone would not tell");
    assert_different(one, other);
    assert_different(r#"{"n":0.12345678901234567891}"#, r#"{"n":0.12345678901234567892}"#);
    // Digits in strings are not numbers.
    assert_same(r#"{"s":"x \" 1234567890123456789","n":1}"#, r#"{"n":1,"s":"x \" 1234567890123456789"}"#);
    assert_eq!(
        long_numbers(r#"{"s":"1234567890123456789 \\","n":-1.234567890123456e+10}"#),
        ["-1.234567890123456e+10"]
    );
}
