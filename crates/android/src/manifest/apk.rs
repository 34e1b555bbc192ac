//! Reads an APK's manifest, the resources that it refers to, and the signer. The source is a file or anything
//! with random access, so that only these parts of a large app on a phone are transferred.

use std::io::{self, Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use super::resources::ResourceTable;
use super::xml::XmlError;
use super::{AppManifest, manifest_reader, signature, xml};

/// Maximum size of a manifest, in bytes; the largest known ones have about one MiB.
const MAX_MANIFEST: u64 = 8 << 20;
/// Maximum size of a resource table, in bytes; the largest known ones have some tens of MiB.
const MAX_TABLE: u64 = 64 << 20;
const MANIFEST: &str = "AndroidManifest.xml";
const TABLE: &str = "resources.arsc";

/// Reason why an APK could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ApkError {
    /// Reading failed.
    #[error("the file can't be read: {0}")]
    Io(#[from] io::Error),
    /// The file is not a valid ZIP file.
    #[error("not an APK: {0}")]
    Zip(String),
    /// The file has no `AndroidManifest.xml`.
    #[error("not an APK: AndroidManifest.xml is missing")]
    NoManifest,
    /// A part is larger than in any known app.
    #[error("{part} has {bytes} bytes; the maximum is {most}")]
    TooLarge {
        /// Name of the part.
        part: &'static str,
        /// Declared size in bytes.
        bytes: u64,
        /// Maximum size in bytes.
        most: u64,
    },
    /// The manifest is not a valid binary manifest.
    #[error("its AndroidManifest.xml can't be read: {0}")]
    Manifest(String),
}

impl From<ZipError> for ApkError {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) => Self::Io(error),
            ZipError::InvalidArchive(_) => Self::Zip("not a ZIP file, or incomplete".to_owned()),
            error => Self::Zip(error.to_string()),
        }
    }
}

impl From<XmlError> for ApkError {
    fn from(error: XmlError) -> Self {
        Self::Manifest(error.to_string())
    }
}

/// The manifest and signer of an APK.
#[derive(Debug, Clone, PartialEq)]
pub struct Apk {
    /// The manifest.
    pub manifest: AppManifest,
    /// SHA-256 of the signing certificate in lower-case hexadecimal; for several signers, all of them, sorted
    /// and joined by `,`. `None` if the app has only the oldest signature scheme, or none.
    pub certificate: Option<String>,
}

impl Apk {
    /// Reads an APK. `api_level` is that of the phone, if known; it determines which of several signatures
    /// counts.
    ///
    /// # Errors
    /// [`ApkError`] with the problem.
    pub fn read(mut source: impl Read + Seek, api_level: Option<u32>) -> Result<Self, ApkError> {
        let mut archive = ZipArchive::new(&mut source)?;
        let xml = entry(&mut archive, MANIFEST, MAX_MANIFEST)?.ok_or(ApkError::NoManifest)?;
        let root = xml::read(&xml)?;
        // Most of the table is not needed here, so it is read only if the manifest refers to it.
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

/// Returns the bytes of an entry, if it exists.
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
    // The declared size may be wrong.
    let mut bytes = Vec::new();
    let read = entry.take(most + 1).read_to_end(&mut bytes)?;
    let read = u64::try_from(read).unwrap_or(u64::MAX);
    if read > most { Err(too_large(read)) } else { Ok(Some(bytes)) }
}
