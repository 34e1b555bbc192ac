//! Reads little-endian numbers from untrusted bytes. Every access is checked; nothing is copied.

/// A slice of bytes. Reading beyond its end returns `None`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteSlice<'a>(&'a [u8]);

impl<'a> ByteSlice<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn len(self) -> usize {
        self.0.len()
    }

    pub(super) fn as_slice(self) -> &'a [u8] {
        self.0
    }

    /// Returns `length` bytes from `start`.
    pub(super) fn slice(self, start: usize, length: usize) -> Option<Self> {
        self.0.get(start..start.checked_add(length)?).map(Self)
    }

    /// Returns the bytes from `start` to the end.
    pub(super) fn from(self, start: usize) -> Option<Self> {
        self.0.get(start..).map(Self)
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// Reads a `u32` that is a count or an offset.
    pub(super) fn size(self, at: usize) -> Option<usize> {
        self.u32(at).and_then(|it| usize::try_from(it).ok())
    }

    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }
}

/// A resource chunk: its kind, its header and all its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResourceChunk<'a> {
    /// `RES_*_TYPE`.
    pub(super) kind: u16,
    /// Length of the header.
    pub(super) header: usize,
    /// All bytes, including the header.
    pub(super) all: ByteSlice<'a>,
}

impl<'a> ResourceChunk<'a> {
    /// Returns the chunk at the start of these bytes.
    pub(super) fn first(bytes: ByteSlice<'a>) -> Option<Self> {
        let (kind, header, size) = (bytes.u16(0)?, usize::from(bytes.u16(2)?), bytes.size(4)?);
        if header < 8 || size < header {
            return None;
        }
        Some(Self { kind, header, all: bytes.slice(0, size)? })
    }

    /// Returns the bytes after the header.
    pub(super) fn body(self) -> ByteSlice<'a> {
        self.all.from(self.header).unwrap_or(ByteSlice(&[]))
    }

    /// Returns the chunks within it, from `start`. Ends at the first invalid one. Each has at least eight
    /// bytes, so the iteration ends.
    pub(super) fn children(self, start: usize) -> impl Iterator<Item = ResourceChunk<'a>> {
        let mut rest = self.all.from(start);
        std::iter::from_fn(move || {
            let chunk = Self::first(rest?)?;
            rest = rest?.from(chunk.all.len());
            Some(chunk)
        })
    }
}
