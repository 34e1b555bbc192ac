//! Tool results as text for a model. The text is the JSON object of [`ResultEnvelope`]. It describes images, audio and
//! other binary content, because a model can't read base64.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};
use toolway_types::picture::{PictureFormat, decoded_len, describe_picture, media_type_of};
use toolway_types::{ContentPart, Outcome, ResultEnvelope, ToolOutput, foreign_json};

use crate::message::ToolResult;

/// Media types of images that OpenAI's, Anthropic's and most other models accept.
pub(crate) const COMMON_IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Place of a result's images in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImagePlacement {
    /// In the same result, beside the text.
    InResult,
    /// In the message that follows.
    InNextMessage,
    /// Not in the request.
    Omitted,
}

/// Returns a result as text. The text of a `verbatim` result has no envelope. `kinds` are the media types of images
/// that the model accepts.
pub(crate) fn result_text(result: &ToolResult, pictures: ImagePlacement, kinds: &[&str]) -> String {
    match &*result.outcome {
        Outcome::Success(output) if result.verbatim => output.joined_text(),
        outcome => envelope_text(outcome, pictures, kinds),
    }
}

/// Returns an outcome as the JSON text of the envelope. `kinds` are the media types of images that the model accepts.
pub(crate) fn envelope_text(outcome: &Outcome, pictures: ImagePlacement, kinds: &[&str]) -> String {
    let written = match outcome {
        Outcome::Success(output) if output.content.iter().any(has_bytes) => {
            serde_json::to_string(&DescribedOutput { output, placement: pictures, kinds })
        }
        _ => serde_json::to_string(&ResultEnvelope(outcome)),
    };
    // Serialization can't fail: all keys are strings.
    let written = written.unwrap_or_default();
    // A structured result keeps half a surrogate pair, which some APIs refuse, now and with every later request.
    match foreign_json::replace_lone_surrogates(&written) {
        Cow::Owned(repaired) => repaired,
        Cow::Borrowed(_) => written,
    }
}

/// Returns the images of a result that the model accepts, as pairs of base64 and media type.
pub(crate) fn sendable_images<'a>(
    outcome: &'a Outcome,
    kinds: &'a [&'a str],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let content = match outcome {
        Outcome::Success(output) => output.content.as_slice(),
        Outcome::Error(_) => &[],
    };
    content.iter().filter_map(|part| match part {
        ContentPart::Image { data, mime_type } => {
            Some((data.as_str(), sendable_image_type(data, mime_type, kinds)?))
        }
        _ => None,
    })
}

/// Returns the media type of an image if it is one of these and the image is valid base64. Its bytes decide, not the
/// declared type. Other images must not be sent: the provider would reject the request and, because the image stays in
/// the conversation, all later ones.
pub(crate) fn sendable_image_type<'a>(data: &str, declared: &str, kinds: &[&'a str]) -> Option<&'a str> {
    let media_type = match PictureFormat::of_base64(data) {
        Some(format) => format.media_type(),
        // Bytes that are none of the common formats can't be what such a type declares.
        None if COMMON_IMAGE_TYPES.iter().any(|common| common.eq_ignore_ascii_case(declared.trim())) => {
            return None;
        }
        None => declared.trim(),
    };
    let kind = kinds.iter().find(|kind| kind.eq_ignore_ascii_case(media_type))?;
    is_base64(data).then_some(*kind)
}

/// Text in place of an image that is not sent.
pub(crate) fn omitted_image_note(data: &str, declared: &str) -> String {
    let media_type = media_type_of(data, declared);
    format!("[Image ({}) omitted: this model does not accept it]", describe_picture(media_type, data))
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !digits.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits.bytes().all(is_digit)
}

fn has_bytes(part: &ContentPart) -> bool {
    match part {
        ContentPart::Image { .. } | ContentPart::Audio { .. } => true,
        ContentPart::Resource { resource } => resource.get("blob").is_some(),
        ContentPart::Text { .. } | ContentPart::ResourceLink { .. } => false,
    }
}

/// Envelope of a successful result with descriptions in place of binary content.
struct DescribedOutput<'a> {
    output: &'a ToolOutput,
    placement: ImagePlacement,
    kinds: &'a [&'a str],
}

impl Serialize for DescribedOutput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("status", "success")?;
        match &self.output.structured {
            Some(structured) => map.serialize_entry("result", structured)?,
            None => map.serialize_entry("result", &self.output.joined_text())?,
        }
        let others = self.output.content.iter().filter(|part| part.as_text().is_none());
        map.serialize_entry("content", &others.map(|part| self.describe_part(part)).collect::<Vec<_>>())?;
        map.end()
    }
}

impl DescribedOutput<'_> {
    fn describe_part(&self, part: &ContentPart) -> Value {
        match part {
            ContentPart::Image { data, mime_type } => {
                let media_type = media_type_of(data, mime_type);
                let shown = |note: &str| json!({"type": "image", "mimeType": media_type, "note": note});
                let omitted = |note: &str| json!({"type": "image", "mimeType": media_type, "bytes": decoded_len(data), "note": note});
                match self.placement {
                    _ if sendable_image_type(data, mime_type, self.kinds).is_none() => {
                        omitted("This model does not accept images of this type.")
                    }
                    ImagePlacement::InResult => shown("The image is attached to this result."),
                    ImagePlacement::InNextMessage => shown("The image is in the next message."),
                    ImagePlacement::Omitted => omitted("This model does not accept images."),
                }
            }
            ContentPart::Audio { data, mime_type } => {
                let note = "Audio is not sent to the model.";
                json!({"type": "audio", "mimeType": mime_type, "bytes": decoded_len(data), "note": note})
            }
            ContentPart::Resource { resource } => {
                let mut resource = resource.clone();
                if let Some(fields) = resource.as_object_mut()
                    && let Some(blob) = fields.remove("blob")
                {
                    fields.insert("bytes".to_owned(), json!(blob.as_str().map(decoded_len)));
                    fields.insert("note".to_owned(), json!("Its bytes are not sent to the model."));
                }
                json!({"type": "resource", "resource": resource})
            }
            text => json!(text),
        }
    }
}

#[cfg(test)]
mod tests;
