//! The binary format between Java and Rust: one byte array per call and one per answer. A bundle of ten
//! values would otherwise take fifty JNI calls, each with references to free. The Java side is
//! `dev.toolway.host.Reader` and `Writer`.
//!
//! Numbers are big-endian. A text is its length in bytes as an `int` and UTF-8. A list is its length as an
//! `int` and its elements. A value is a byte for its kind (see [`kind`]) and its content. A bundle is a list
//! of keys and values. An optional value follows a byte that is 1 if it is present.
//! list of keys with values. Something that can be absent follows a byte that is 1 where it is there.

#[cfg(test)]
mod tests;

use toolway_android::{Bundle, BundleValue};

/// Maximum nesting of bundles.
const MAX_NESTED: usize = 16;

/// Kinds of values.
mod kind {
    pub(super) const NULL: u8 = 0;
    pub(super) const BOOLEAN: u8 = 1;
    pub(super) const INT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const TEXT: u8 = 6;
    pub(super) const TEXTS: u8 = 7;
    pub(super) const MAP: u8 = 8;
    pub(super) const BUNDLE: u8 = 9;
    pub(super) const OTHER: u8 = 10;
}

/// Error in bytes from the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end too early.
    #[error("the host's answer ends too early")]
    Truncated,
    /// A length is negative or exceeds the remaining bytes.
    #[error("the host's answer has a length that can't be")]
    InvalidLength,
    /// A text is not valid UTF-8.
    #[error("a text in the host's answer is not UTF-8")]
    InvalidUtf8,
    /// A kind byte has an unknown value.
    #[error("the host's answer has {0}, which means nothing here")]
    UnknownKind(u8),
    /// Bundles are nested too deeply.
    #[error("the host's answer has more than {MAX_NESTED} bundles within each other")]
    TooDeep,
    /// There are bytes after the end.
    #[error("the host's answer goes on after its end")]
    TrailingBytes,
    /// A value has a class that can't be sent.
    #[error("a value of a class that is only known by name can't be sent")]
    Unsendable,
}

/// Encoder of data for Java.
#[derive(Debug, Default)]
pub struct CodecWriter(Vec<u8>);

impl CodecWriter {
    /// Returns the encoded bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Writes a byte.
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Writes an `int`.
    pub fn int(&mut self, number: i32) {
        self.0.extend(number.to_be_bytes());
    }

    /// Writes a `long`.
    pub fn long(&mut self, number: i64) {
        self.0.extend(number.to_be_bytes());
    }

    /// Writes the length of a list.
    ///
    /// # Errors
    /// [`CodecError::InvalidLength`] if it exceeds an `int`.
    pub fn length(&mut self, length: usize) -> Result<(), CodecError> {
        self.int(i32::try_from(length).map_err(|_| CodecError::InvalidLength)?);
        Ok(())
    }

    /// Writes a text.
    ///
    /// # Errors
    /// [`CodecError::InvalidLength`] if it is longer than a Java string can be.
    pub fn text(&mut self, text: &str) -> Result<(), CodecError> {
        self.length(text.len())?;
        self.0.extend(text.as_bytes());
        Ok(())
    }

    /// Writes an optional text.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn text_or_none(&mut self, text: Option<&str>) -> Result<(), CodecError> {
        self.byte(u8::from(text.is_some()));
        text.map_or(Ok(()), |text| self.text(text))
    }

    /// Writes a list of texts.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn texts(&mut self, texts: &[String]) -> Result<(), CodecError> {
        self.length(texts.len())?;
        texts.iter().try_for_each(|text| self.text(text))
    }

    /// Writes a bundle.
    ///
    /// # Errors
    /// [`CodecError`] if it has a value that can't be sent, or exceeds a limit.
    pub fn bundle(&mut self, bundle: &Bundle) -> Result<(), CodecError> {
        self.nested_bundle(bundle, MAX_NESTED)
    }

    fn nested_bundle(&mut self, bundle: &Bundle, more: usize) -> Result<(), CodecError> {
        let more = more.checked_sub(1).ok_or(CodecError::TooDeep)?;
        self.length(bundle.len())?;
        bundle.iter().try_for_each(|(key, value)| {
            self.text(key)?;
            self.value(value, more)
        })
    }

    fn value(&mut self, value: &BundleValue, more: usize) -> Result<(), CodecError> {
        match value {
            BundleValue::Null => self.byte(kind::NULL),
            BundleValue::Boolean(it) => {
                self.byte(kind::BOOLEAN);
                self.byte(u8::from(*it));
            }
            BundleValue::Int(it) => {
                self.byte(kind::INT);
                self.int(*it);
            }
            BundleValue::Long(it) => {
                self.byte(kind::LONG);
                self.long(*it);
            }
            BundleValue::Float(it) => {
                self.byte(kind::FLOAT);
                self.0.extend(it.to_be_bytes());
            }
            BundleValue::Double(it) => {
                self.byte(kind::DOUBLE);
                self.0.extend(it.to_be_bytes());
            }
            BundleValue::Text(it) => {
                self.byte(kind::TEXT);
                self.text(it)?;
            }
            BundleValue::Texts(it) => {
                self.byte(kind::TEXTS);
                self.texts(it)?;
            }
            BundleValue::Map(it) => {
                self.byte(kind::MAP);
                self.length(it.len())?;
                for (key, value) in it {
                    self.text(key)?;
                    self.text(value)?;
                }
            }
            BundleValue::Bundle(it) => {
                self.byte(kind::BUNDLE);
                self.nested_bundle(it, more)?;
            }
            BundleValue::Other(_) => return Err(CodecError::Unsendable),
        }
        Ok(())
    }
}

