//! The data folder: what lies where in it, and who may read it (the folder 0700, what lies in it 0600).

pub(crate) mod lock;
pub(crate) mod private_file;
pub(crate) mod running_gateway;

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{CliError, CliResult};

/// What lies in a data folder besides `toolway.toml` and the database with its companions.
#[cfg(unix)]
const KNOWN_ENTRIES: &[&str] = &[
    "owner.token",
    "gateway.json",
    "gateway.lock",
    "tls",
    "devices",
    "backups",
    "tools",
    "secrets",
    "files",
    "agents",
    "models.toml",
    "prices.toml",
    "chat.history",
    "mcp-clients",
    "mcp-tokens",
    "mcp.toml",
    ".mcp.toml.lock",
    "mcp",
];

/// Where a gateway keeps everything.
#[derive(Debug, Clone)]
pub(crate) struct DataFolder {
    path: PathBuf,
    /// Whether it was named, rather than the platform's own.
    is_named: bool,
}

impl DataFolder {
    /// This folder; `named` where it is not the platform's own.
    pub(crate) fn new(path: PathBuf, named: bool) -> Self {
        // A relative path means another folder once it is printed in a command to type.
        let path = std::path::absolute(&path).unwrap_or(path);
        Self { path, is_named: named }
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What must stand in a command so that it uses this folder: nothing, or ` --data-dir PATH`.
    pub(crate) fn data_dir_flag(&self) -> String {
        if self.is_named {
            format!(" --data-dir {}", shell_quote(&self.path.display().to_string()))
        } else {
            String::new()
        }
    }

    /// Whether it was named, rather than the platform's own.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// The settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.path.join("toolway.toml")
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("toolway.db")
    }

    /// The database and the files that SQLite keeps beside it while it is in use.
    pub(crate) fn database_files(&self) -> Vec<PathBuf> {
        let beside = |suffix: &str| {
            let mut name = self.database().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        ["", "-wal", "-shm"].map(beside).to_vec()
    }

    /// The owner's token.
    pub(crate) fn owner_token(&self) -> PathBuf {
        self.path.join("owner.token")
    }

    /// What the running gateway says of itself.
    pub(crate) fn running(&self) -> PathBuf {
        self.path.join("gateway.json")
    }

    /// Locked by the gateway that runs on this folder.
    pub(crate) fn lock(&self) -> PathBuf {
        self.path.join("gateway.lock")
    }

    /// Certificate and key that the gateway made.
    pub(crate) fn tls(&self) -> PathBuf {
        self.path.join("tls")
    }

    /// What `toolway device` keeps, one file a gateway.
    pub(crate) fn devices(&self) -> PathBuf {
        self.path.join("devices")
    }

    /// The names that apps on phones were given, for `toolway device --android`: one file a device, since it is within
    /// a device that a name means one app.
    pub(crate) fn app_names(&self, device_id: &str) -> PathBuf {
        let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
        self.devices().join(format!("{}.apps", device_id.chars().map(kept).collect::<String>()))
    }

    /// Tools that the owner defines.
    pub(crate) fn tools(&self) -> PathBuf {
        toolway_gateway::gateway_tools::OwnToolLoader::folder(&self.path)
    }

    /// Secrets that tools and hooks name, one file each.
    pub(crate) fn secrets(&self) -> PathBuf {
        self.path.join("secrets")
    }

    /// The model providers.
    pub(crate) fn models(&self) -> PathBuf {
        self.path.join("models.toml")
    }

    /// What models cost.
    pub(crate) fn prices(&self) -> PathBuf {
        self.path.join("prices.toml")
    }

    /// Agents that stand in files.
    pub(crate) fn agents(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// The MCP servers whose tools are offered.
    pub(crate) fn mcp_servers(&self) -> PathBuf {
        self.path.join(toolway_gateway::mcp::SERVERS_FILE)
    }

    /// The token of an MCP client that was given one of its own.
    pub(crate) fn mcp_client(&self, client: &str) -> PathBuf {
        self.mcp_clients().join(format!("{client}.token"))
    }

    /// The tokens of MCP clients.
    pub(crate) fn mcp_clients(&self) -> PathBuf {
        self.path.join("mcp-clients")
    }

    /// What was typed in conversations.
    pub(crate) fn chat_history(&self) -> PathBuf {
        self.path.join("chat.history")
    }

    /// Makes the folder where it is missing, for its owner alone. One that is there and open to others is closed
    /// to them, if it is ours: somebody's own folder with other things in it is left as it is.
    pub(crate) fn create(&self) -> CliResult {
        create_private_dir(&self.path)?;
        #[cfg(unix)]
        if permissions_for_others(&self.path).is_some() && self.has_only_known_entries() {
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            std::fs::set_permissions(&self.path, private)
                .map_err(|error| CliError::io("close to others", &self.path, &error))?;
        }
        Ok(())
    }

    /// Whether nothing lies in it but what this program puts there.
    #[cfg(unix)]
    fn has_only_known_entries(&self) -> bool {
        let ours = |name: &std::ffi::OsStr| {
            let name = name.to_string_lossy();
            KNOWN_ENTRIES.contains(&name.as_ref()) || name.starts_with("toolway.")
        };
        let entries = std::fs::read_dir(&self.path);
        entries.is_ok_and(|entries| entries.flatten().all(|entry| ours(&entry.file_name())))
    }
}

/// Makes a folder, and those above it, where they are missing; the folder itself for its owner alone.
pub(crate) fn create_private_dir(path: &Path) -> CliResult {
    let failed = |error: io::Error| {
        CliError::io("create the folder", path, &error)
            .with_hint("name a folder that you may write to with --data-dir")
    };
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent() {
        std::fs::create_dir_all(above).map_err(failed)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
        _ => Ok(()),
    }
}

/// The permissions of a file or folder that others than its owner have; none where that can't be told.
pub(crate) fn permissions_for_others(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).ok()?.permissions());
        Some(mode & 0o077).filter(|others| *others != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// A word as a shell takes it: quoted where it must be.
pub(crate) fn shell_quote(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(harmless) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
