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
    // JPEG in spite of its type, a TIFF, and HTML in spite of its type.
    let outcome = success(vec![
        ContentPart::text("one"),
        image("/9j/4AAQ", "image/png"),
        image("SUkqAAgA", "image/tiff"),
        image("PGh0bWw+", "image/png"),
    ]);
    assert_eq!(
        envelope_text(&outcome, ImagePlacement::InNextMessage, COMMON_IMAGE_TYPES),
        concat!(
            r#"{"status":"success","result":"one","content":["#,
            r#"{"mimeType":"image/jpeg","note":"The image is in the next message.","type":"image"},"#,
            r#"{"bytes":6,"mimeType":"image/tiff","note":"This model does not accept images of this type.","type":"image"},"#,
            r#"{"bytes":6,"mimeType":"image/png","note":"This model does not accept images of this type.","type":"image"}]}"#
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
    assert_eq!(
        sendable_images(&outcome, COMMON_IMAGE_TYPES).collect::<Vec<_>>(),
        [("/9j/4AAQ", "image/jpeg")]
    );
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
    let png = |data: &str| sendable_image_type(data, "image/png", COMMON_IMAGE_TYPES);
    for bad in
        ["", "====", "abc", "ab=c", "abcd=", "ab d", "data:image/png;base64,iVBORw0KGgo=", "iVBORw0KGgo"]
    {
        assert_eq!(png(bad), None, "{bad:?}");
    }
    assert_eq!(png("iVBORw0KGgo="), Some("image/png"));
}

#[test]
fn the_bytes_of_an_image_decide_its_type_and_names_are_normalised() {
    let kind = |data: &str, declared: &str| sendable_image_type(data, declared, COMMON_IMAGE_TYPES);
    for declared in ["image/png", "image/jpg", "IMAGE/PNG ", "application/octet-stream", "image/svg+xml", ""]
    {
        assert_eq!(kind("iVBORw0KGgo=", declared), Some("image/png"), "{declared}");
        assert_eq!(kind("/9j/4AAQ", declared), Some("image/jpeg"), "{declared}");
        assert_eq!(kind("R0lGODlhAQAB", declared), Some("image/gif"), "{declared}");
        assert_eq!(kind("UklGRhAAAABXRUJQ", declared), Some("image/webp"), "{declared}");
        // `<html>` is none, whatever it is declared to be.
        assert_eq!(kind("PGh0bWw+", declared), None, "{declared}");
    }
    // A type that only some models read is sent as declared, because its bytes are not known here.
    let heic = "AAAAGGZ0eXBoZWlj";
    assert_eq!(sendable_image_type(heic, "image/HEIC", &["image/png", "image/heic"]), Some("image/heic"));
    assert_eq!(kind(heic, "image/heic"), None);
    assert_eq!(sendable_image_type("R0lGODlhAQAB", "image/png", &["image/png"]), None, "a GIF is no PNG");
}