/// Decoder of data from Java. Allocates no more than the size of the input.
#[derive(Debug)]
pub struct CodecReader<'a> {
    rest: &'a [u8],
}

impl<'a> CodecReader<'a> {
    /// Creates a decoder for these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Checks that all bytes have been read.
    ///
    /// # Errors
    /// [`CodecError::TrailingBytes`] if there are more.
    pub fn end(self) -> Result<(), CodecError> {
        if self.rest.is_empty() { Ok(()) } else { Err(CodecError::TrailingBytes) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(CodecError::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn byte(&mut self) -> Result<u8, CodecError> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    /// Reads a boolean.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn flag(&mut self) -> Result<bool, CodecError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(CodecError::UnknownKind(other)),
        }
    }

    /// Reads an `int`.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn int(&mut self) -> Result<i32, CodecError> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    /// Reads the length of a list. Each element has at least one byte, so it can't exceed the remaining
    /// bytes.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn length(&mut self) -> Result<usize, CodecError> {
        let length = usize::try_from(self.int()?).map_err(|_| CodecError::InvalidLength)?;
        if length > self.rest.len() { Err(CodecError::InvalidLength) } else { Ok(length) }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn text(&mut self) -> Result<String, CodecError> {
        let length = self.length()?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(CodecError::Truncated)?;
        self.rest = rest;
        std::str::from_utf8(text).map(str::to_owned).map_err(|_| CodecError::InvalidUtf8)
    }

    /// Reads an optional text.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn text_or_none(&mut self) -> Result<Option<String>, CodecError> {
        Ok(if self.flag()? { Some(self.text()?) } else { None })
    }

    /// Reads a list.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn list<T>(
        &mut self,
        mut member: impl FnMut(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Vec<T>, CodecError> {
        let length = self.length()?;
        (0..length).map(|_| member(self)).collect()
    }

    /// Reads a bundle.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn bundle(&mut self) -> Result<Bundle, CodecError> {
        self.nested_bundle(MAX_NESTED)
    }

    /// Reads a value that is not a bundle.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are invalid.
    pub fn plain_value(&mut self) -> Result<BundleValue, CodecError> {
        self.value(0)
    }

    fn nested_bundle(&mut self, more: usize) -> Result<Bundle, CodecError> {
        let more = more.checked_sub(1).ok_or(CodecError::TooDeep)?;
        let length = self.length()?;
        (0..length).map(|_| Ok((self.text()?, self.value(more)?))).collect()
    }

    fn value(&mut self, more: usize) -> Result<BundleValue, CodecError> {
        Ok(match self.byte()? {
            kind::NULL => BundleValue::Null,
            kind::BOOLEAN => BundleValue::Boolean(self.flag()?),
            kind::INT => BundleValue::Int(self.int()?),
            kind::LONG => BundleValue::Long(i64::from_be_bytes(self.take()?)),
            kind::FLOAT => BundleValue::Float(f32::from_be_bytes(self.take()?)),
            kind::DOUBLE => BundleValue::Double(f64::from_be_bytes(self.take()?)),
            kind::TEXT => BundleValue::Text(self.text()?),
            kind::TEXTS => BundleValue::Texts(self.list(Self::text)?),
            kind::MAP => BundleValue::Map(self.list(|it| Ok((it.text()?, it.text()?)))?),
            kind::BUNDLE => BundleValue::Bundle(self.nested_bundle(more)?),
            kind::OTHER => BundleValue::Other(self.text()?),
            other => return Err(CodecError::UnknownKind(other)),
        })
    }
}
