//! Adds, changes, removes and reconnects MCP servers at run time.

use std::fmt;
use std::sync::Arc;

use toolway_mcp::definition::{DefinedServer, ServerDefinition, ServerDefinitions};
use toolway_mcp::oauth::OauthAuthorizer;
use toolway_mcp::upstream::UpstreamManager;
use toolway_types::Slug;

use super::server_change::{MAX_SERVERS, ServerChangeError, check_definition, check_removal};
use crate::sources::DeviceSources;

/// Changes MCP servers for every entry point, under the rules of [`super::server_change`].
pub(crate) struct McpServerAdmin {
    pub(super) definitions: Arc<ServerDefinitions>,
    pub(super) upstreams: Arc<UpstreamManager>,
    pub(super) oauth: Arc<OauthAuthorizer>,
    pub(super) sources: Arc<DeviceSources>,
    /// The setting `allow_remote_commands`.
    pub(super) allow_commands: bool,
}

impl fmt::Debug for McpServerAdmin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServerAdmin").field("allow_commands", &self.allow_commands).finish_non_exhaustive()
    }
}

/// A server that was added or changed.
#[derive(Debug)]
pub(crate) struct ChangedServer {
    pub(crate) server: DefinedServer,
    /// True if the name was unused before.
    pub(crate) is_new: bool,
}

impl McpServerAdmin {
    /// Finds a server.
    ///
    /// # Errors
    /// [`ServerChangeError::Unknown`] if the server does not exist.
    pub(crate) fn get(&self, name: &str) -> Result<DefinedServer, ServerChangeError> {
        self.definitions.get(name).ok_or_else(|| ServerChangeError::Unknown(name.to_owned()))
    }

    /// Adds a server to `mcp.toml`, or replaces the one with this name there. The gateway starts to connect
    /// at once; this function does not wait for the connection.
    ///
    /// # Errors
    /// [`ServerChangeError`]; then nothing has changed.
    pub(crate) async fn put(
        &self,
        name: &Slug,
        definition: ServerDefinition,
    ) -> Result<ChangedServer, ServerChangeError> {
        let before = self.definitions.get(name.as_str());
        let definition = check_definition(name, definition, before.as_ref(), self.allow_commands)?;
        if before.is_none() {
            if self.definitions.list().len() >= MAX_SERVERS {
                return Err(ServerChangeError::TooMany);
            }
            if self.sources.get(name.as_str()).is_some() {
                return Err(ServerChangeError::NameTaken(name.to_string()));
            }
        }
        self.definitions.put(name, definition).await?;
        tracing::info!(server = %name, "MCP server added or changed");
        Ok(ChangedServer { server: self.get(name.as_str())?, is_new: before.is_none() })
    }

    /// Removes a server, its tools and the tokens of its sign-in.
    ///
    /// # Errors
    /// [`ServerChangeError`]; then nothing has changed.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), ServerChangeError> {
        let server = self.get(name)?;
        check_removal(&server, self.allow_commands)?;
        if !self.definitions.remove(&server.slug).await? {
            return Err(ServerChangeError::Unknown(name.to_owned()));
        }
        if let Err(error) = self.oauth.remove(&server.slug).await {
            tracing::warn!(server = %server.slug, %error, "cannot remove the tokens of its login");
        }
        tracing::info!(server = %server.slug, "MCP server removed");
        Ok(())
    }

    /// Reconnects to a server at once, without waiting for the connection.
    ///
    /// # Errors
    /// [`ServerChangeError`] if the server is unknown or disabled, or a device has its name.
    pub(crate) fn reconnect(&self, name: &str) -> Result<DefinedServer, ServerChangeError> {
        let server = self.get(name)?;
        if server.definition.disabled {
            return Err(ServerChangeError::Disabled(server.slug));
        }
        if !self.upstreams.reconnect(&server.slug) {
            return Err(ServerChangeError::NameTaken(name.to_owned()));
        }
        Ok(server)
    }
}
