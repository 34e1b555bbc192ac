//! The form of a backup: a tar file (0600) whose first entry lists the others with their sizes and SHA-256.
//! Reading one trusts nothing in it: only the files that a backup can have, each once, whole and as listed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};

use crate::error::{CliError, CliResult};
use crate::folder::{create_private_dir, private_file};

/// The first entry.
const MANIFEST: &str = "toolway-backup.json";
/// The database's entry; the only one that must be there.
pub(crate) const DATABASE: &str = "toolway.db";
/// The settings' entry.
pub(crate) const SETTINGS: &str = "toolway.toml";
/// The owner's token's entry.
pub(crate) const OWNER_TOKEN: &str = "owner.token";
/// The entry of the model providers.
pub(crate) const MODELS: &str = "models.toml";
/// The entry of the MCP servers.
pub(crate) const MCP_SERVERS: &str = "mcp.toml";
/// How the entries of MCP clients' tokens start.
pub(crate) const MCP_CLIENTS: &str = "mcp-clients/";
/// The entry of what models cost.
pub(crate) const PRICES: &str = "prices.toml";
/// Entries in the folder of certificate and key.
pub(crate) const TLS: &[&str] = &["tls/cert.pem", "tls/key.pem"];
/// How the entries of kept credentials start.
pub(crate) const DEVICES: &str = "devices/";
/// How the entries of the owner's own tools start.
pub(crate) const TOOLS: &str = "tools/";
/// How the entries of agents that stand in files start.
pub(crate) const AGENTS: &str = "agents/";
/// How the entries of secrets start.
pub(crate) const SECRETS: &str = "secrets/";
/// The form that this program writes and reads.
const FORMAT: u32 = 1;
/// No entry but the database and the prices is larger.
const MAX_SMALL: u64 = 1 << 20;
/// The prices are not larger, of which there may be many.
const MAX_PRICES: u64 = 8 << 20;
/// No backup has more entries.
const MAX_ENTRIES: usize = 4096;

/// What a backup says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BackupManifest {
    /// The form.
    pub(crate) format: u32,
    /// The program that made it.
    pub(crate) version: String,
    /// When, in milliseconds since the epoch.
    pub(crate) created_ms: i64,
    /// What follows.
    pub(crate) files: Vec<BackupFile>,
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupFile {
    /// Its path in the data folder, with slashes.
    pub(crate) name: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub(crate) sha256: String,
}

/// Writes a backup of these files (name in it, path on disk). It appears under its name when it is whole.
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
    let (beside, file) = private_file::create_temporary(to).map_err(failed)?;
    let written =
        write_entries(file, &manifest, files, created_ms).and_then(|()| private_file::rename(&beside, to));
    written.map_err(failed).inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })?;
    Ok(manifest)
}

fn write_entries(
    file: File,
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
        // A file that has changed since is cut or refused rather than written with a wrong head.
        let content = File::open(path)?.take(listed.size);
        builder.append_data(&mut header(listed.size), name, content)?;
    }
    let mut file = builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.flush()?;
    file.sync_all()
}

/// Unpacks a backup into a folder that must be empty, checking all of it.
pub(crate) fn unpack(from: &Path, into: &Path) -> CliResult<BackupManifest> {
    let file = File::open(from).map_err(|error| CliError::io("read the backup", from, &error))?;
    unpack_checked(file, into).map_err(|problem| {
        CliError::new(format!("{} can't be restored: {problem}", from.display()))
            .with_code("invalid_backup")
            .with_hint("take another backup; nothing was changed")
    })
}

fn unpack_checked(file: File, into: &Path) -> Result<BackupManifest, String> {
    let broken = |error: io::Error| {
        format!("it is no tar file, or is cut ({})", crate::error::io_error_message(&error))
    };
    let mut archive = Archive::new(io::BufReader::new(file));
    let mut entries = archive.entries().map_err(broken)?;
    let mut first = entries.next().ok_or("it is empty")?.map_err(broken)?;
    let manifest = read_manifest(&mut first)?;
    let mut missing: HashMap<&str, &BackupFile> =
        manifest.files.iter().map(|listed| (listed.name.as_str(), listed)).collect();
    if missing.len() != manifest.files.len() {
        return Err("it lists a file twice".to_owned());
    }
    if !missing.contains_key(DATABASE) {
        return Err("it has no database in it".to_owned());
    }
    for entry in entries {
        let mut entry = entry.map_err(broken)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let listed = missing
            .remove(name.as_str())
            .ok_or_else(|| format!("it has {name:?}, which it does not list"))?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(format!("{name:?} in it is not a plain file"));
        }
        if entry.size() != listed.size {
            return Err(format!("{name:?} in it has another size than it lists"));
        }
        let path = into.join(&name);
        let unwritable = |error: io::Error| {
            format!("{} can't be written: {}", path.display(), crate::error::io_error_message(&error))
        };
        if let Some(folder) = path.parent() {
            create_private_dir(folder).map_err(|failure| failure.message().to_owned())?;
        }
        let mut out = private_file::create_new(&path).map_err(unwritable)?;
        let (size, sha256) = digest(&mut entry, &mut out).map_err(broken)?;
        out.sync_all().map_err(unwritable)?;
        if size != listed.size || sha256 != listed.sha256 {
            return Err(format!("{name:?} in it is damaged"));
        }
    }
    match missing.keys().min() {
        Some(name) => Err(format!("it is cut: {name:?} is missing")),
        None => Ok(manifest),
    }
}

fn read_manifest(entry: &mut tar::Entry<'_, impl Read>) -> Result<BackupManifest, String> {
    let not_ours = || "it is not a backup that this program made".to_owned();
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
            "it has form {format}, this program knows {FORMAT}; use the program that made it"
        ));
    }
    let manifest: BackupManifest = serde_json::from_slice(&text).map_err(|_| not_ours())?;
    if manifest.files.len() > MAX_ENTRIES {
        return Err("it lists too many files".to_owned());
    }
    for listed in &manifest.files {
        if !may_be_in_a_backup(&listed.name) {
            return Err(format!("it lists {:?}, which no backup has", listed.name));
        }
        let most = match listed.name.as_str() {
            DATABASE => u64::MAX,
            PRICES => MAX_PRICES,
            _ => MAX_SMALL,
        };
        if listed.size > most {
            return Err(format!("{:?} in it is too large", listed.name));
        }
    }
    Ok(manifest)
}

/// Whether a name is one of those that backups have. None of them leads out of the folder.
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

/// Copies, counting and hashing.
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
    Ok((size, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

#[cfg(test)]
mod tests;
