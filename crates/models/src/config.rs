//! What the owner sets up about one model provider: where it is, which API it speaks, with which key, and how
//! patient to be with it. Read by whoever reads the owner's files; nothing here reads any.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::error::{ModelError, ModelErrorKind};
use crate::provider_kind::ProviderKind;

mod base_url;
mod compatibility;
mod timeouts;

pub use base_url::{BaseUrl, InvalidBaseUrl};
pub use compatibility::{
    ApiKeyHeader, CallIdFormat, MaxTokensField, ReasoningReplay, ReasoningRequest, SeedField,
    StructuredOutputMode, SwitchChanges, Switches, ToolChoiceSupport,
};
pub use timeouts::{ProviderTimeouts, RetryPolicy};

/// One model provider, as its owner set it up.
#[derive(Clone)]
pub struct ProviderConfig {
    /// The owner's name for it.
    pub name: Arc<str>,
    /// The API that it speaks.
    pub kind: ProviderKind,
    /// Where it is.
    pub base_url: BaseUrl,
    /// The key; none where it wants none.
    pub key: Option<SecretString>,
    /// Where the key is set, in words that complete "the key comes from …", such as "the environment variable
    /// OPENAI_API_KEY". Where there is no key: where one would be set.
    pub key_location: String,
    /// Headers that are sent besides ours; one that we send too takes its place.
    pub headers: HeaderMap,
    /// What of Chat Completions it has. Counts for the kinds `compatible` and `openai`; of `openai-responses` only
    /// `strict`, `long_descriptions`, `max_tools`, `images` and `key_header` do.
    pub compatibility: Switches,
    /// How long to wait for it.
    pub timeouts: ProviderTimeouts,
    /// How often to ask it again.
    pub retries: RetryPolicy,
}

impl ProviderConfig {
    /// Without a key, with the defaults of its kind.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, kind: ProviderKind, base_url: BaseUrl) -> Self {
        Self {
            name: name.into(),
            kind,
            base_url,
            key: None,
            key_location: String::new(),
            headers: HeaderMap::new(),
            compatibility: Switches::for_kind(kind),
            timeouts: ProviderTimeouts::default(),
            retries: RetryPolicy::default(),
        }
    }

    /// With a key and the place where it is set.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<SecretString>, place: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self.key_location = place.into();
        self
    }

    /// The key as a header, `prefix` before it; none where there is no key.
    ///
    /// # Errors
    /// Where the key has a character that no header may hold.
    pub(crate) fn key_header(&self, name: HeaderName, prefix: &str) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::try_from(format!("{prefix}{}", key.expose_secret().trim()));
            let mut value = value.map_err(|_| {
                let message = "the key has a character in it that no key can have";
                ModelError::new(ModelErrorKind::Auth, Arc::clone(&self.name), message)
                    .with_hint(format!("It comes from {}; look for line breaks in it.", self.key_location))
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// The key in the header that the switches name.
    ///
    /// # Errors
    /// As [`ProviderConfig::key_header`].
    pub(crate) fn configured_key_header(&self) -> Result<HeaderMap, ModelError> {
        let header = &self.compatibility.key_header;
        self.key_header(header.name.clone(), if header.bearer { "Bearer " } else { "" })
    }
}

impl fmt::Debug for ProviderConfig {
    /// Without key and headers, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .field("key_place", &self.key_location)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
