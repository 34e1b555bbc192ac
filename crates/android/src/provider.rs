//! A provider as it stands on the phone's list: who it is, what it offers, what is wrong with it.

use toolway_types::SpecDocument;

use crate::cetp::ProviderInfo;
use crate::dialect::ProviderDialect;
use crate::naming::{NameClaim, NameOwner};
use crate::note::ProviderNotes;

/// What can be had of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderState {
    /// Its tools.
    Ready,
    /// Nothing, until the user has allowed it in the app.
    AuthorizationRequired {
        /// What the app says.
        message: String,
        /// What the user can do.
        hint: Option<String>,
        /// The action of the screen for it, as the app names it.
        intent: Option<String>,
    },
    /// Nothing at the moment; it is asked again with the next connection, and when its package changes.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// Nothing, until the app or its rights are other ones.
    Refused {
        /// What for.
        refusal: RefusalReason,
        /// Why.
        reason: String,
        /// What can be done.
        hint: Option<String>,
    },
}

/// What a provider is refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// For what its app declares; it was not asked.
    InvalidDeclaration,
    /// For want of a permission.
    MissingPermission,
    /// By the app itself, which does not want this caller.
    RefusedByApp,
    /// For there is no way to pass it a call from here.
    Unsupported,
}

impl ProviderState {
    /// Refused for what its app declares.
    pub fn refused(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            refusal: RefusalReason::InvalidDeclaration,
            reason: reason.into(),
            hint: Some(hint.into()),
        }
    }
}

/// One provider: one authority in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolProvider {
    /// The app.
    pub package: String,
    /// Its label.
    pub label: Option<String>,
    /// Who signed it.
    pub certificate: Option<String>,
    /// The authority; empty where none is declared.
    pub authority: String,
    /// How it is spoken to. Before it has answered, B stands for C as well.
    pub dialect: ProviderDialect,
    /// The version of CETP that it speaks.
    pub version: Option<u32>,
    /// The permission that calling it needs.
    pub permission: Option<String>,
    /// What stands before its tools' names; nothing where it has no name yet.
    pub prefix: Option<String>,
    /// What can be had of it.
    pub state: ProviderState,
    /// Its own words on itself.
    pub info: Option<ProviderInfo>,
    /// Its tools, under its own names.
    pub tools: Vec<SpecDocument>,
    /// What was refused or noticed.
    pub notes: ProviderNotes,
}

impl ToolProvider {
    /// What to call it in messages to people.
    #[must_use]
    pub fn title(&self) -> &str {
        self.label.as_deref().filter(|label| !label.trim().is_empty()).unwrap_or(&self.package)
    }

    /// Whether it is refused for what its app declares, and so not asked.
    #[must_use]
    pub fn has_invalid_declaration(&self) -> bool {
        matches!(self.state, ProviderState::Refused { refusal: RefusalReason::InvalidDeclaration, .. })
    }

    /// Whose its name is.
    #[must_use]
    pub fn owner(&self) -> NameOwner {
        NameOwner {
            package: self.package.clone(),
            authority: self.authority.clone(),
            certificate: self.certificate.clone(),
        }
    }

    /// Its claim to a name.
    #[must_use]
    pub fn claim(&self) -> NameClaim {
        NameClaim {
            owner: self.owner(),
            label: self.label.clone(),
            is_cetp: self.dialect == ProviderDialect::Cetp,
        }
    }

    /// A tool's name on this phone; nothing where the provider has no name.
    #[must_use]
    pub fn exposed_name(&self, tool: &str) -> Option<String> {
        self.prefix.as_ref().map(|prefix| format!("{prefix}__{tool}"))
    }
}
