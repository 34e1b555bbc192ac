//! Detects the type of a file by its first bytes, for errors about files that are not text.

/// Offset, bytes and file type of each signature.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n", "PNG image"),
    (0, b"\xFF\xD8\xFF", "JPEG image"),
    (0, b"GIF8", "GIF image"),
    (8, b"WEBP", "WebP image"),
    (0, b"II*\0", "TIFF image"),
    (0, b"MM\0*", "TIFF image"),
    (0, b"%PDF-", "PDF document"),
    (0, b"PK\x03\x04", "ZIP archive, or a document or app in that form"),
    (0, b"\x1F\x8B", "gzip archive"),
    (0, b"BZh", "bzip2 archive"),
    (0, b"\xFD7zXZ\0", "xz archive"),
    (0, b"\x28\xB5\x2F\xFD", "Zstandard archive"),
    (0, b"7z\xBC\xAF\x27\x1C", "7-Zip archive"),
    (0, b"\x7FELF", "ELF program"),
    (0, b"MZ", "Windows program"),
    (0, b"\0asm", "WebAssembly module"),
    (0, b"SQLite format 3\0", "SQLite database"),
    (0, b"\xD0\xCF\x11\xE0", "old Microsoft Office document"),
    (0, b"OggS", "Ogg audio or video"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"ID3", "MP3 audio"),
    (8, b"WAVE", "WAV audio"),
    (4, b"ftyp", "MP4 audio or video"),
    (0, b"\x1A\x45\xDF\xA3", "Matroska or WebM video"),
];

/// Number of bytes needed to detect the type.
pub(super) const HEAD_BYTES: usize = 16;

/// Returns the file type for the first bytes of a file; `None` if it is unknown.
pub(super) fn kind(head: &[u8]) -> Option<&'static str> {
    let fits =
        |(at, bytes, _): &&(usize, &[u8], &str)| head.get(*at..).is_some_and(|rest| rest.starts_with(bytes));
    SIGNATURES.iter().find(fits).map(|(_, _, kind)| *kind)
}
