//! The known desktop clients, with the location and the format of their configuration.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::environment::ProcessEnvironment;

/// Name of Claude Desktop's configuration file.
const CLAUDE_FILE: &str = "claude_desktop_config.json";

/// A client whose configuration file is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DesktopClient {
    Claude,
    ClaudeCode,
    Cursor,
    VsCode,
}

impl DesktopClient {
    pub(super) const ALL: [Self; 4] = [Self::Claude, Self::ClaudeCode, Self::Cursor, Self::VsCode];

    /// Finds a client by its name in commands.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Returns the client's name in commands.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// Returns the client's name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
        }
    }

    /// Returns the name of the object that contains the servers in the client's file.
    pub(super) fn servers_key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            _ => "mcpServers",
        }
    }

    /// Returns the path of the user's configuration file, which applies to all projects.
    pub(super) fn config_path(self, environment: &ProcessEnvironment) -> Option<PathBuf> {
        Some(match self {
            Self::Claude => {
                let packaged = environment.absolute_path("LOCALAPPDATA").filter(|_| cfg!(windows));
                let folder = match packaged.and_then(|local| packaged_claude(&local)) {
                    Some(folder) => folder,
                    None => environment.config_dir()?.join("Claude"),
                };
                folder.join(CLAUDE_FILE)
            }
            Self::ClaudeCode => match environment.absolute_path("CLAUDE_CONFIG_DIR") {
                Some(folder) => folder.join(".claude.json"),
                None => environment.home()?.join(".claude.json"),
            },
            Self::Cursor => environment.home()?.join(".cursor").join("mcp.json"),
            Self::VsCode => environment.config_dir()?.join("Code").join("User").join("mcp.json"),
        })
    }

    /// Creates an entry in the client's format.
    pub(super) fn entry(self, command: &str, args: &[String]) -> Value {
        match self {
            Self::Claude | Self::Cursor => json!({"command": command, "args": args}),
            Self::ClaudeCode | Self::VsCode => json!({"type": "stdio", "command": command, "args": args}),
        }
    }

    /// Returns the user's next step after the file has changed.
    pub(super) fn restart_hint(self) -> &'static str {
        match self {
            Self::Claude => "quit Claude Desktop and start it again: it reads the file when it starts",
            Self::ClaudeCode => "start a new session of Claude Code; /mcp in it shows the connection",
            Self::Cursor => "open Settings, MCP in Cursor, and turn toolway on if it is off",
            Self::VsCode => "run `MCP: List Servers` in VS Code; it asks once if you trust the server",
        }
    }
}

/// Returns the folder of a Claude Desktop that is installed as a Windows package. It reads a private copy of
/// `%APPDATA%` inside the package. If there are several, prefers one with an existing file.
fn packaged_claude(local: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(local.join("Packages")).ok()?;
    let mut folders: Vec<PathBuf> = packages
        .flatten()
        .filter(|package| package.file_name().to_string_lossy().starts_with("Claude_"))
        .map(|package| package.path().join("LocalCache").join("Roaming").join("Claude"))
        .filter(|folder| folder.is_dir())
        .collect();
    folders.sort();
    let used = folders.iter().find(|folder| folder.join(CLAUDE_FILE).is_file()).cloned();
    used.or_else(|| folders.into_iter().next())
}

#[cfg(test)]
mod tests;
