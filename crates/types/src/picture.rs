//! Pictures, recognised by their bytes. The type that a tool or a client declares is often wrong, and model providers
//! refuse a request with a wrong type.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Number of base64 digits that contain the signature of every format: 12 bytes.
const SIGNATURE_DIGITS: usize = 16;
/// Minimum number of base64 digits of a text that counts as a picture without a declaration. Shorter texts can be words.
const MIN_DIGITS: usize = 40;

/// A format of pictures that models accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
}

impl PictureFormat {
    /// Recognises the format of a picture by its first bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }

    /// Recognises the format of a picture in standard base64. Only its start is decoded.
    #[must_use]
    pub fn of_base64(data: &str) -> Option<Self> {
        let start = data.get(..SIGNATURE_DIGITS.min(data.len()))?;
        // The start of a longer text has no padding.
        Self::of_bytes(&STANDARD.decode(start).ok()?)
    }

    /// Media type of the format.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// A picture as base64 text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPicture {
    /// Format of its bytes.
    pub format: PictureFormat,
    /// Its bytes in standard base64 with padding, without white space.
    pub data: String,
}

impl EncodedPicture {
    /// Recognises a picture in a text that is a data URL (RFC 2397) or plain base64 and nothing else. It may be wrapped in
    /// lines, use the URL-safe alphabet, and lack padding.
    #[must_use]
    pub fn recognise(text: &str) -> Option<Self> {
        let text = text.trim();
        let (digits, is_declared) = match text.get(..5) {
            Some(scheme) if scheme.eq_ignore_ascii_case("data:") => {
                let (head, digits) = text.split_once(',')?;
                (head.to_ascii_lowercase().ends_with(";base64").then_some(digits)?, true)
            }
            _ => (text, false),
        };
        // Most texts end here, without a copy.
        let format = PictureFormat::of_base64(&standard_digits(digits.get(..SIGNATURE_DIGITS)?)?)?;
        let mut data = standard_digits(digits)?.into_owned();
        if !is_declared && data.len() < MIN_DIGITS {
            return None;
        }
        let digits = data.trim_end_matches('=').len();
        let padding = data.len() - digits;
        data.truncate(digits);
        if padding > 2 || data.contains('=') || data.len() % 4 == 1 {
            return None;
        }
        while !data.len().is_multiple_of(4) {
            data.push('=');
        }
        Some(Self { format, data })
    }

    /// Number of its bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        decoded_len(&self.data)
    }

    /// True if it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}

/// Returns the number of bytes that a base64 text encodes.
#[must_use]
pub fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

/// Returns the media type of a picture in base64: that of its bytes, otherwise the declared one.
#[must_use]
pub fn media_type_of<'a>(data: &str, declared: &'a str) -> &'a str {
    PictureFormat::of_base64(data).map_or(declared, |format| format.media_type())
}

/// Describes a picture that a model can't see: its media type and size.
#[must_use]
pub fn describe_picture(media_type: &str, base64: &str) -> String {
    format!("{media_type}, {} bytes", decoded_len(base64))
}

/// Returns the digits of a text in the standard alphabet, without white space; `None` if it has other characters.
fn standard_digits(text: &str) -> Option<Cow<'_, str>> {
    let is_standard = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if text.bytes().all(is_standard) {
        return Some(Cow::Borrowed(text));
    }
    let mut digits = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '=' => digits.push(c),
            '-' => digits.push('+'),
            '_' => digits.push('/'),
            ' ' | '\t' | '\r' | '\n' => {}
            _ => return None,
        }
    }
    Some(Cow::Owned(digits))
}

#[cfg(test)]
mod tests;
