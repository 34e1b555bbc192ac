//! Parts of a tool's result: MCP content blocks, which REST, WebSocket, MCP and models all share.

use serde::{Deserialize, Serialize};

use crate::json::RawJson;

/// One part of a result. The fields are those of MCP's content blocks (text, image, audio, resource,
/// resource_link), binary data in base64.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Media type, such as `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// Sound.
    Audio {
        /// Base64.
        data: String,
        /// Media type, such as `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// An embedded resource (`{"uri","mimeType"?,"text"|"blob"}`).
    Resource {
        /// The resource.
        resource: serde_json::Value,
    },
    /// A link to a resource.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// Its name.
        name: String,
        /// What it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Its media type.
        #[serde(default, rename = "mimeType", skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl ContentPart {
    /// A text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, where it is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Roughly how many bytes it takes, for the output limit.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::Image { data, .. } | Self::Audio { data, .. } => data.len(),
            Self::Resource { resource } => RawJson::from(resource).get().len(),
            Self::ResourceLink { uri, name, description, .. } => {
                uri.len() + name.len() + description.as_deref().map_or(0, str::len)
            }
        }
    }
}
