//! A page of a text file: some bytes of it, decoded, from one character's beginning to another's end. Never
//! more of the file is read than the page and a little around it, however large it is.

mod boundary;

use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::{Decoder, DecoderResult, Encoding, ISO_2022_JP, UTF_8};

use super::signature::HEAD_BYTES;
use boundary::{end_of_page, is_utf16, utf8_end, utf16_end, utf16_without_mark};

/// Most bytes of a page.
pub(super) const MAX_LIMIT: usize = 1 << 20;
/// Fewest bytes of a page: enough for any character.
const MIN_LIMIT: usize = 16;
/// How much is read at a time.
const CHUNK: usize = 64 << 10;
/// How far back from an offset a character's beginning is looked for.
const LOOK_BACK: u64 = 4096;

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextPage {
    pub(super) text: String,
    /// Where it begins in the file.
    pub(super) start: u64,
    /// Where it ends; the next one begins here.
    pub(super) end: u64,
    /// How many bytes come after it.
    pub(super) left: u64,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum PageError {
    /// It is not text: there are NULs in it.
    Binary {
        /// The first bytes of the file.
        head: Vec<u8>,
        /// The encoding that every other byte being NUL looks like.
        perhaps: Option<&'static Encoding>,
    },
    /// It can't be decoded.
    Undecodable {
        head: Vec<u8>,
        encoding: &'static Encoding,
        /// Where in the file.
        at: u64,
    },
    /// The caller does not want it any more.
    Stopped,
    /// It can't be read.
    Io(io::Error),
}

impl From<io::Error> for PageError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Which page.
pub(super) struct PageRequest {
    /// The encoding, unless the file begins with the mark of another.
    pub(super) encoding: &'static Encoding,
    /// The byte of the file that it begins with, or the character that this one is part of.
    pub(super) offset: u64,
    /// How many bytes of the file at most; by itself what gives some 48 KiB of text.
    pub(super) limit: Option<u64>,
}

/// Reads a page. `size` is how long the file is thought to be.
pub(super) fn read(
    file: &mut (impl Read + Seek),
    size: u64,
    wanted: &PageRequest,
    stopped: &dyn Fn() -> bool,
) -> Result<TextPage, PageError> {
    let head = read_at(file, 0, HEAD_BYTES, stopped)?;
    let (encoding, mark) = match Encoding::for_bom(&head) {
        Some((encoding, length)) => (encoding, length as u64),
        None => (wanted.encoding, 0),
    };
    let mut source = EncodedFile { file, stopped, encoding, mark };
    if wanted.offset > size.max(mark) {
        return Ok(TextPage { text: String::new(), start: wanted.offset, end: wanted.offset, left: 0 });
    }
    let start = source.character_at(wanted.offset.max(mark))?;
    let limit = limit_of(wanted.limit, encoding);
    let mut raw = read_at(source.file, start, limit + 1, stopped)?;
    let is_last = raw.len() <= limit;
    raw.truncate(limit);
    if !is_last {
        raw.truncate(end_of_page(encoding, &raw));
    }
    if !is_utf16(encoding) && raw.contains(&0) {
        let perhaps = utf16_without_mark(&raw);
        return Err(PageError::Binary { head, perhaps });
    }
    let decoder = source.decoder_at(start)?;
    let decoded = decode(decoder, &raw, is_last).map_err(|at| PageError::Undecodable {
        head: head.clone(),
        encoding,
        at: start.saturating_add_signed(at),
    })?;
    if decoded.text.contains('\0') {
        return Err(PageError::Binary { head, perhaps: None });
    }
    // A page of nothing but shifts between alphabets must end somewhere too.
    let bytes = if decoded.bytes == 0 { raw.len() } else { decoded.bytes };
    let end = start + bytes as u64;
    let start = if wanted.offset < mark { wanted.offset } else { start };
    let left = if is_last { 0 } else { size.saturating_sub(end).max(1) };
    Ok(TextPage { text: decoded.text, start, end, left })
}

/// A page of UTF-8 is as long in the file as in the result; others can grow to twice or three times that.
fn limit_of(wanted: Option<u64>, encoding: &'static Encoding) -> usize {
    let limit = match wanted {
        Some(wanted) => usize::try_from(wanted).unwrap_or(MAX_LIMIT),
        None if encoding == UTF_8 => 48 << 10,
        None if is_utf16(encoding) => 32 << 10,
        None => 20 << 10,
    };
    limit.clamp(MIN_LIMIT, MAX_LIMIT)
}

/// Reads up to `most` bytes from a place on; fewer only where the file ends.
fn read_at(
    file: &mut (impl Read + Seek),
    at: u64,
    most: usize,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<u8>, PageError> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    while bytes.len() < most {
        if stopped() {
            return Err(PageError::Stopped);
        }
        let before = bytes.len();
        let chunk = CHUNK.min(most - before) as u64;
        file.by_ref().take(chunk).read_to_end(&mut bytes)?;
        if bytes.len() == before {
            break;
        }
    }
    Ok(bytes)
}

/// The file, as far as finding characters in it goes.
struct EncodedFile<'a, F> {
    file: &'a mut F,
    stopped: &'a dyn Fn() -> bool,
    encoding: &'static Encoding,
    /// How long the byte order mark is.
    mark: u64,
}

