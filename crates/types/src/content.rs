//! Parts of a tool's result: MCP content blocks, shared by REST, WebSocket, MCP and models.

use serde::{Deserialize, Serialize};

use crate::json::RawJson;

/// One part of a tool's result, with the fields of MCP's content blocks. Binary data is base64.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Image data in base64.
        data: String,
        /// Media type, such as `image/png`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// An audio clip.
    Audio {
        /// Audio data in base64.
        data: String,
        /// Media type, such as `audio/wav`.
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// An embedded resource (`{"uri","mimeType"?,"text"|"blob"}`).
    Resource {
        /// The resource object.
        resource: serde_json::Value,
    },
    /// A link to a resource.
    ResourceLink {
        /// URI of the resource.
        uri: String,
        /// Name of the resource.
        name: String,
        /// Description of the resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Media type of the resource.
        #[serde(default, rename = "mimeType", skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl ContentPart {
    /// Creates a text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text, if this is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Approximate size in bytes, for the output limit.
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
