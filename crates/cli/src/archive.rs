//! Format of a backup: a tar file (0600). Its first entry lists the others with sizes and SHA-256 digests. Reading does
//! not trust the file: it accepts only known names, each once, complete and as listed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};
use toolway_files::private_file::{self, AtomicFile};
use toolway_types::text::hex;

use crate::error::{CliError, CliResult};
use crate::folder::create_private_dir;

/// Name of the first entry.
const MANIFEST: &str = "toolway-backup.json";
/// Entry of the database, the only required one.
pub(crate) const DATABASE: &str = "toolway.db";
/// Entry of the settings.
pub(crate) const SETTINGS: &str = "toolway.toml";
/// Entry of the owner's token.
pub(crate) const OWNER_TOKEN: &str = "owner.token";
/// Entry of the model providers.
pub(crate) const MODELS: &str = "models.toml";
/// The entry of the MCP servers.
pub(crate) const MCP_SERVERS: &str = "mcp.toml";
/// Prefix of the entries with tokens of MCP clients.
pub(crate) const MCP_CLIENTS: &str = "mcp-clients/";
/// Entry of the model prices.
pub(crate) const PRICES: &str = "prices.toml";
/// Entries of the certificate and its key.
pub(crate) const TLS: &[&str] = &["tls/cert.pem", "tls/key.pem"];
/// Prefix of the entries with device credentials.
pub(crate) const DEVICES: &str = "devices/";
/// Prefix of the entries with the owner's own tools.
pub(crate) const TOOLS: &str = "tools/";
/// Prefix of the entries with agents that are defined in files.
pub(crate) const AGENTS: &str = "agents/";
/// Prefix of the entries with secrets.
pub(crate) const SECRETS: &str = "secrets/";
/// Version of the format that this program reads and writes.
const FORMAT: u32 = 1;
/// Maximum size of an entry in bytes, other than the database and the prices.
const MAX_SMALL: u64 = 1 << 20;
/// Maximum size of the prices in bytes.
const MAX_PRICES: u64 = 8 << 20;
/// Maximum number of entries.
const MAX_ENTRIES: usize = 4096;

/// First entry of a backup: its version and its list of files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BackupManifest {
    /// Version of the format.
    pub(crate) format: u32,
    /// Version of the program that made the backup.
    pub(crate) version: String,
    /// Creation time, in milliseconds since the epoch.
    pub(crate) created_ms: i64,
    /// The other entries.
    pub(crate) files: Vec<BackupFile>,
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupFile {
    /// Path in the data folder, with slashes.
    pub(crate) name: String,
    /// Size in bytes.
    pub(crate) size: u64,
    /// SHA-256 digest, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// Writes a backup of these files (name in the backup, path on disk). The file appears under its name when it is
/// complete.
pub(crate) fn write(to: &Path, files: &[(String, PathBuf)], created_ms: i64) -> CliResult<BackupManifest> {
    let failed = |error: io::Error| CliError::io("write the backup", to, &error);
    if to.exists() {
        return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    let mut listed = Vec::new();
    for (name, path) in files {
        let unreadable = |error: io::Error| CliError::io("read", path, &error);
        let (size, sha256) =
            digest(&mut File::open(path).map_err(unreadable)?, &mut io::sink()).map_err(unreadable)?;
        listed.push(BackupFile { name: name.clone(), size, sha256 });
    }
    let manifest = BackupManifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms,
        files: listed,
    };
    let mut file = AtomicFile::create(to).map_err(failed)?;
    write_entries(file.file_mut(), &manifest, files, created_ms)
        .and_then(|()| file.commit())
        .map_err(failed)?;
    Ok(manifest)
}

fn write_entries(
    file: &mut File,
    manifest: &BackupManifest,
    files: &[(String, PathBuf)],
    created_ms: i64,
) -> io::Result<()> {
    let mut builder = Builder::new(io::BufWriter::new(file));
    let header = |size: u64| {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(created_ms / 1000).unwrap_or_default());
        header.set_size(size);
        header
    };
    let text = serde_json::to_vec_pretty(manifest)?;
    builder.append_data(&mut header(text.len() as u64), MANIFEST, text.as_slice())?;
    for ((name, path), listed) in files.iter().zip(&manifest.files) {
        // A file that changed meanwhile is cut or rejected, so that the entry never has a wrong header.
        let content = File::open(path)?.take(listed.size);
        builder.append_data(&mut header(listed.size), name, content)?;
    }
    builder.into_inner()?.flush()
}

