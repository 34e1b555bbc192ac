//! Data folder: paths and permissions (the folder 0700, files 0600).

pub(crate) mod lock;
pub(crate) mod private_file;
pub(crate) mod running_gateway;

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{CliError, CliResult};

/// Names in a data folder besides `toolway.toml` and the database files.
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

/// The data folder of a gateway.
#[derive(Debug, Clone)]
pub(crate) struct DataFolder {
    path: PathBuf,
    /// True if the user selected the folder.
    is_named: bool,
}

impl DataFolder {
    /// Creates a data folder; `named` is true if the user selected it.
    pub(crate) fn new(path: PathBuf, named: bool) -> Self {
        // Commands in messages contain the path, and a relative one would depend on the working directory.
        let path = std::path::absolute(&path).unwrap_or(path);
        Self { path, is_named: named }
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the flag that selects this folder in a command: ` --data-dir PATH`, or nothing for the default.
    pub(crate) fn data_dir_flag(&self) -> String {
        if self.is_named {
            format!(" --data-dir {}", shell_quote(&self.path.display().to_string()))
        } else {
            String::new()
        }
    }

    /// True if the user selected the folder.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// Settings file.
    pub(crate) fn settings(&self) -> PathBuf {
        self.path.join("toolway.toml")
    }

    /// Database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("toolway.db")
    }

    /// Database file with SQLite's companions.
    pub(crate) fn database_files(&self) -> Vec<PathBuf> {
        let beside = |suffix: &str| {
            let mut name = self.database().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        ["", "-wal", "-shm"].map(beside).to_vec()
    }

    /// File with the owner's token.
    pub(crate) fn owner_token(&self) -> PathBuf {
        self.path.join("owner.token")
    }

    /// State file of the running gateway.
    pub(crate) fn running(&self) -> PathBuf {
        self.path.join("gateway.json")
    }

    /// Lock file of the running gateway.
    pub(crate) fn lock(&self) -> PathBuf {
        self.path.join("gateway.lock")
    }

    /// Folder with the generated certificate and its key.
    pub(crate) fn tls(&self) -> PathBuf {
        self.path.join("tls")
    }

    /// Folder with the credentials of `toolway device`, one file per gateway.
    pub(crate) fn devices(&self) -> PathBuf {
        self.path.join("devices")
    }

    /// File with the names of a phone's apps for `toolway device --android`: one file per device, because names are
    /// unique per device.
    pub(crate) fn app_names(&self, device_id: &str) -> PathBuf {
        let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
        self.devices().join(format!("{}.apps", device_id.chars().map(kept).collect::<String>()))
    }

    /// Folder with the owner's tools.
    pub(crate) fn tools(&self) -> PathBuf {
        toolway_gateway::gateway_tools::OwnToolLoader::folder(&self.path)
    }

    /// Folder with secrets, one file each.
    pub(crate) fn secrets(&self) -> PathBuf {
        self.path.join("secrets")
    }

    /// File with the model providers.
    pub(crate) fn models(&self) -> PathBuf {
        self.path.join("models.toml")
    }

    /// File with the model prices.
    pub(crate) fn prices(&self) -> PathBuf {
        self.path.join("prices.toml")
    }

    /// Folder with agents that are defined in files.
    pub(crate) fn agents(&self) -> PathBuf {
        self.path.join("agents")
    }

    /// File with the MCP servers.
    pub(crate) fn mcp_servers(&self) -> PathBuf {
        self.path.join(toolway_gateway::mcp::SERVERS_FILE)
    }

    /// File with the token of an MCP client.
    pub(crate) fn mcp_client(&self, client: &str) -> PathBuf {
        self.mcp_clients().join(format!("{client}.token"))
    }

    /// Folder with the tokens of MCP clients.
    pub(crate) fn mcp_clients(&self) -> PathBuf {
        self.path.join("mcp-clients")
    }

    /// File with the history of `toolway chat`.
    pub(crate) fn chat_history(&self) -> PathBuf {
        self.path.join("chat.history")
    }

    /// Creates the folder with mode 0700. Restricts an existing folder if it contains only Toolway's files; a folder
    /// with other files stays unchanged.
    pub(crate) fn create(&self) -> CliResult {
        create_private_dir(&self.path)?;
        #[cfg(unix)]
        if permissions_for_others(&self.path).is_some() && self.has_only_known_entries() {
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
            std::fs::set_permissions(&self.path, private)
                .map_err(|error| CliError::io("restrict the permissions of", &self.path, &error))?;
        }
        Ok(())
    }

    /// True if the folder contains only Toolway's files.
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

/// Creates a folder with mode 0700, and its missing parents with the default mode.
pub(crate) fn create_private_dir(path: &Path) -> CliResult {
    let failed = |error: io::Error| {
        CliError::io("create the folder", path, &error).with_hint("select a writable folder with --data-dir")
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

/// Returns the permission bits for group and others, if any; `None` if they are unknown.
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

/// Quotes a word for a shell if needed.
pub(crate) fn shell_quote(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(harmless) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
