//! Configuration of one model provider: address, API, key, timeouts and retries. The caller reads it from the owner's
//! files.

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

/// Configuration of one model provider.
#[derive(Clone)]
pub struct ProviderConfig {
    /// Name that the owner gave it.
    pub name: Arc<str>,
    /// The kind of its API.
    pub kind: ProviderKind,
    /// Its address.
    pub base_url: BaseUrl,
    /// API key; `None` if the provider needs none.
    pub key: Option<SecretString>,
    /// Location of the key in words that complete "the key comes from …", such as "the environment variable
    /// OPENAI_API_KEY". Without a key: the location where it can be set.
    pub key_location: String,
    /// Additional headers. They replace ours of the same name.
    pub headers: HeaderMap,
    /// Supported features of OpenAI's APIs. Applies to the kinds `compatible` and `openai`; for `openai-responses` only
    /// `strict`, `long_descriptions`, `max_tools`, `images` and `key_header`.
    pub compatibility: Switches,
    /// Timeouts.
    pub timeouts: ProviderTimeouts,
    /// Retries.
    pub retries: RetryPolicy,
}

impl ProviderConfig {
    /// Creates a configuration without a key, with the defaults of its kind.
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

    /// Sets the key and its location.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<SecretString>, place: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self.key_location = place.into();
        self
    }

    /// Returns the key as a header with `prefix` before it; empty if there is no key.
    ///
    /// # Errors
    /// [`ModelError`] if the key contains a character that is invalid in a header.
    pub(crate) fn key_header(&self, name: HeaderName, prefix: &str) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::try_from(format!("{prefix}{}", key.expose_secret().trim()));
            let mut value = value.map_err(|_| {
                let message = "the key contains an invalid character";
                ModelError::new(ModelErrorKind::Auth, Arc::clone(&self.name), message)
                    .with_hint(format!("It comes from {}. Check it for line breaks.", self.key_location))
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Returns the key in the header that the switches configure.
    ///
    /// # Errors
    /// As [`ProviderConfig::key_header`].
    pub(crate) fn configured_key_header(&self) -> Result<HeaderMap, ModelError> {
        let header = &self.compatibility.key_header;
        self.key_header(header.name.clone(), if header.bearer { "Bearer " } else { "" })
    }
}

impl fmt::Debug for ProviderConfig {
    /// Omits the key and the headers, which may contain secrets.
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
