//! Lenient deserialization for fields that some servers send with a wrong type. Such a field counts as missing, so that
//! the rest of the event stays readable.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text; anything else is none. `#[serde(default, deserialize_with = "lenient::text")]`.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    deserializer.deserialize_any(LenientVisitor::<String>(PhantomData))
}

/// Deserializes a string, borrowed if possible. Other types become `None`. Needs serde's attribute `borrow` too.
pub(crate) fn borrowed<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'de, str>>, D::Error> {
    deserializer.deserialize_any(LenientVisitor::<Cow<'de, str>>(PhantomData))
}

/// A whole number from 0; anything else is none.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(LenientVisitor::<u64>(PhantomData))
}

/// An object of this form; anything that is none, or has another form, is its default.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + for<'a> Deserialize<'a>,
{
    let raw = <Option<&serde_json::value::RawValue>>::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default())
}

/// A JSON scalar, converted to the expected type if possible.
trait FromScalar<'de>: Sized {
    fn from_text(text: &str) -> Option<Self>;
    fn from_borrowed(text: &'de str) -> Option<Self> {
        Self::from_text(text)
    }
    fn from_owned(text: String) -> Option<Self> {
        Self::from_text(&text)
    }
    fn from_count(count: u64) -> Option<Self>;
}

impl FromScalar<'_> for String {
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
    fn from_owned(text: String) -> Option<Self> {
        Some(text)
    }
    fn from_count(_: u64) -> Option<Self> {
        None
    }
}

impl<'de> FromScalar<'de> for Cow<'de, str> {
    fn from_text(text: &str) -> Option<Self> {
        Some(Cow::Owned(text.to_owned()))
    }
    fn from_borrowed(text: &'de str) -> Option<Self> {
        Some(Cow::Borrowed(text))
    }
    fn from_owned(text: String) -> Option<Self> {
        Some(Cow::Owned(text))
    }
    fn from_count(_: u64) -> Option<Self> {
        None
    }
}

impl FromScalar<'_> for u64 {
    fn from_text(_: &str) -> Option<Self> {
        None
    }
    fn from_count(count: u64) -> Option<Self> {
        Some(count)
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: FromScalar<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::from_text(text))
    }
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(T::from_borrowed(text))
    }
    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(T::from_owned(text))
    }
    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(T::from_count(number))
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(number).ok().and_then(T::from_count))
    }
    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        // Some write 12.0.
        let is_count = number.fract() == 0.0 && (0.0..9e15).contains(&number);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just checked")]
        Ok(is_count.then_some(number as u64).and_then(T::from_count))
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
