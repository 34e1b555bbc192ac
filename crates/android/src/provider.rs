//! A provider as it stands on the phone's list: who it is, what it offers, what is wrong with it.

use toolway_types::SpecDocument;

use crate::cetp::ProviderInfo;
use crate::dialect::Dialect;
use crate::naming::{Claim, Owner};
use crate::note::Notes;

/// What can be had of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
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
        refusal: Refusal,
        /// Why.
        reason: String,
        /// What can be done.
        hint: Option<String>,
    },
}

/// What a provider is refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// For what its app declares; it was not asked.
    Declared,
    /// For want of a permission.
    Guarded,
    /// By the app itself, which does not want this caller.
    ByTheApp,
    /// For there is no way to pass it a call from here.
    NoWay,
}

impl State {
    /// Refused for what its app declares.
    pub fn refused(reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { refusal: Refusal::Declared, reason: reason.into(), hint: Some(hint.into()) }
    }
}

/// One provider: one authority in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// The app.
    pub package: String,
    /// Its label.
    pub label: Option<String>,
    /// Who signed it.
    pub certificate: Option<String>,
    /// The authority; empty where none is declared.
    pub authority: String,
    /// How it is spoken to. Before it has answered, B stands for C as well.
    pub dialect: Dialect,
    /// The version of CETP that it speaks.
    pub version: Option<u32>,
    /// The permission that calling it needs.
    pub permission: Option<String>,
    /// What stands before its tools' names; nothing where it has no name yet.
    pub prefix: Option<String>,
    /// What can be had of it.
    pub state: State,
    /// Its own words on itself.
    pub info: Option<ProviderInfo>,
    /// Its tools, under its own names.
    pub tools: Vec<SpecDocument>,
    /// What was refused or noticed.
    pub notes: Notes,
}

impl Provider {
    /// What to call it in messages to people.
    #[must_use]
    pub fn title(&self) -> &str {
        self.label.as_deref().filter(|label| !label.trim().is_empty()).unwrap_or(&self.package)
    }

    /// Whether it is refused for what its app declares, and so not asked.
    #[must_use]
    pub fn is_declared_wrongly(&self) -> bool {
        matches!(self.state, State::Refused { refusal: Refusal::Declared, .. })
    }

    /// Whose its name is.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            package: self.package.clone(),
            authority: self.authority.clone(),
            certificate: self.certificate.clone(),
        }
    }

    /// Its claim to a name.
    #[must_use]
    pub fn claim(&self) -> Claim {
        Claim { owner: self.owner(), label: self.label.clone(), is_cetp: self.dialect == Dialect::Cetp }
    }

    /// A tool's name on this phone; nothing where the provider has no name.
    #[must_use]
    pub fn exposed(&self, tool: &str) -> Option<String> {
        self.prefix.as_ref().map(|prefix| format!("{prefix}__{tool}"))
    }
}
