//! What crosses between Java and Rust, as bytes: one array there, one array back. A bundle of ten values would
//! else be fifty calls through JNI, each with references to free. The Java side is `dev.toolway.host.Reader` and
//! `Writer`.
//!
//! Numbers are big-endian. A text is its length in bytes as an `int` and UTF-8. A list is its length as an `int`
//! and its members. A value is a byte that says its kind (see [`kind`]), and what that kind holds. A bundle is a
//! list of keys with values. Something that can be absent follows a byte that is 1 where it is there.

#[cfg(test)]
mod tests;

use toolway_android::{Bundle, Value};

/// Bundles within bundles, at most.
const MOST_NESTED: usize = 16;

/// The kinds of values.
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

/// The bytes are not what the other side should have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too early.
    #[error("the host's answer ends too early")]
    Cut,
    /// A length is negative, or more than could follow.
    #[error("the host's answer has a length that can't be")]
    Length,
    /// A text is not UTF-8.
    #[error("a text in the host's answer is not UTF-8")]
    Text,
    /// A byte that says what follows says nothing known.
    #[error("the host's answer has {0}, which means nothing here")]
    Kind(u8),
    /// Bundles within bundles, too many.
    #[error("the host's answer has more than {MOST_NESTED} bundles within each other")]
    Nested,
    /// Something follows the end.
    #[error("the host's answer goes on after its end")]
    Rest,
    /// A value of a class that can't be sent.
    #[error("a value of a class that is only known by name can't be sent")]
    Unsendable,
}

/// Writes what Java reads.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// What was written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A byte.
    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// An `int`.
    pub fn int(&mut self, number: i32) {
        self.0.extend(number.to_be_bytes());
    }

    /// A `long`.
    pub fn long(&mut self, number: i64) {
        self.0.extend(number.to_be_bytes());
    }

    /// How many follow.
    ///
    /// # Errors
    /// More than Java can count.
    pub fn length(&mut self, length: usize) -> Result<(), Malformed> {
        self.int(i32::try_from(length).map_err(|_| Malformed::Length)?);
        Ok(())
    }

    /// A text.
    ///
    /// # Errors
    /// Longer than Java's can be.
    pub fn text(&mut self, text: &str) -> Result<(), Malformed> {
        self.length(text.len())?;
        self.0.extend(text.as_bytes());
        Ok(())
    }

    /// A text that may be absent.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn text_or_none(&mut self, text: Option<&str>) -> Result<(), Malformed> {
        self.byte(u8::from(text.is_some()));
        text.map_or(Ok(()), |text| self.text(text))
    }

    /// A list of texts.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn texts(&mut self, texts: &[String]) -> Result<(), Malformed> {
        self.length(texts.len())?;
        texts.iter().try_for_each(|text| self.text(text))
    }

    /// A bundle.
    ///
    /// # Errors
    /// A value that can't be sent, or too many or too much of something.
    pub fn bundle(&mut self, bundle: &Bundle) -> Result<(), Malformed> {
        self.nested_bundle(bundle, MOST_NESTED)
    }

    fn nested_bundle(&mut self, bundle: &Bundle, more: usize) -> Result<(), Malformed> {
        let more = more.checked_sub(1).ok_or(Malformed::Nested)?;
        self.length(bundle.len())?;
        bundle.iter().try_for_each(|(key, value)| {
            self.text(key)?;
            self.value(value, more)
        })
    }

    fn value(&mut self, value: &Value, more: usize) -> Result<(), Malformed> {
        match value {
            Value::Null => self.byte(kind::NULL),
            Value::Boolean(it) => {
                self.byte(kind::BOOLEAN);
                self.byte(u8::from(*it));
            }
            Value::Int(it) => {
                self.byte(kind::INT);
                self.int(*it);
            }
            Value::Long(it) => {
                self.byte(kind::LONG);
                self.long(*it);
            }
            Value::Float(it) => {
                self.byte(kind::FLOAT);
                self.0.extend(it.to_be_bytes());
            }
            Value::Double(it) => {
                self.byte(kind::DOUBLE);
                self.0.extend(it.to_be_bytes());
            }
            Value::Text(it) => {
                self.byte(kind::TEXT);
                self.text(it)?;
            }
            Value::Texts(it) => {
                self.byte(kind::TEXTS);
                self.texts(it)?;
            }
            Value::Map(it) => {
                self.byte(kind::MAP);
                self.length(it.len())?;
                for (key, value) in it {
                    self.text(key)?;
                    self.text(value)?;
                }
            }
            Value::Bundle(it) => {
                self.byte(kind::BUNDLE);
                self.nested_bundle(it, more)?;
            }
            Value::Other(_) => return Err(Malformed::Unsendable),
        }
        Ok(())
    }
}

/// Reads what Java wrote. Allocates no more than the bytes that are there.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the start of these.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// That is all.
    ///
    /// # Errors
    /// It is not.
    pub fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::Rest) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed::Cut)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A byte.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    /// A byte that says yes or no.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed::Kind(other)),
        }
    }

    /// An `int`.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn int(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    /// How many follow. Each takes a byte at least, so there can't be more than bytes.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let length = usize::try_from(self.int()?).map_err(|_| Malformed::Length)?;
        if length > self.rest.len() { Err(Malformed::Length) } else { Ok(length) }
    }

    /// A text.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn text(&mut self) -> Result<String, Malformed> {
        let length = self.length()?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(Malformed::Cut)?;
        self.rest = rest;
        std::str::from_utf8(text).map(str::to_owned).map_err(|_| Malformed::Text)
    }

    /// A text that may be absent.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn text_or_none(&mut self) -> Result<Option<String>, Malformed> {
        Ok(if self.flag()? { Some(self.text()?) } else { None })
    }

    /// A list of these.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn list<T>(
        &mut self,
        mut member: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = self.length()?;
        (0..length).map(|_| member(self)).collect()
    }

    /// A bundle.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn bundle(&mut self) -> Result<Bundle, Malformed> {
        self.nested_bundle(MOST_NESTED)
    }

    /// A value that holds no bundle.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn plain_value(&mut self) -> Result<Value, Malformed> {
        self.value(0)
    }

    fn nested_bundle(&mut self, more: usize) -> Result<Bundle, Malformed> {
        let more = more.checked_sub(1).ok_or(Malformed::Nested)?;
        let length = self.length()?;
        (0..length).map(|_| Ok((self.text()?, self.value(more)?))).collect()
    }

    fn value(&mut self, more: usize) -> Result<Value, Malformed> {
        Ok(match self.byte()? {
            kind::NULL => Value::Null,
            kind::BOOLEAN => Value::Boolean(self.flag()?),
            kind::INT => Value::Int(self.int()?),
            kind::LONG => Value::Long(i64::from_be_bytes(self.take()?)),
            kind::FLOAT => Value::Float(f32::from_be_bytes(self.take()?)),
            kind::DOUBLE => Value::Double(f64::from_be_bytes(self.take()?)),
            kind::TEXT => Value::Text(self.text()?),
            kind::TEXTS => Value::Texts(self.list(Self::text)?),
            kind::MAP => Value::Map(self.list(|it| Ok((it.text()?, it.text()?)))?),
            kind::BUNDLE => Value::Bundle(self.nested_bundle(more)?),
            kind::OTHER => Value::Other(self.text()?),
            other => return Err(Malformed::Kind(other)),
        })
    }
}
