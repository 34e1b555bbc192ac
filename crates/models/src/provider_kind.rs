//! The kinds of model providers: the APIs that Toolway supports.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Defines [`ProviderKind`] and everything that lists its members, so that a new kind is one more line here.
macro_rules! provider_kinds {
    ($($kind:ident = $name:literal, $api:literal;)*) => {
        /// The API of a model provider.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ProviderKind {
            $(#[doc = concat!($api, ".")] #[serde(rename = $name)] $kind,)*
        }

        impl ProviderKind {
            /// All kinds, in the order in which help and errors list them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// Name in settings and on the command line.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Name of the API in help texts.
            #[must_use]
            pub fn api_name(self) -> &'static str {
                match self {
                    $(Self::$kind => $api,)*
                }
            }
        }
    };
}

provider_kinds! {
    Openai = "openai", "OpenAI Chat Completions";
    OpenaiResponses = "openai-responses", "OpenAI Responses";
    Anthropic = "anthropic", "Anthropic Messages";
    Gemini = "gemini", "Google Gemini";
    Compatible = "compatible", "Other servers with the Chat Completions API";
}

impl ProviderKind {
    /// The names of all kinds as a list in a sentence: `openai, …, gemini or compatible`.
    #[must_use]
    pub fn names() -> String {
        let names = Self::ALL.map(Self::as_str);
        match names.split_last() {
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// Returns whether [`Switches`](crate::config::Switches) apply to this kind. They describe differences between
    /// implementations of OpenAI's APIs.
    #[must_use]
    pub fn has_switches(self) -> bool {
        match self {
            Self::Openai | Self::OpenaiResponses | Self::Compatible => true,
            Self::Anthropic | Self::Gemini => false,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text is not the name of a kind of model provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of model provider; use {kinds}", kinds = ProviderKind::names())]
pub struct UnknownProviderKind(pub String);

impl FromStr for ProviderKind {
    type Err = UnknownProviderKind;

    fn from_str(text: &str) -> Result<Self, UnknownProviderKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownProviderKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
