//! String pools of manifests and resource tables (`ResStringPool` of the platform's `ResourceTypes.h`). A
//! string is decoded on demand, and never if it is too long.

use super::bytes::{ByteSlice, ResourceChunk};

/// `RES_STRING_POOL_TYPE`.
pub(super) const STRING_POOL: u16 = 0x0001;
const UTF8: u32 = 1 << 8;
/// Length above which strings count as absent: no name, label or value that is needed here is as long. In
/// units of the pool's encoding.
const MAX_STRING: usize = 32 * 1024;

/// The strings of one pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct StringPool<'a> {
    offsets: ByteSlice<'a>,
    data: ByteSlice<'a>,
    count: usize,
    is_utf8: bool,
}

impl<'a> StringPool<'a> {
    /// Returns a pool without strings.
    pub(super) fn none() -> Self {
        Self { offsets: ByteSlice::new(&[]), data: ByteSlice::new(&[]), count: 0, is_utf8: true }
    }

    /// Parses a chunk as a pool.
    pub(super) fn read(chunk: ResourceChunk<'a>) -> Option<Self> {
        if chunk.kind != STRING_POOL {
            return None;
        }
        let (count, flags, start) = (chunk.all.size(8)?, chunk.all.u32(16)?, chunk.all.size(20)?);
        let offsets = chunk.all.slice(chunk.header, count.checked_mul(4)?)?;
        // A pool without strings may have any start offset.
        let data = if count == 0 { ByteSlice::new(&[]) } else { chunk.all.from(start)? };
        Some(Self { offsets, data, count, is_utf8: flags & UTF8 != 0 })
    }

    /// Returns a string. Invalid characters are replaced.
    pub(super) fn get(&self, index: u32) -> Option<String> {
        let index = usize::try_from(index).ok().filter(|index| *index < self.count)?;
        let text = self.data.from(self.offsets.size(index.checked_mul(4)?)?)?;
        if self.is_utf8 { Self::utf8(text) } else { Self::utf16(text) }
    }

    fn utf8(text: ByteSlice<'_>) -> Option<String> {
        let length = |at: usize| -> Option<(usize, usize)> {
            let first = usize::from(text.u8(at)?);
            if first & 0x80 == 0 {
                return Some((first, at + 1));
            }
            Some((((first & 0x7f) << 8) | usize::from(text.u8(at + 1)?), at + 2))
        };
        let (_, at) = length(0)?;
        let (bytes, at) = length(at)?;
        let text = text.slice(at, bytes).filter(|_| bytes <= MAX_STRING)?;
        Some(String::from_utf8_lossy(text.as_slice()).into_owned())
    }

    fn utf16(text: ByteSlice<'_>) -> Option<String> {
        let first = usize::from(text.u16(0)?);
        let (units, start) = if first & 0x8000 == 0 {
            (first, 2)
        } else {
            (((first & 0x7fff) << 16) | usize::from(text.u16(2)?), 4)
        };
        if units > MAX_STRING {
            return None;
        }
        let text = text.slice(start, units * 2)?;
        let units = text.as_slice().as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
        Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}
