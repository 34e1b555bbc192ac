//! What is read of an APK: its manifest, the resources that this refers to, and who signed it. From a file, or
//! from anything that can be read in places, so that of a large app on a phone only these places cross the cable.

use std::io::{self, Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use super::resources::ResourceTable;
use super::xml::XmlError;
use super::{AppManifest, manifest_reader, signature, xml};

/// A larger manifest is not read; the largest known ones have about one MiB.
const MAX_MANIFEST: u64 = 8 << 20;
/// A larger resource table is not read; the largest known ones have some tens of MiB.
const MAX_TABLE: u64 = 64 << 20;
const MANIFEST: &str = "AndroidManifest.xml";
const TABLE: &str = "resources.arsc";

/// Why an APK could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ApkError {
    /// It could not be reached.
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
    /// It is no ZIP file, or a broken one.
    #[error("it is no APK: {0}")]
    Zip(String),
    /// It has no `AndroidManifest.xml`.
    #[error("it is no APK: there is no AndroidManifest.xml in it")]
    NoManifest,
    /// A part of it is larger than that of any app.
    #[error("{part} has {bytes} bytes, at most {most} are read")]
    TooLarge {
        /// Which.
        part: &'static str,
        /// How large it says it is.
        bytes: u64,
        /// How large it may be.
        most: u64,
    },
    /// Its manifest is not what the compiler makes.
    #[error("its manifest can't be read: {0}")]
    Manifest(String),
}

impl From<ZipError> for ApkError {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) => Self::Io(error),
            ZipError::InvalidArchive(_) => Self::Zip("it is no ZIP file, or was cut short".to_owned()),
            error => Self::Zip(error.to_string()),
        }
    }
}

impl From<XmlError> for ApkError {
    fn from(error: XmlError) -> Self {
        Self::Manifest(error.to_string())
    }
}

/// What an APK says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Apk {
    /// Its manifest.
    pub manifest: AppManifest,
    /// SHA-256 of the certificate that it is signed with, in lower-case hexadecimal; of several, of all of them,
    /// sorted and joined by `,`. Nothing where it is signed in the oldest way only, or not at all.
    pub certificate: Option<String>,
}

impl Apk {
    /// Reads one. `api_level` is that of the phone on which it runs, where that is known: which of several
    /// signatures counts depends on it.
    ///
    /// # Errors
    /// [`ApkError`] says what is wrong with it.
    pub fn read(mut source: impl Read + Seek, api_level: Option<u32>) -> Result<Self, ApkError> {
        let mut archive = ZipArchive::new(&mut source)?;
        let xml = entry(&mut archive, MANIFEST, MAX_MANIFEST)?.ok_or(ApkError::NoManifest)?;
        let root = xml::read(&xml)?;
        // Most of the table's bytes are of no use here, so it is read only where the manifest refers to it.
        let table = if manifest_reader::has_references(&root) {
            entry(&mut archive, TABLE, MAX_TABLE)?
        } else {
            None
        };
        let resources = table.as_deref().and_then(ResourceTable::read).unwrap_or_else(ResourceTable::none);
        let manifest = manifest_reader::read_manifest(&root, &resources).map_err(ApkError::Manifest)?;
        let directory = archive.central_directory_start();
        drop(archive);
        let block = signature::block(&mut source, directory)?;
        let certificate = block.and_then(|block| signature::certificate(&block, api_level));
        Ok(Self { manifest, certificate })
    }
}

/// The bytes of an entry; nothing where there is none.
fn entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &'static str,
    most: u64,
) -> Result<Option<Vec<u8>>, ApkError> {
    let entry = match archive.by_name(name) {
        Ok(entry) => entry,
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let too_large = |bytes| ApkError::TooLarge { part: name, bytes, most };
    if entry.size() > most {
        return Err(too_large(entry.size()));
    }
    // What it says of its size need not be true.
    let mut bytes = Vec::new();
    let read = entry.take(most + 1).read_to_end(&mut bytes)?;
    let read = u64::try_from(read).unwrap_or(u64::MAX);
    if read > most { Err(too_large(read)) } else { Ok(Some(bytes)) }
}
