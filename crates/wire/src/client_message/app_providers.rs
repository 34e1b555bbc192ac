//! The message `app_providers`: a device's report on each app that offers tools through it. It informs the
//! owner and decides nothing.

use toolway_types::json::null_is_default;

use crate::codec::{structs, words};

/// Maximum number of providers in one message.
pub const MAX_PROVIDERS: usize = 1024;
/// Maximum number of notes per provider.
pub const MAX_NOTES: usize = 64;
/// Maximum number of scopes per provider.
pub const MAX_SCOPES: usize = 64;
/// Maximum number of tools per provider.
pub const MAX_TOOLS: usize = 4096;
/// Maximum length of a text, in characters.
pub const MAX_TEXT: usize = 2000;
/// Maximum size of a whole message, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// Known protocols of providers. Other values are kept unchanged.
pub mod dialect {
    /// The protocol of `com.clawseed.action.TOOL_PROVIDER`.
    pub const CETP: &str = "cetp";
    /// First version of the `application/vnd.mcp.tool` protocol.
    pub const MCP_A: &str = "mcp-a";
    /// Protocol `se.premex.mcp.MCP_PROVIDER` with one tool per provider.
    pub const MCP_B: &str = "mcp-b";
    /// Protocol `se.premex.mcp.MCP_PROVIDER` with several tools in one text.
    pub const MCP_C: &str = "mcp-c";
}

structs! {
    /// The message `app_providers`. It replaces the previous list. Since 2.
    AppProviders {
        /// All providers found, including refused ones.
        providers: Vec<AppProvider>,
    }

    /// One app that offers tools.
    AppProvider {
        /// Authority of the app's content provider.
        authority: String,
        /// Package that declares the provider.
        package: String,
        /// Display name of the app.
        label: String,
        /// Prefix of its tools' names on the device; absent if the provider was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// Protocol of the provider: `cetp`, `mcp-a`, `mcp-b`, `mcp-c`. Other values are kept unchanged.
        dialect: String,
        /// Version declared by the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i64>,
        /// State of the provider.
        state: AppProviderState,
        /// Reason why the provider cannot be called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Next step that makes the provider callable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// The provider's description of itself, if it answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        info: Option<AppProviderInfo>,
        /// Names of its tools, as registered by the device.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        tools: Vec<String>,
        /// Refused parts and warnings.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<AppProviderNote>>"))]
        notes: Vec<AppProviderNote>,
    }

    /// A provider's description of itself.
    AppProviderInfo {
        /// Name of the provider.
        name: String,
        /// Purpose of the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Data to which the provider can give access.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<AppProviderScope>>"))]
        scopes: Vec<AppProviderScope>,
    }

    /// Data to which a provider can give access.
    AppProviderScope {
        /// Name of the scope.
        name: String,
        /// Data covered by the scope.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    }

    /// Problem with a provider or with one of its tools.
    AppProviderNote {
        /// Severity of the note.
        kind: AppProviderNoteKind,
        /// Name of the tool as given by its provider; absent if the note is about the provider itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// Description of the problem.
        reason: String,
    }
}

words! {
    /// State of a provider.
    AppProviderState {
        /// The provider can be called.
        #[default]
        Ready,
        /// The user must first allow access in the app.
        AuthorizationRequired,
        /// The provider did not answer.
        Unavailable,
        /// The provider was refused and is not called.
        Refused,
    }

    /// Severity of a note.
    AppProviderNoteKind {
        /// The tool or provider was left out.
        Refused,
        /// The tool or provider is used, but the owner should know.
        #[default]
        Flagged,
    }
}

impl AppProviderState {
    /// Name of the state on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::AuthorizationRequired => "authorization_required",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
        }
    }
}

impl AppProviderNoteKind {
    /// Name of the kind on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Flagged => "flagged",
        }
    }
}

#[cfg(test)]
mod tests;
