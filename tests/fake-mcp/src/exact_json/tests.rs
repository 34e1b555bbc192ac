use super::*;

#[test]
fn texts_take_the_place_of_what_stands_for_them() {
    let message = json!({"result": {"structuredContent": result()}, "id": 1}).to_string();
    let expected = format!(r#"{{"id":1,"result":{{"structuredContent":{EXACT_RESULT}}}}}"#);
    assert_eq!(String::from_utf8(splice(message.as_bytes())).unwrap(), expected);
}

#[test]
fn what_only_looks_alike_stays() {
    for message in [r#"{"$exactly":"1"}"#, r#"{"$exactly":1"#, r#"{"$exactly":9999}"#, "", "{}"] {
        assert_eq!(splice(message.as_bytes()), message.as_bytes());
    }
}

#[test]
fn each_schema_has_a_number_of_its_own() {
    for tool in raw_tools::RAW.iter() {
        let text = tool.input_schema.get();
        let spliced = splice(&serde_json::to_vec(&schema(text)).unwrap());
        assert_eq!(spliced, text.as_bytes(), "{}", tool.name);
    }
}
