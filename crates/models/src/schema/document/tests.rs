use super::*;

/// Resolves the reference at `#/properties/x`.
fn resolve_reference(text: &str) -> Option<String> {
    let root: OrderedJson = serde_json::from_str(text).unwrap();
    let document = ParsedSchema::new(&root);
    let mut at = document.root_location();
    for name in ["properties", "x"] {
        let node = at.node.as_object().unwrap().get(name).unwrap();
        at = document.field_location(&at, name, node);
    }
    let fields = at.node.as_object().unwrap();
    let reference = document.reference(fields).unwrap();
    document.resolve(reference, &at).map(|found| found.node.to_json_string())
}

#[test]
fn references_resolve_as_the_specification_says() {
    for (text, expected) in [
        (r##"{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"const":1}}}"##, Some(r#"{"const":1}"#)),
        (r##"{"properties":{"x":{"$ref":"#/$defs/a~1b~0%20c"}},"$defs":{"a/b~ c":true}}"##, Some("true")),
        (r##"{"properties":{"x":{"$ref":"#/anyOf/1"}},"anyOf":[true,false]}"##, Some("false")),
        (
            r##"{"properties":{"x":{"$ref":"#here"}},"$defs":{"a":{"$anchor":"here"}}}"##,
            Some(r#"{"$anchor":"here"}"#),
        ),
        (
            r##"{"properties":{"x":{"$dynamicRef":"#here"}},"$defs":{"a":{"$dynamicAnchor":"here"}}}"##,
            Some(r#"{"$dynamicAnchor":"here"}"#),
        ),
        // An id of the schema that is meant, whole or its last part.
        (
            r##"{"$id":"https://example.org/a","properties":{"x":{"$ref":"b"}},"$defs":{"b":{"$id":"b","type":"null"}}}"##,
            Some(r#"{"$id":"b","type":"null"}"#),
        ),
        (
            r##"{"properties":{"x":{"$ref":"https://example.org/b"}},"$defs":{"b":{"$id":"https://example.org/b"}}}"##,
            Some(r#"{"$id":"https://example.org/b"}"#),
        ),
        // Pointers start from the schema around that has an id.
        (
            r##"{"properties":{"x":{"$id":"y","$ref":"#/$defs/a","$defs":{"a":{"const":2}}}},"$defs":{"a":{"const":1}}}"##,
            Some(r#"{"const":2}"#),
        ),
        (
            r##"{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"x":{"$ref":"#old"}},"definitions":{"a":{"id":"#old"}}}"##,
            Some(r##"{"id":"#old"}"##),
        ),
        // Nowhere.
        (r##"{"properties":{"x":{"$ref":"#/$defs/a"}}}"##, None),
        (r##"{"properties":{"x":{"$ref":"https://example.org/b#/a"}}}"##, None),
        (r##"{"properties":{"x":{"$ref":"#/%zz"}}}"##, None),
        // Two of one name: nobody knows which.
        (
            r##"{"properties":{"x":{"$ref":"#here"}},"$defs":{"a":{"$anchor":"here"},"b":{"$anchor":"here"}}}"##,
            None,
        ),
    ] {
        assert_eq!(resolve_reference(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn data_is_not_searched_for_schemas() {
    let root: OrderedJson =
        serde_json::from_str(r##"{"default":{"$anchor":"here"},"enum":[{"$ref":"https://x"}]}"##).unwrap();
    let document = ParsedSchema::new(&root);
    assert!(document.resolve("#here", &document.root_location()).is_none());
    assert!(document.has_plain_references);
}

#[test]
fn forms_of_earlier_drafts_are_detected() {
    let is_old = |text: &str| ParsedSchema::new(&serde_json::from_str(text).unwrap()).has_legacy_forms;
    assert!(is_old(r#"{"properties":{"a":{"items":[true]}}}"#));
    assert!(is_old(r#"{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}"#));
    assert!(!is_old(r#"{"properties":{"a":{"items":true,"exclusiveMinimum":0}}}"#));
}

#[test]
fn a_pointer_is_escaped_and_truncated() {
    let start = SchemaPointer::default();
    assert_eq!(start.name("a/b").index(3).name("c~d").to_string(), "/a~1b/3/c~0d");
    let long = "x".repeat(1_000);
    assert_eq!(start.name(&long).to_string(), format!("/{}…", "x".repeat(80)));
    let deep = (0..200).fold(start, |pointer, _| pointer.name("levels"));
    assert!(deep.to_string().len() < 500);
}
