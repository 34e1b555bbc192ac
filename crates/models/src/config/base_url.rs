//! The base URL of a model provider's API.
//!
//! Each kind follows its official client: for OpenAI's APIs and compatible servers the URL ends in the version
//! (`https://api.openai.com/v1`), for Anthropic and Gemini it does not (`https://api.anthropic.com`). Both forms are
//! accepted, with or without a slash at the end. Plain http is allowed for any host, because the URL comes from the
//! owner's own file.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;

/// Maximum length of an address, in bytes.
const MAX_URL_BYTES: usize = 2048;

/// Parts of the name of a query parameter that contains a secret. An address is shown, so it must not contain one.
const SECRET_NAMES: &[&str] = &["key", "token", "secret", "password", "passwd", "sig", "auth", "credential"];

/// An http or https address without fragment, user name or password. A query, such as `api-version=…`, stays on every
/// request.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

/// Why an address was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBaseUrl {
    /// Not an address.
    #[error("invalid URL: {0}; use a complete one, for example https://api.example.org/v1")]
    Malformed(String),
    /// Something else than http or https.
    #[error("only http and https URLs are supported, not {0}:")]
    Scheme(String),
    /// It carries a name, a password or a fragment.
    #[error("the URL contains a user name, password or fragment; use `key` for a key")]
    Extras,
    /// A parameter of the query looks like a secret.
    #[error(
        "the query parameter {0:?} of the URL looks like a secret, and a URL is shown to others; use `key` for a key"
    )]
    SecretInQuery(String),
    /// Too long.
    #[error("the address has {0} bytes; at most {MAX_URL_BYTES} are allowed")]
    TooLong(usize),
}

impl FromStr for BaseUrl {
    type Err = InvalidBaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidBaseUrl> {
        if text.len() > MAX_URL_BYTES {
            return Err(InvalidBaseUrl::TooLong(text.len()));
        }
        let url = Url::parse(text.trim()).map_err(|error| InvalidBaseUrl::Malformed(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(InvalidBaseUrl::Scheme(url.scheme().to_owned()));
        }
        let has_password = !url.username().is_empty() || url.password().is_some();
        if has_password || url.fragment().is_some() {
            return Err(InvalidBaseUrl::Extras);
        }
        if let Some((name, _)) = url.query_pairs().find(|(name, _)| is_secret_name(name)) {
            return Err(InvalidBaseUrl::SecretInQuery(name.into_owned()));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(InvalidBaseUrl::Malformed("the host is missing".to_owned()));
        }
        Ok(Self(url))
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

impl BaseUrl {
    /// Returns the address of `path` for APIs whose base URL contains the version, like OpenAI's. If the base URL has
    /// no path, the version is added: `http://localhost:11434` becomes `http://localhost:11434/v1`.
    pub(crate) fn with_version(&self, version: &str, path: &str) -> Url {
        let base = match self.path() {
            "" => format!("/{version}"),
            // Some copy the whole address out of an example.
            whole => whole.strip_suffix(&format!("/{path}")).unwrap_or(whole).to_owned(),
        };
        self.with_path(&format!("{base}/{path}"))
    }

    /// Returns the address of `path` for APIs whose base URL has no version, like Anthropic's and Gemini's. Adds
    /// the first of `versions`, unless the base URL ends with one of them.
    pub(crate) fn adding_version(&self, versions: &[&str], path: &str) -> Url {
        let base = self.path();
        let last = base.rsplit('/').next().unwrap_or_default();
        match versions.first() {
            Some(version) if !versions.contains(&last) => self.with_path(&format!("{base}/{version}/{path}")),
            _ => self.with_path(&format!("{base}/{path}")),
        }
    }

    /// The path, without slashes at its end.
    fn path(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }

    fn with_path(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(path);
        url
    }

    /// The whole address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
