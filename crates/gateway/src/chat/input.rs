//! Converts a person's message to the parts that a model reads: text, and attached images and texts.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use toolway_api::chat::{MAX_ATTACHMENTS, MAX_CONTENT as MAX_TEXT};
use toolway_models::MessagePart;
use toolway_types::ContentPart;
use toolway_types::picture::PictureFormat;

/// Tolerates any trailing bits, because other encoders produce them.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Reason why a message can't be sent to a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMessage {
    /// The message is empty.
    #[error("the message is empty")]
    Empty,
    /// The text is too long.
    #[error("the message is longer than {MAX_TEXT} bytes")]
    TooLong,
    /// The message has too many attachments.
    #[error("the message has {0} attachments; it may have {MAX_ATTACHMENTS}")]
    TooMany(usize),
    /// An attachment is not readable by models.
    #[error("attachments[{at}]: {problem}")]
    Attachment {
        /// Index of the attachment, from 0.
        at: usize,
        /// Problem of the attachment.
        problem: BadAttachment,
    },
}

/// Reason why an attachment can't be sent to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadAttachment {
    /// The image type is not readable by models.
    ImageType(String),
    /// The data is not base64.
    Base64,
    /// The text is too long.
    TooLong,
    /// The text is only white space.
    Blank,
    /// The attachment is of another kind.
    Kind(&'static str),
}

impl fmt::Display for BadAttachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ImageType(form) => {
                write!(
                    f,
                    "its bytes are not a picture that models support (PNG, JPEG, GIF, WebP), although its type is {form:?}"
                )
            }
            Self::Base64 => f.write_str("its data is not base64"),
            Self::TooLong => write!(f, "its text is longer than {MAX_TEXT} bytes"),
            Self::Blank => f.write_str("it is empty"),
            Self::Kind(kind) => write!(f, "{kind} can't be sent to a model; send images or text"),
        }
    }
}

/// Converts a message to the parts that a model reads.
///
/// # Errors
/// [`BadMessage`] if the message can't be sent to a model.
pub(crate) fn message_parts(
    content: String,
    attachments: &[ContentPart],
) -> Result<Vec<MessagePart>, BadMessage> {
    if content.len() > MAX_TEXT {
        return Err(BadMessage::TooLong);
    }
    if attachments.len() > MAX_ATTACHMENTS {
        return Err(BadMessage::TooMany(attachments.len()));
    }
    let mut parts = Vec::with_capacity(attachments.len() + 1);
    if !content.trim().is_empty() {
        parts.push(MessagePart::text(content));
    }
    for (at, attachment) in attachments.iter().enumerate() {
        parts.push(attachment_part(attachment).map_err(|problem| BadMessage::Attachment { at, problem })?);
    }
    if parts.is_empty() { Err(BadMessage::Empty) } else { Ok(parts) }
}

fn attachment_part(part: &ContentPart) -> Result<MessagePart, BadAttachment> {
    match part {
        ContentPart::Text { text } => bounded_text(text.clone()),
        ContentPart::Image { data, mime_type } => image_part(data.clone(), mime_type),
        ContentPart::Audio { .. } => Err(BadAttachment::Kind("sound")),
        ContentPart::ResourceLink { .. } => Err(BadAttachment::Kind("a link")),
        ContentPart::Resource { resource } => {
            let field = |name: &str| resource.get(name).and_then(serde_json::Value::as_str);
            if let Some(text) = field("text") {
                let uri = field("uri").unwrap_or_default();
                return bounded_text(if uri.is_empty() {
                    text.to_owned()
                } else {
                    format!("{uri}:\n{text}")
                });
            }
            match (field("blob"), field("mimeType")) {
                (Some(blob), Some(form)) => image_part(blob.to_owned(), form),
                (Some(blob), None) if PictureFormat::of_base64(blob).is_some() => {
                    image_part(blob.to_owned(), "")
                }
                _ => Err(BadAttachment::Kind("a file of unknown type")),
            }
        }
    }
}

fn bounded_text(text: String) -> Result<MessagePart, BadAttachment> {
    match text.trim().is_empty() {
        _ if text.len() > MAX_TEXT => Err(BadAttachment::TooLong),
        true => Err(BadAttachment::Blank),
        false => Ok(MessagePart::text(text)),
    }
}

/// Creates an image part. The bytes decide its type; the declared type is only used in messages.
///
/// # Errors
/// [`BadAttachment`] if the data is not base64, or not a picture that models accept.
pub(crate) fn image_part(data: String, declared: &str) -> Result<MessagePart, BadAttachment> {
    if data.is_empty() || BASE64.decode(&data).is_err() {
        return Err(BadAttachment::Base64);
    }
    match PictureFormat::of_base64(&data) {
        Some(format) => Ok(MessagePart::Image { data, mime_type: format.media_type().to_owned() }),
        None => Err(BadAttachment::ImageType(declared.to_owned())),
    }
}

#[cfg(test)]
mod tests;
