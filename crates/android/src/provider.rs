//! A provider in the phone's list: its identity, its tools and its problems.

use std::collections::BTreeMap;

use toolway_types::SpecDocument;

use crate::cetp::ProviderInfo;
use crate::dialect::ProviderDialect;
use crate::naming::{NameClaim, NameOwner};
use crate::note::ProviderNotes;

/// State of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderState {
    /// Its tools can be called.
    Ready,
    /// The user must authorize access in the app first.
    AuthorizationRequired {
        /// Message of the app.
        message: String,
        /// Hint of the app for the user.
        hint: Option<String>,
        /// Action of the authorization screen, as named by the app.
        intent: Option<String>,
    },
    /// Temporarily unavailable; asked again after the next connection, and when its package changes.
    Unavailable {
        /// Reason as text.
        reason: String,
    },
    /// Refused until the app or its permissions change.
    Refused {
        /// Kind of reason.
        refusal: RefusalReason,
        /// Reason as text.
        reason: String,
        /// Next step for the user.
        hint: Option<String>,
    },
}

/// Kind of reason why a provider is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// Its declaration is invalid; it was not called.
    InvalidDeclaration,
    /// A permission is missing.
    MissingPermission,
    /// The app itself refuses this caller.
    RefusedByApp,
    /// Its tools can't be called from here.
    Unsupported,
}

impl ProviderState {
    /// Creates the state of a provider with an invalid declaration.
    pub fn refused(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            refusal: RefusalReason::InvalidDeclaration,
            reason: reason.into(),
            hint: Some(hint.into()),
        }
    }
}

/// A provider: one authority in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolProvider {
    /// Package of the app.
    pub package: String,
    /// Label of the app.
    pub label: Option<String>,
    /// Certificate of the app's signer.
    pub certificate: Option<String>,
    /// Authority; empty if none is declared.
    pub authority: String,
    /// Protocol. Before the first answer, B also stands for C.
    pub dialect: ProviderDialect,
    /// Version of CETP.
    pub version: Option<u32>,
    /// Permission for calling it.
    pub permission: Option<String>,
    /// Prefix of its tools' names; `None` if it has no name yet.
    pub prefix: Option<String>,
    /// Other prefixes of tools that another provider of the app has too, by the provider's own name for the tool.
    pub tool_prefixes: BTreeMap<String, String>,
    /// State of the provider.
    pub state: ProviderState,
    /// Its description of itself.
    pub info: Option<ProviderInfo>,
    /// Its tools, under its own names.
    pub tools: Vec<SpecDocument>,
    /// Notes about problems.
    pub notes: ProviderNotes,
}

impl ToolProvider {
    /// Returns the name for messages to people.
    #[must_use]
    pub fn title(&self) -> &str {
        self.label.as_deref().filter(|label| !label.trim().is_empty()).unwrap_or(&self.package)
    }

    /// Returns true if its declaration is invalid, so that it is not called.
    #[must_use]
    pub fn has_invalid_declaration(&self) -> bool {
        matches!(self.state, ProviderState::Refused { refusal: RefusalReason::InvalidDeclaration, .. })
    }

    /// Returns the owner of its name.
    #[must_use]
    pub fn owner(&self) -> NameOwner {
        NameOwner {
            package: self.package.clone(),
            authority: self.authority.clone(),
            certificate: self.certificate.clone(),
        }
    }

    /// Returns its claim to a name.
    #[must_use]
    pub fn claim(&self) -> NameClaim {
        NameClaim {
            owner: self.owner(),
            label: self.label.clone(),
            is_cetp: self.dialect == ProviderDialect::Cetp,
        }
    }

    /// Returns a tool's name on this phone; `None` if the provider has no name.
    #[must_use]
    pub fn exposed_name(&self, tool: &str) -> Option<String> {
        let prefix = self.prefix.as_ref()?;
        Some(format!("{}__{tool}", self.tool_prefixes.get(tool).unwrap_or(prefix)))
    }
}
