use serde_json::json;

use super::*;

fn read(content: &str, attachments: serde_json::Value) -> Result<Vec<MessagePart>, String> {
    let attachments: Vec<ContentPart> = serde_json::from_value(attachments).unwrap();
    message_parts(content.to_owned(), &attachments).map_err(|bad| bad.to_string())
}

fn image() -> MessagePart {
    MessagePart::Image { data: "iVBORw0=".to_owned(), mime_type: "image/png".to_owned() }
}

#[test]
fn text_comes_first_and_attachments_follow_with_the_types_of_their_bytes() {
    let attachments = json!([
        {"type": "image", "data": "iVBORw0=", "mimeType": "image/png"},
        {"type": "text", "text": "a note"},
        {"type": "image", "data": "iVBORw0=", "mimeType": "IMAGE/JPG"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "of a file"}},
        {"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": "image/webp", "blob": "iVBORw0="}},
    ]);
    let expected = vec![
        MessagePart::text("what is this?"),
        image(),
        MessagePart::text("a note"),
        image(),
        MessagePart::text("file:///a.txt:\nof a file"),
        image(),
    ];
    assert_eq!(read("what is this?", attachments), Ok(expected));
}

#[test]
fn an_image_needs_no_text_and_blank_text_is_empty() {
    let picture = json!([{"type": "image", "data": "iVBORw0=", "mimeType": "image/gif"}]);
    assert_eq!(read(" \n", picture), Ok(vec![image()]));
    assert_eq!(read(" \n\t", json!([])), Err("the message is empty".to_owned()));
    assert_eq!(read(" a ", json!([])), Ok(vec![MessagePart::text(" a ")]), "the text is unchanged");
}

#[test]
fn unsupported_attachments_are_refused_with_their_index() {
    for (attachment, problem) in [
        (
            json!({"type": "image", "data": "SUkqAAgAAAA=", "mimeType": "image/tiff"}),
            "its bytes are not a picture that models support (PNG, JPEG, GIF, WebP), although its type is \"image/tiff\"",
        ),
        (
            // `<!doctype html>`
            json!({"type": "image", "data": "PCFkb2N0eXBlIGh0bWw+", "mimeType": "image/png"}),
            "its bytes are not a picture that models support (PNG, JPEG, GIF, WebP), although its type is \"image/png\"",
        ),
        (json!({"type": "image", "data": "no base64", "mimeType": "image/png"}), "its data is not base64"),
        (json!({"type": "image", "data": "", "mimeType": "image/png"}), "its data is not base64"),
        (
            json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}),
            "sound can't be sent to a model; send images or text",
        ),
        (
            json!({"type": "resource_link", "uri": "https://example.org/x", "name": "x"}),
            "a link can't be sent to a model; send images or text",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "x", "blob": "AA=="}}),
            "a file of unknown type can't be sent to a model; send images or text",
        ),
    ] {
        let refused = read("look", json!([{"type": "text", "text": "x"}, attachment]));
        assert_eq!(refused, Err(format!("attachments[1]: {problem}")));
    }
}

#[test]
fn the_size_of_a_message_is_limited() {
    assert!(read(&"x".repeat(MAX_TEXT), json!([])).is_ok());
    assert_eq!(
        read(&"x".repeat(MAX_TEXT + 1), json!([])),
        Err("the message is longer than 1048576 bytes".to_owned())
    );
    let many = |count: usize| json!(vec![json!({"type": "text", "text": "x"}); count]);
    assert!(read("", many(MAX_ATTACHMENTS)).is_ok());
    assert_eq!(read("", many(33)), Err("the message has 33 attachments; it may have 32".to_owned()));
    let long = json!([{"type": "text", "text": "x".repeat(MAX_TEXT + 1)}]);
    assert_eq!(read("", long), Err("attachments[0]: its text is longer than 1048576 bytes".to_owned()));
}
