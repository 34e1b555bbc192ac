use toolway_types::{Code, RawJson, ToolError};

use super::*;

fn success(content: Vec<ContentPart>) -> Outcome {
    Outcome::Success(ToolOutput::new(content, None))
}

fn image(data: &str, mime_type: &str) -> ContentPart {
    ContentPart::Image { data: data.to_owned(), mime_type: mime_type.to_owned() }
}

#[test]
fn without_bytes_it_is_the_envelope() {
    let text = envelope_text(
        &success(vec![ContentPart::text("18 °C")]),
        ImagePlacement::Omitted,
        COMMON_IMAGE_TYPES,
    );
    assert_eq!(text, r#"{"status":"success","result":"18 °C"}"#);
    let error = Outcome::Error(ToolError::new(Code::Timeout, "too slow"));
    let text = envelope_text(&error, ImagePlacement::Omitted, COMMON_IMAGE_TYPES);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["status"], "error");
}

#[test]
fn images_are_described_and_not_written_as_base64_m13() {
    let outcome =
        success(vec![ContentPart::text("one"), image("aGk=", "image/png"), image("aGk=", "image/tiff")]);
    assert_eq!(
        envelope_text(&outcome, ImagePlacement::InNextMessage, COMMON_IMAGE_TYPES),
        concat!(
            r#"{"status":"success","result":"one","content":["#,
            r#"{"mimeType":"image/png","note":"The image is in the next message.","type":"image"},"#,
            r#"{"mimeType":"image/tiff","note":"This model does not accept images of this type.","type":"image"}]}"#
        )
    );
    assert!(
        envelope_text(&outcome, ImagePlacement::Omitted, COMMON_IMAGE_TYPES)
            .contains("This model does not accept images.")
    );
    assert!(
        envelope_text(&outcome, ImagePlacement::InResult, COMMON_IMAGE_TYPES)
            .contains("attached to this result")
    );
    assert_eq!(sendable_images(&outcome, COMMON_IMAGE_TYPES).collect::<Vec<_>>(), [("aGk=", "image/png")]);
}

#[test]
fn audio_and_blobs_are_described_and_structured_results_stay() {
    let content = vec![
        ContentPart::Audio { data: "AAAA".to_owned(), mime_type: "audio/wav".to_owned() },
        ContentPart::Resource { resource: json!({"uri": "file:///a", "blob": "AAAAAA=="}) },
        ContentPart::Resource { resource: json!({"uri": "file:///b", "text": "B"}) },
    ];
    let structured = Some(RawJson::parse(r#"{"z":1, "a":2}"#).unwrap());
    let text = envelope_text(
        &Outcome::Success(ToolOutput::new(content, structured)),
        ImagePlacement::InResult,
        COMMON_IMAGE_TYPES,
    );
    assert!(
        text.starts_with(r#"{"status":"success","result":{"z":1, "a":2},"content":[{"bytes":3,"#),
        "{text}"
    );
    assert!(
        text.contains(r#""bytes":4"#) && text.contains(r#""text":"B""#) && !text.contains("AAAA"),
        "{text}"
    );
}

#[test]
fn only_valid_base64_is_sent_as_an_image() {
    for bad in ["", "====", "abc", "ab=c", "abcd=", "ab d", "data:image/png;base64,aGk="] {
        assert!(!is_sendable_image(bad, "image/png", COMMON_IMAGE_TYPES), "{bad:?}");
    }
    assert!(is_sendable_image("aGk=", "image/png", COMMON_IMAGE_TYPES));
    assert!(!is_sendable_image("aGk=", "image/svg+xml", COMMON_IMAGE_TYPES));
}
