//! `app_providers`: what a device that bridges the tools of apps says of each of those apps. It is for the owner
//! to read; nothing is decided by it.

use toolway_types::json::null_is_default;

use crate::codec::{structs, words};

/// Most providers of one message.
pub const MAX_PROVIDERS: usize = 1024;
/// Most notes of one provider.
pub const MAX_NOTES: usize = 64;
/// Most scopes of one provider.
pub const MAX_SCOPES: usize = 64;
/// Most tools of one provider.
pub const MAX_TOOLS: usize = 4096;
/// Longest text, in characters.
pub const MAX_TEXT: usize = 2000;
/// Most bytes of a whole message.
pub const MAX_BYTES: usize = 4 << 20;

/// What a provider may be asked in. Others are kept as they were said.
pub mod dialect {
    /// The protocol of `com.clawseed.action.TOOL_PROVIDER`.
    pub const CETP: &str = "cetp";
    /// `application/vnd.mcp.tool`, as first written.
    pub const MCP_A: &str = "mcp-a";
    /// `se.premex.mcp.MCP_PROVIDER`, one tool a provider.
    pub const MCP_B: &str = "mcp-b";
    /// The same with several tools in one text.
    pub const MCP_C: &str = "mcp-c";
}

structs! {
    /// `app_providers`: the whole list, in the place of the one before. Since 2.
    AppProviders {
        /// Every provider that was found, those that were refused too.
        providers: Vec<AppProvider>,
    }

    /// One app that offers tools.
    AppProvider {
        /// The authority of its content provider.
        authority: String,
        /// The package that declares it.
        package: String,
        /// Its name for people.
        label: String,
        /// What the names of its tools start with on the device; absent where it was refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// What it is asked in: `cetp`, `mcp-a`, `mcp-b`, `mcp-c`. Others are kept as they are.
        dialect: String,
        /// The version that it declares.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i64>,
        /// Whether it can be called.
        state: AppProviderState,
        /// Why it can't.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What to do about that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// What it says of itself, where it was asked and answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        info: Option<AppProviderInfo>,
        /// The names of its tools, as the device registers them.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        tools: Vec<String>,
        /// What was refused of it, or is odd about it.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<AppProviderNote>>"))]
        notes: Vec<AppProviderNote>,
    }

    /// What a provider says of itself.
    AppProviderInfo {
        /// Its name.
        name: String,
        /// What it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// To what it can give access.
        #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<AppProviderScope>>"))]
        scopes: Vec<AppProviderScope>,
    }

    /// Something to which a provider can give access.
    AppProviderScope {
        /// Its name.
        name: String,
        /// What it covers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    }

    /// Something that was noticed about a provider, or about one of its tools.
    AppProviderNote {
        /// How grave it is.
        kind: AppProviderNoteKind,
        /// The tool that is meant, by the name that its provider gave it; absent where it is the provider itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// What was noticed.
        reason: String,
    }
}

words! {
    /// Whether a provider can be called.
    AppProviderState {
        /// It can.
        #[default]
        Ready,
        /// Somebody has to allow it in its app first.
        AuthorizationRequired,
        /// It did not answer.
        Unavailable,
        /// It is not asked at all.
        Refused,
    }

    /// What became of what a note is about.
    AppProviderNoteKind {
        /// It was left out.
        Refused,
        /// It stands, but the owner should know.
        #[default]
        Flagged,
    }
}

impl AppProviderState {
    /// The word.
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
    /// The word.
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
