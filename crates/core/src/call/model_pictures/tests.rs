use serde_json::json;
use toolway_types::{Code, ToolError};

use super::*;

/// 64 bytes that begin like a PNG and a JPEG, in base64.
const PNG: &str = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==";
const JPEG: &str = "/9j/4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==";

fn image(data: &str, media_type: &str) -> ContentPart {
    ContentPart::Image { data: data.to_owned(), mime_type: media_type.to_owned() }
}

fn extracted(output: ToolOutput) -> ToolOutput {
    let Outcome::Success(output) = extract_pictures(&Arc::new(Outcome::Success(output))).as_ref().clone()
    else {
        panic!("it was a success")
    };
    output
}

#[test]
fn a_text_that_is_a_picture_becomes_a_picture() {
    for (text, data, media_type) in [
        (PNG.to_owned(), PNG, "image/png"),
        (JPEG.to_owned(), JPEG, "image/jpeg"),
        // What is declared is wrong.
        (format!("data:image/png;base64,{JPEG}"), JPEG, "image/jpeg"),
    ] {
        let output = extracted(ToolOutput::text(text));
        assert_eq!(output.content, [image(data, media_type)]);
        assert_eq!(output.structured, None);
    }
}

#[test]
fn a_picture_in_a_field_is_beside_its_description() {
    let fields = json!({"camera": "rear", "shots": [{"photo": JPEG}, {"photo": format!("data:image/png;base64,{PNG}")}]});
    let described = json!({"camera": "rear", "shots": [
        {"photo": "[picture 1 of this result: image/jpeg, 64 bytes]"},
        {"photo": "[picture 2 of this result: image/png, 64 bytes]"}]});
    let pictures = [image(JPEG, "image/jpeg"), image(PNG, "image/png")];
    // Java's JSON escapes slashes.
    for text in [fields.to_string(), fields.to_string().replace('/', r"\/")] {
        let output = extracted(ToolOutput::text(text));
        let value: Value = serde_json::from_str(output.content[0].as_text().unwrap()).unwrap();
        assert_eq!((value, &output.content[1..]), (described.clone(), &pictures[..]));
    }
    let output = extracted(ToolOutput::structured(RawJson::from(&fields)));
    assert_eq!(
        (output.structured.unwrap().to_value(), output.content.as_slice()),
        (described, &pictures[..])
    );
}

#[test]
fn a_file_whose_bytes_are_a_picture_becomes_a_picture() {
    let resource = json!({"uri": "file:///a", "blob": PNG});
    let output = extracted(ToolOutput::new(vec![ContentPart::Resource { resource }], None));
    assert_eq!(output.content, [image(PNG, "image/png")]);
}

#[test]
fn results_without_pictures_stay_the_same_object() {
    let text = |text: &str| Outcome::Success(ToolOutput::text(text));
    for outcome in [
        text("iVBORw0KGgo="),
        text(&format!("The picture: {PNG}")),
        text(r#"{"path":"/9j/a"}"#),
        text("{ not JSON iVBORw0"),
        Outcome::Error(ToolError::new(Code::ToolFailed, PNG)),
        Outcome::Success(ToolOutput::new(vec![image("AAAA", "image/png")], None)),
    ] {
        let outcome = Arc::new(outcome);
        assert!(Arc::ptr_eq(&outcome, &extract_pictures(&outcome)), "{outcome:?}");
    }
}

#[test]
fn the_number_of_pictures_is_limited() {
    let many = json!(vec![PNG; 10]);
    let output = extracted(ToolOutput::text(many.to_string()));
    assert_eq!(output.content.len(), 1 + MAX_PICTURES);
    let value: Value = serde_json::from_str(output.content[0].as_text().unwrap()).unwrap();
    assert_eq!((&value[8], &value[9]), (&json!(PNG), &json!(PNG)), "the others stay as text");
}
