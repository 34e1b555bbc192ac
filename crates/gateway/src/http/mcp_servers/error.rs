//! REST responses for changes of MCP servers that were refused.

use http::StatusCode;
use toolway_mcp::definition::store::ServersFileError;

use crate::http::ApiError;
use crate::mcp::ServerChangeError;

impl From<ServerChangeError> for ApiError {
    fn from(error: ServerChangeError) -> Self {
        let message = error.to_string();
        let conflict = |code| Self::new(StatusCode::CONFLICT, code, message.clone());
        let from_files_only =
            || Self::new(StatusCode::FORBIDDEN, "remote_commands_disabled", message.clone());
        match error {
            ServerChangeError::Unknown(_) => Self::not_found("mcp_server_not_found", message)
                .with_hint("`toolway mcp list` shows their names"),
            ServerChangeError::NameTaken(_) => conflict("name_taken").with_hint("choose another name"),
            ServerChangeError::InvalidName(flaw) => Self::malformed(message).with_hint(flaw.hint),
            ServerChangeError::InSettings { .. } => {
                conflict("server_in_settings").with_hint("change it there, in [mcp.servers.NAME]")
            }
            ServerChangeError::CommandFromFilesOnly { name } => from_files_only()
                .with_hint(format!("on that computer, run `toolway mcp add {name} --command PROGRAM ARGS…`")),
            ServerChangeError::RemovalFromFilesOnly { name } => {
                from_files_only().with_hint(format!("on that computer, run `toolway mcp remove {name}`"))
            }
            ServerChangeError::SecretFromFilesOnly => from_files_only().with_hint(
                "on that computer, run `toolway mcp add NAME --url URL --header NAME:secret:SECRET`",
            ),
            ServerChangeError::NothingHidden { .. } => Self::malformed(message).with_hint("send the value"),
            ServerChangeError::Invalid(flaws) => {
                let hint = flaws.into_iter().next().map(|flaw| flaw.hint).unwrap_or_default();
                Self::malformed(message).with_hint(hint)
            }
            ServerChangeError::TooMany => {
                conflict("too_many_servers").with_hint("`toolway mcp remove NAME` removes one")
            }
            ServerChangeError::Disabled(_) => {
                conflict("server_disabled").with_hint("remove `disabled` from its definition")
            }
            ServerChangeError::File(ServersFileError::Io { .. }) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "storage_failed", message)
                    .with_hint("see the gateway's log")
            }
            ServerChangeError::File(_) => conflict("invalid_file")
                .with_hint("correct the file on the gateway's computer; its previous version stays active"),
        }
    }
}