/// Checks a backup and unpacks it into an empty folder.
pub(crate) fn unpack(from: &Path, into: &Path) -> CliResult<BackupManifest> {
    let file = File::open(from).map_err(|error| CliError::io("read the backup", from, &error))?;
    unpack_checked(file, into).map_err(|problem| {
        CliError::new(format!("cannot restore {}: {problem}", from.display()))
            .with_code("invalid_backup")
            .with_hint("nothing was changed; try another backup")
    })
}

fn unpack_checked(file: File, into: &Path) -> Result<BackupManifest, String> {
    let broken = |error: io::Error| {
        format!("it is not a tar file, or it is truncated ({})", crate::error::io_error_message(&error))
    };
    let mut archive = Archive::new(io::BufReader::new(file));
    let mut entries = archive.entries().map_err(broken)?;
    let mut first = entries.next().ok_or("it is empty")?.map_err(broken)?;
    let manifest = read_manifest(&mut first)?;
    let mut missing: HashMap<&str, &BackupFile> =
        manifest.files.iter().map(|listed| (listed.name.as_str(), listed)).collect();
    if missing.len() != manifest.files.len() {
        return Err("its manifest lists a file twice".to_owned());
    }
    if !missing.contains_key(DATABASE) {
        return Err("the database is missing".to_owned());
    }
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let listed =
            missing.remove(name.as_str()).ok_or_else(|| format!("its manifest does not list {name:?}"))?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(format!("{name:?} is not a regular file"));
        }
        if entry.size() != listed.size {
            return Err(format!("the size of {name:?} differs from the manifest"));
        }
        let path = into.join(&name);
        let unwritable = |error: io::Error| {
            format!("cannot write {}: {}", path.display(), crate::error::io_error_message(&error))
        };
        if let Some(folder) = path.parent() {
            create_private_dir(folder).map_err(|failure| failure.message().to_owned())?;
        }
        let mut out = private_file::create_new(&path).map_err(unwritable)?;
        let (size, sha256) = digest(&mut entry, &mut out).map_err(broken)?;
        out.sync_all().map_err(unwritable)?;
        if size != listed.size || sha256 != listed.sha256 {
            return Err(format!("{name:?} is damaged"));
        }
    }
    match missing.keys().min() {
        Some(name) => Err(format!("it is truncated: {name:?} is missing")),
        None => Ok(manifest),
    }
}

fn read_manifest(entry: &mut tar::Entry<'_, impl Read>) -> Result<BackupManifest, String> {
    let not_ours = || "it is not a Toolway backup".to_owned();
    if entry.path_bytes().as_ref() != MANIFEST.as_bytes() || entry.size() > MAX_SMALL {
        return Err(not_ours());
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(|_| not_ours())?;
    #[derive(Deserialize)]
    struct ManifestFormat {
        format: u32,
    }
    let ManifestFormat { format } = serde_json::from_slice(&text).map_err(|_| not_ours())?;
    if format != FORMAT {
        return Err(format!(
            "its format is {format}, but this program supports {FORMAT}; use the program version that made it"
        ));
    }
    let manifest: BackupManifest = serde_json::from_slice(&text).map_err(|_| not_ours())?;
    if manifest.files.len() > MAX_ENTRIES {
        return Err("its manifest has too many files".to_owned());
    }
    for listed in &manifest.files {
        if !may_be_in_a_backup(&listed.name) {
            return Err(format!("its manifest lists an unexpected file {:?}", listed.name));
        }
        let most = match listed.name.as_str() {
            DATABASE => u64::MAX,
            PRICES => MAX_PRICES,
            _ => MAX_SMALL,
        };
        if listed.size > most {
            return Err(format!("{:?} is too large", listed.name));
        }
    }
    Ok(manifest)
}

/// True if a backup may contain this name. No such name points outside of the folder.
pub(crate) fn may_be_in_a_backup(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let file = |name: &str| !name.is_empty() && !name.starts_with('.') && name.chars().all(plain);
    let within = |folder: &str, ending: &str| {
        name.strip_prefix(folder).is_some_and(|name| file(name) && name.ends_with(ending))
    };
    [DATABASE, SETTINGS, OWNER_TOKEN, MODELS, MCP_SERVERS, PRICES].contains(&name)
        || TLS.contains(&name)
        || within(AGENTS, ".toml")
        || within(DEVICES, ".json")
        || within(DEVICES, ".apps")
        || within(TOOLS, ".toml")
        || within(MCP_CLIENTS, ".token")
        || within(SECRETS, "")
}

/// Copies the data and returns its size and SHA-256 digest.
fn digest(from: &mut impl Read, to: &mut impl Write) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        let read = from.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        hash.update(bytes);
        to.write_all(bytes)?;
        size += read as u64;
    }
    Ok((size, hex(&hash.finalize())))
}

#[cfg(test)]
mod tests;
