//! Rules for changing an MCP server at run time, for every entry point. A change must not make the gateway's
//! computer run a program, and must not send a stored secret to another address: the invariants "Commands
//! from files only" and "Secrets contained".

use toolway_mcp::definition::store::ServersFileError;
use toolway_mcp::definition::{
    DefinedServer, DefinitionError, DefinitionLocation, HIDDEN, OauthDefinition, SECRET_PREFIX,
    ServerDefinition, check_name,
};
use toolway_types::Slug;

/// Maximum number of MCP servers that can be added at run time.
pub(crate) const MAX_SERVERS: usize = 256;

/// A change of an MCP server that was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerChangeError {
    /// The server does not exist.
    #[error("there is no MCP server {0:?}")]
    Unknown(String),
    /// The name belongs to a device, or to the gateway itself.
    #[error("another source has the name {0:?}")]
    NameTaken(String),
    /// The text is not a valid name.
    #[error("{}", .0.message)]
    InvalidName(DefinitionError),
    /// The definition is in the settings and can be changed only there.
    #[error("{name} is defined in {place}")]
    InSettings {
        /// The server's name.
        name: Slug,
        /// The settings file with the line, if known.
        place: String,
    },
    /// The definition has a command, or replaces one with a command.
    #[error("a command makes the gateway's computer run a program; this can be set only in files")]
    CommandFromFilesOnly {
        /// The server's name.
        name: Slug,
    },
    /// The server to remove runs a program.
    #[error("{name} runs a program on the gateway's computer; this can be set only in files")]
    RemovalFromFilesOnly {
        /// The server's name.
        name: Slug,
    },
    /// The definition sends a stored secret to an address that the owner's files do not allow for it.
    #[error(
        "the definition combines a URL with a secret of the gateway's computer; this can be set only in files"
    )]
    SecretFromFilesOnly,
    /// A header is [`HIDDEN`], but there is no earlier value for it.
    #[error("headers.{header} is {HIDDEN:?}, but no value is stored for this URL")]
    NothingHidden {
        /// The header's name.
        header: String,
    },
    /// The definition is invalid.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<DefinitionError>),
    /// The maximum of [`MAX_SERVERS`] is reached.
    #[error("there are already {MAX_SERVERS} MCP servers")]
    TooMany,
    /// The server is disabled, so it has no connection.
    #[error("{0} is disabled")]
    Disabled(Slug),
    /// `mcp.toml` could not be changed.
    #[error("{}", file_error_message(.0))]
    File(#[from] ServersFileError),
}

fn file_error_message(error: &ServersFileError) -> String {
    match error {
        ServersFileError::Invalid { problems, .. } => {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

/// Parses the name of a server to add or to change.
pub(crate) fn parse_name(name: &str) -> Result<Slug, ServerChangeError> {
    match name.parse::<Slug>() {
        // The gateway's own sources have reserved names, so such a name counts as taken, not as malformed.
        Ok(slug) if slug.is_reserved() => Err(ServerChangeError::NameTaken(name.to_owned())),
        _ => check_name(name).map_err(ServerChangeError::InvalidName),
    }
}

/// Checks that a server is not defined in the settings, which can be changed only in their file.
pub(crate) fn check_changeable(server: &DefinedServer) -> Result<(), ServerChangeError> {
    let DefinitionLocation::Settings { path, line } = &server.location else { return Ok(()) };
    let place = match (path, line) {
        (Some(path), Some(line)) => format!("{}, line {line}", path.display()),
        (Some(path), None) => path.display().to_string(),
        (None, _) => "the settings".to_owned(),
    };
    Err(ServerChangeError::InSettings { name: server.slug.clone(), place })
}

/// Checks that a server may be removed.
pub(crate) fn check_removal(server: &DefinedServer, allow_commands: bool) -> Result<(), ServerChangeError> {
    check_changeable(server)?;
    if server.definition.command.is_some() && !allow_commands {
        return Err(ServerChangeError::RemovalFromFilesOnly { name: server.slug.clone() });
    }
    Ok(())
}

/// Checks a new definition against the previous one, and returns it with the values that were shown as
/// [`HIDDEN`] restored. `allow_commands` is the setting `allow_remote_commands`.
pub(crate) fn check_definition(
    name: &Slug,
    mut new: ServerDefinition,
    before: Option<&DefinedServer>,
    allow_commands: bool,
) -> Result<ServerDefinition, ServerChangeError> {
    if let Some(before) = before {
        check_changeable(before)?;
    }
    let before = before.map(|before| &before.definition);
    if !allow_commands {
        check_command(name, &new, before)?;
    }
    restore_hidden(&mut new, before)?;
    // This comes last, because a hidden value may be the name of a secret.
    if !allow_commands {
        check_secrets(&new, before)?;
    }
    new.check().map_err(ServerChangeError::Invalid)?;
    Ok(new)
}

/// Refuses a definition that runs a program, and one that replaces such a definition: it would stop the
/// owner's program.
fn check_command(
    name: &Slug,
    new: &ServerDefinition,
    before: Option<&ServerDefinition>,
) -> Result<(), ServerChangeError> {
    if new.command.is_none() && before.is_none_or(|before| before.command.is_none()) {
        return Ok(());
    }
    Err(ServerChangeError::CommandFromFilesOnly { name: name.clone() })
}

/// Returns the previous definition, if it has exactly the address of the new one.
fn at_same_address<'b>(
    new: &ServerDefinition,
    before: Option<&'b ServerDefinition>,
) -> Option<&'b ServerDefinition> {
    before.filter(|before| before.url.is_some() && before.url == new.url)
}

/// Restores values that were shown as [`HIDDEN`], for the same address only: another address would receive
/// them.
fn restore_hidden(
    new: &mut ServerDefinition,
    before: Option<&ServerDefinition>,
) -> Result<(), ServerChangeError> {
    // The address itself may have a hidden part.
    if let Some(before) = before.filter(|before| before.redacted().url == new.url) {
        new.url.clone_from(&before.url);
    }
    let kept = at_same_address(new, before);
    for (name, value) in new.headers.iter_mut().filter(|(_, value)| *value == HIDDEN) {
        let old = kept.and_then(|kept| kept.headers.get(name));
        let old = old.ok_or_else(|| ServerChangeError::NothingHidden { header: name.clone() })?;
        value.clone_from(old);
    }
    Ok(())
}

/// Refuses a definition that sends a stored secret to an address that the owner's files do not already send
/// it to.
fn check_secrets(new: &ServerDefinition, before: Option<&ServerDefinition>) -> Result<(), ServerChangeError> {
    let kept = at_same_address(new, before);
    let is_new = |name: &String, value: &String| {
        value.starts_with(SECRET_PREFIX) && kept.is_none_or(|kept| kept.headers.get(name) != Some(value))
    };
    let has_new_header = new.headers.iter().any(|(name, value)| is_new(name, value));
    let oauth =
        |definition: &ServerDefinition| definition.oauth.as_ref().map(OauthDefinition::credentials_part);
    // The client's secrets go to the issuers, so another issuer counts as another address.
    let new_client = oauth(new).filter(|it| !it.secret_values().is_empty());
    let has_new_client = new_client.is_some() && kept.and_then(oauth) != new_client;
    if has_new_header || has_new_client {
        return Err(ServerChangeError::SecretFromFilesOnly);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
