//! Typed values (`Res_value`).

use super::bytes::ByteSlice;

/// An unresolved `Res_value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawResourceValue {
    /// `Res_value::dataType`.
    pub(super) kind: u8,
    /// `Res_value::data`.
    pub(super) data: u32,
}

/// `TYPE_REFERENCE`.
pub(super) const REFERENCE: u8 = 0x01;
/// `TYPE_STRING`.
pub(super) const STRING: u8 = 0x03;
/// `TYPE_FLOAT`.
pub(super) const FLOAT: u8 = 0x04;
/// `TYPE_DYNAMIC_REFERENCE`.
pub(super) const DYNAMIC_REFERENCE: u8 = 0x07;
/// `TYPE_FIRST_INT` to `TYPE_LAST_INT`, which includes booleans and colours.
const INTS: std::ops::RangeInclusive<u8> = 0x10..=0x1f;
/// `TYPE_INT_BOOLEAN`.
pub(super) const BOOLEAN: u8 = 0x12;

impl RawResourceValue {
    pub(super) fn read(bytes: ByteSlice<'_>, at: usize) -> Option<Self> {
        Some(Self { kind: bytes.u8(at.checked_add(3)?)?, data: bytes.u32(at.checked_add(4)?)? })
    }

    pub(super) fn is_reference(self) -> bool {
        matches!(self.kind, REFERENCE | DYNAMIC_REFERENCE)
    }
}

/// A value with resolved references.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ResourceValue {
    Text(String),
    Int(i32),
    Float(f32),
    Boolean(bool),
    /// An unresolved reference: to the system's resources, or to none.
    Reference(u32),
    /// A value of another type: a size, a fraction or an attribute.
    Other(u8),
}

impl ResourceValue {
    /// Converts a value that is not a reference; `text` returns the string of an index.
    pub(super) fn of(raw: RawResourceValue, text: impl FnOnce(u32) -> Option<String>) -> Option<Self> {
        Some(match raw.kind {
            STRING => Self::Text(text(raw.data)?),
            FLOAT => Self::Float(f32::from_bits(raw.data)),
            BOOLEAN => Self::Boolean(raw.data != 0),
            kind if INTS.contains(&kind) => Self::Int(raw.data.cast_signed()),
            kind => Self::Other(kind),
        })
    }
}
