//! Random access to a file on the phone: of a large app, only the manifest, the resource table and the end
//! are transferred.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

/// Number of bytes per fetch. Each fetch costs a round trip of some tens of milliseconds.
const BLOCK: u64 = 256 << 10;
/// Maximum number of blocks that are fetched of one file: 96 MiB, more than is ever needed.
const MAX_BLOCKS: usize = 384;
/// Maximum number of cached blocks.
const MAX_CACHED_BLOCKS: usize = 16;

/// Fetches `length` bytes at `offset`, a multiple of [`BLOCK`]. Fewer bytes are an error.
pub(super) trait BlockSource {
    fn fetch(&self, offset: u64, length: u64) -> io::Result<Vec<u8>>;
}

/// A file of known length.
pub(super) struct RemoteFile<F> {
    source: F,
    length: u64,
    at: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
    fetched: usize,
}

impl<F: BlockSource> RemoteFile<F> {
    pub(super) fn new(source: F, length: u64) -> Self {
        Self { source, length, at: 0, blocks: BTreeMap::new(), fetched: 0 }
    }

    fn block(&mut self, number: u64) -> io::Result<&[u8]> {
        if !self.blocks.contains_key(&number) {
            self.fetched += 1;
            if self.fetched > MAX_BLOCKS {
                return Err(io::Error::other("too many bytes would be read"));
            }
            let offset = number * BLOCK;
            let length = BLOCK.min(self.length - offset);
            let bytes = self.source.fetch(offset, length)?;
            if u64::try_from(bytes.len()).ok() != Some(length) {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it is shorter than the phone reported",
                ));
            }
            if self.blocks.len() >= MAX_CACHED_BLOCKS {
                self.blocks.pop_first();
            }
            self.blocks.insert(number, bytes);
        }
        Ok(self.blocks.get(&number).map(Vec::as_slice).unwrap_or_default())
    }
}

impl<F: BlockSource> Read for RemoteFile<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.length || into.is_empty() {
            return Ok(0);
        }
        let (number, within) = (self.at / BLOCK, self.at % BLOCK);
        let block = self.block(number)?;
        let mut rest = block.get(usize::try_from(within).unwrap_or(usize::MAX)..).unwrap_or_default();
        let read = rest.read(into)?;
        self.at += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}

impl<F> Seek for RemoteFile<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before the beginning"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests;
