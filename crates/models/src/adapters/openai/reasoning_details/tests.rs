use super::*;

fn joined(items: &[Value]) -> Value {
    let mut details = Vec::new();
    for item in items {
        add_item(&mut details, item.as_object().unwrap().clone());
    }
    json!(details)
}

#[test]
fn pieces_of_one_item_are_joined() {
    let piece = |text: &str| json!({"type": "reasoning.text", "text": text, "format": "f", "index": 0, "signature": null});
    let signed = json!({"type": "reasoning.text", "signature": "s", "format": "f", "index": 0});
    let whole =
        json!({"type": "reasoning.text", "text": "One two", "format": "f", "index": 0, "signature": "s"});
    assert_eq!(joined(&[piece("One "), piece("two"), signed.clone()]), json!([whole]));
    // Another thought after it is another item.
    assert_eq!(joined(&[piece("One two"), signed, piece("x")]), json!([whole, piece("x")]));
}

#[test]
fn other_items_stay_apart() {
    let encrypted = json!({"type": "reasoning.encrypted", "data": "abc", "index": 0});
    let summary =
        |text: &str, index: u8| json!({"type": "reasoning.summary", "summary": text, "index": index});
    let no_index = json!({"type": "reasoning.text", "text": "x"});
    for items in [
        vec![encrypted.clone(), encrypted.clone()],
        vec![summary("a", 0), summary("b", 1)],
        vec![summary("a", 0), encrypted],
        vec![no_index.clone(), no_index],
    ] {
        assert_eq!(joined(&items), json!(items));
    }
    assert_eq!(joined(&[summary("a", 0), summary("b", 0)]), json!([summary("ab", 0)]));
}

#[test]
fn missing_details_are_an_empty_object() {
    assert_eq!(opaque_data(Vec::new()).get(), "{}");
}
