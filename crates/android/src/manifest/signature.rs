//! Finds the signer of an APK in its signing block (APK Signature Scheme v2 and v3, as described on
//! source.android.com). The signatures themselves are not verified: the phone did that during the
//! installation.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};
use toolway_types::text::hex;

use super::bytes::ByteSlice;

const MAGIC: &[u8; 16] = b"APK Sig Block 42";
const V2: u32 = 0x7109_871a;
const V3: u32 = 0xf053_68c0;
/// Version 3.1, which Android 13 (API 33) and newer check first: it may have a newer key.
const V31: u32 = 0x1b93_ad61;
/// Maximum size of the block, which has certificates, signatures and often padding to a page, in bytes.
const MAX_BLOCK: u64 = 4 << 20;
/// Maximum number of signers; Android's limit is ten.
const MAX_SIGNERS: usize = 10;

/// Returns the signing block, which ends where the central directory starts, if there is one.
pub(super) fn block(apk: &mut (impl Read + Seek), directory: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(footer) = directory.checked_sub(24) else { return Ok(None) };
    let mut end = [0; 24];
    apk.seek(SeekFrom::Start(footer))?;
    apk.read_exact(&mut end)?;
    let end = ByteSlice::new(&end);
    // The size counts everything except the first of its two copies.
    let (Some(size), Some(magic)) = (end.u64(0), end.slice(8, 16)) else { return Ok(None) };
    let start = directory.checked_sub(size).filter(|_| (24..=MAX_BLOCK).contains(&size));
    let (Some(start), true) = (start, magic.as_slice() == MAGIC) else { return Ok(None) };
    let mut block = vec![0; usize::try_from(size - 24).unwrap_or_default()];
    apk.seek(SeekFrom::Start(start))?;
    apk.read_exact(&mut block)?;
    Ok(Some(block))
}

/// Returns the SHA-256 of the signers' certificates in a signing block, in lower-case hexadecimal, sorted and
/// joined by `,`, if there are any.
pub(super) fn certificate(block: &[u8], api_level: Option<u32>) -> Option<String> {
    let schemes: &[u32] = if api_level.is_some_and(|level| level >= 33) { &[V31, V3, V2] } else { &[V3, V2] };
    schemes.iter().find_map(|scheme| {
        let signers = sequence(pair(ByteSlice::new(block), *scheme)?)?;
        let certificates: BTreeSet<String> = items(signers).take(MAX_SIGNERS).filter_map(signer).collect();
        Some(certificates.into_iter().collect::<Vec<_>>().join(",")).filter(|it| !it.is_empty())
    })
}

/// Returns the value of an id among the block's pairs.
fn pair(block: ByteSlice<'_>, wanted: u32) -> Option<ByteSlice<'_>> {
    let mut rest = block;
    loop {
        let length = usize::try_from(rest.u64(0)?).ok()?;
        let pair = rest.slice(8, length)?;
        if pair.u32(0)? == wanted {
            return pair.from(4);
        }
        rest = rest.from(8)?.from(length)?;
    }
}

/// Returns the bytes after a four-byte length.
fn sequence(bytes: ByteSlice<'_>) -> Option<ByteSlice<'_>> {
    bytes.slice(4, bytes.size(0)?)
}

/// Returns the sequences within a sequence.
fn items(bytes: ByteSlice<'_>) -> impl Iterator<Item = ByteSlice<'_>> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let item = sequence(rest?)?;
        rest = rest?.from(4)?.from(item.len());
        Some(item)
    })
}

/// Returns the SHA-256 of a signer's first certificate, with which it signs.
fn signer(signer: ByteSlice<'_>) -> Option<String> {
    let signed = sequence(signer)?;
    let digests = sequence(signed)?;
    let certificates = sequence(signed.from(4)?.from(digests.len())?)?;
    let first = items(certificates).next()?;
    Some(hex(&Sha256::digest(first.as_slice())))
}