impl<F: Read + Seek> EncodedFile<'_, F> {
    /// Where the character begins that the byte at `offset` is part of. Where it already begins one, as those
    /// do that were given as the place to go on from, that is `offset` itself.
    fn character_at(&mut self, offset: u64) -> Result<u64, PageError> {
        let encoding = self.encoding;
        if offset <= self.mark || encoding.is_single_byte() || encoding == ISO_2022_JP {
            return Ok(offset);
        }
        let from = offset.saturating_sub(LOOK_BACK).max(self.mark);
        let before = read_at(self.file, from, (offset - from) as usize, self.stopped)?;
        if encoding == UTF_8 {
            let at_offset = read_at(self.file, offset, 1, self.stopped)?;
            let is_inside = at_offset.first().is_some_and(|byte| byte & 0xC0 == 0x80);
            let back = if is_inside { before.len() - utf8_end(&before) } else { 0 };
            return Ok(offset - back as u64);
        }
        if is_utf16(encoding) {
            let odd = (offset - self.mark) % 2;
            let even = before.get(..before.len() - odd as usize).unwrap_or_default();
            let aligned = before.len().min(even.len());
            let whole = utf16_end(encoding, even.get(even.len() % 2..).unwrap_or_default());
            let back = aligned - even.len() % 2 - whole;
            return Ok(offset - odd - back as u64);
        }
        // A byte below 0x30 is never part of a longer character in any of the others.
        let Some(safe) = before.iter().rposition(|byte| *byte < 0x30) else { return Ok(offset) };
        let run = before.get(safe + 1..).unwrap_or_default();
        let whole = decode(encoding.new_decoder_without_bom_handling(), run, false);
        Ok(whole.map_or(offset, |whole| offset - (run.len() - whole.bytes) as u64))
    }

    /// Returns a decoder for the start of a page. Only ISO-2022-JP depends on the earlier text: there the decoder reads
    /// everything before the page.
    fn decoder_at(&mut self, start: u64) -> Result<Decoder, PageError> {
        let mut decoder = self.encoding.new_decoder_without_bom_handling();
        if self.encoding != ISO_2022_JP {
            return Ok(decoder);
        }
        let mut at = self.mark;
        let mut ignored = String::new();
        while at < start {
            let most = (start - at).min(CHUNK as u64) as usize;
            let bytes = read_at(self.file, at, most, self.stopped)?;
            if bytes.is_empty() {
                break;
            }
            at += bytes.len() as u64;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                ignored.clear();
                ignored.reserve(CHUNK);
                let (_, read, _) = decoder.decode_to_string(rest, &mut ignored, false);
                rest = rest.get(read..).unwrap_or_default();
            }
        }
        Ok(decoder)
    }
}

/// Text decoded from bytes.
struct DecodedText {
    text: String,
    /// Number of bytes in complete characters.
    bytes: usize,
}

/// Decodes bytes that begin with a character. An incomplete character at the end is omitted, unless these are the last
/// bytes of the file. The error is the offset of an invalid sequence.
fn decode(mut decoder: Decoder, raw: &[u8], is_last: bool) -> Result<DecodedText, i64> {
    let mut text = String::new();
    let encoding = decoder.encoding();
    let knows_its_end = is_last || encoding == UTF_8 || is_utf16(encoding) || encoding.is_single_byte();
    let room = decoder.max_utf8_buffer_length_without_replacement(raw.len()).unwrap_or(raw.len() * 4);
    text.reserve(room);
    if knows_its_end || raw.last() == Some(&b'\n') {
        // Nothing can be left over but where the file ends.
        let (result, read) = decoder.decode_to_string_without_replacement(raw, &mut text, is_last);
        return match result {
            DecoderResult::Malformed(length, beyond) => Err(invalid_bytes_offset(read, length, beyond)),
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(DecodedText { text, bytes: read }),
        };
    }
    // Byte by byte, to see when a character is whole. There is no line feed in the last half of the page, so
    // this is rare.
    let mut whole = 0;
    let mut buffer = [0; 16];
    for (at, byte) in raw.iter().enumerate() {
        let byte = std::slice::from_ref(byte);
        let (result, read, written) = decoder.decode_to_utf8_without_replacement(byte, &mut buffer, false);
        if let DecoderResult::Malformed(length, beyond) = result {
            return Err(invalid_bytes_offset(at + read, length, beyond));
        }
        let written = buffer.get(..written).unwrap_or_default();
        if !written.is_empty() {
            text.push_str(&String::from_utf8_lossy(written));
            whole = at + 1;
        }
    }
    Ok(DecodedText { text, bytes: whole })
}

/// Where the bytes that mean nothing begin, of which a decoder says that it has read `read` bytes, the last
/// `beyond` of them after those.
fn invalid_bytes_offset(read: usize, length: u8, beyond: u8) -> i64 {
    i64::try_from(read).unwrap_or(i64::MAX) - i64::from(length) - i64::from(beyond)
}

#[cfg(test)]
mod tests;
