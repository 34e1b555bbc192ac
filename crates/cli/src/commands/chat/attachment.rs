//! Reads attachments: images become image parts, texts become part of the message.

use std::io::Read;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolway_types::ContentPart;

use crate::error::{CliError, CliResult};

/// Maximum size of an image in bytes.
const MAX_IMAGE: u64 = 8 << 20;
/// Maximum size of a text in bytes.
const MAX_TEXT: usize = 256 << 10;

/// Attachment of a message.
#[derive(Debug, PartialEq)]
pub(super) enum MessageAttachment {
    Image(ContentPart),
    /// Text to put before the message.
    Text(String),
}

/// Reads an attachment from a file.
pub(super) fn read_attachment(path: &Path) -> CliResult<MessageAttachment> {
    let failed = |error: std::io::Error| CliError::io("read", path, &error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_IMAGE + 1).read_to_end(&mut bytes).map_err(failed)?;
    from_bytes(path, &bytes)
}

fn from_bytes(path: &Path, bytes: &[u8]) -> CliResult<MessageAttachment> {
    let too_large = |most: &str| {
        CliError::new(format!("{} is larger than {most}", path.display()))
            .with_code("attachment")
            .with_hint("send a smaller image, or a part of the text")
    };
    if bytes.len() as u64 > MAX_IMAGE {
        return Err(too_large("8 MiB"));
    }
    if let Some(mime_type) = image_type(bytes) {
        return Ok(MessageAttachment::Image(ContentPart::Image {
            data: STANDARD.encode(bytes),
            mime_type: mime_type.to_owned(),
        }));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(CliError::new(format!("{} is not an image or a text file", path.display()))
            .with_code("attachment")
            .with_hint("supported: PNG, JPEG, GIF and WebP images, and UTF-8 text"));
    };
    if text.len() > MAX_TEXT {
        return Err(too_large("256 KiB, the limit for text"));
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let fence = fence_for(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    Ok(MessageAttachment::Text(format!("{name}:\n{fence}\n{text}{end}{fence}\n\n")))
}

/// Detects the media type of an image from its magic bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns a code fence that is longer than any in the text.
fn fence_for(text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start().chars().take_while(|c| *c == '`').count())
        .max()
        .unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> CliResult<MessageAttachment> {
        from_bytes(Path::new("/some/where/notes.md"), bytes)
    }

    #[test]
    fn images_are_detected_by_their_magic_bytes() {
        for (bytes, mime_type) in [
            (&b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", "image/webp"),
        ] {
            match read(bytes).unwrap() {
                MessageAttachment::Image(ContentPart::Image { data, mime_type: found }) => {
                    assert_eq!((found.as_str(), data), (mime_type, STANDARD.encode(bytes)));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn texts_become_part_of_the_message() {
        assert_eq!(
            read(b"hello").unwrap(),
            MessageAttachment::Text("notes.md:\n```\nhello\n```\n\n".to_owned())
        );
        assert_eq!(
            read(b"```\nx\n```\n").unwrap(),
            MessageAttachment::Text("notes.md:\n````\n```\nx\n```\n````\n\n".to_owned())
        );
    }

    #[test]
    fn unsupported_and_large_files_are_rejected() {
        assert_eq!(read(b"\xff\xfe\x00").unwrap_err().code(), "attachment");
        assert_eq!(read(&vec![b'x'; MAX_TEXT + 1]).unwrap_err().code(), "attachment");
        assert_eq!(read(&vec![0; (8 << 20) + 1]).unwrap_err().code(), "attachment");
    }
}
