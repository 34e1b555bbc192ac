//! What reaches the apps: a phone through JNI, a computer through `adb`, a test in memory. One trait, whose
//! methods block; they are called on threads of their own, under deadlines that are owned outside.
//!
//! A host reports what the system says and decides nothing: which declarations are good, how a provider is
//! named and what an answer means is decided above it, once for all hosts.

pub mod adb;
pub mod memory;
mod package_changes;

use std::time::Duration;

use crate::bundle::Bundle;

pub use crate::manifest::ManifestMetaData;

pub use package_changes::{ChangedPackages, PackageChanges};

/// Reaches the app providers of one phone.
pub trait ProviderHost: Send + Sync + 'static {
    /// What the installed apps declare, in any order: all of them, or those of these packages alone.
    ///
    /// # Errors
    /// [`HostError`] where the system could not be asked.
    fn discover(&self, packages: Option<&[String]>) -> Result<Vec<ProviderDeclaration>, HostError>;

    /// Who serves an authority, as the system resolves it (`resolveContentProvider`); nothing where nobody does.
    ///
    /// # Errors
    /// [`HostError`] where the system could not be asked.
    fn resolve(&self, authority: &str) -> Result<Option<AuthorityOwner>, HostError>;

    /// `ContentResolver.call`. The bundle is nothing where the provider answered with none.
    ///
    /// # Errors
    /// [`CallFailure`] says what the system threw.
    fn call(&self, call: &HostCall) -> Result<Option<Bundle>, CallFailure>;

    /// Makes the system start a provider's process (`acquireContentProviderClient`). Whether one was had.
    ///
    /// # Errors
    /// [`HostError`] where the system could not be asked.
    fn wake(&self, authority: &str) -> Result<bool, HostError>;

    /// Opens an app as its icon does. Whether it could be.
    ///
    /// # Errors
    /// [`HostError`] where the system could not be asked.
    fn launch(&self, package: &str) -> Result<bool, HostError>;

    /// Opens an app's screen for granting access: the activity of this very package that takes `action`, where
    /// there is one. The package is always set, so that no other app can be opened. Returns once it is open.
    ///
    /// # Errors
    /// [`HostError`] where the system could not be asked.
    fn open_authorization(&self, package: &str, action: &str) -> Result<bool, HostError>;

    /// What a person can do where a call was refused for want of a permission.
    fn permission_hint(&self) -> &'static str {
        "grant this app the permission; where no app defines it, or another app was installed first, install the \
         variant of the bridge that fits"
    }

    /// From now on tells which packages were added, replaced, removed or changed, until `changes` is told
    /// that nobody listens any more ([`PackageChanges::is_over`]).
    ///
    /// # Errors
    /// [`HostError`] where the system could not be asked.
    fn watch(&self, changes: PackageChanges) -> Result<(), HostError>;
}

/// One call to a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// Whose.
    pub authority: String,
    /// `list_tools`, `execute_tool` and their like.
    pub method: String,
    /// Typed arguments; `null` where there are none.
    pub extras: Option<Bundle>,
    /// How long the caller waits. A host that can end a call itself does so then; others need not look at it.
    pub timeout: Duration,
}

/// One entry of an app's manifest by which its tools are found.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderDeclaration {
    /// The app.
    pub package: String,
    /// The application's label, resolved; nothing where it has none.
    pub label: Option<String>,
    /// SHA-256 of the certificate that the app, as it is installed, is signed with, in lower-case hexadecimal; of
    /// several that sign together, of all of them, sorted and joined by `,`. It is the signer of now, as the phone
    /// has verified it, and none of those before: an app whose key was replaced gets a new name, and whoever still
    /// has the old key does not get the old one's grants with it. Nothing where the host can't tell.
    pub certificate: Option<String>,
    /// The class of the service or of the provider.
    pub component: String,
    /// Whether the component is exported, as the manifest says.
    pub exported: bool,
    /// Which entry it is.
    pub entry: DeclarationEntry,
}

/// How an app says that it offers tools.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclarationEntry {
    /// A service with the action `com.clawseed.action.TOOL_PROVIDER` (CETP, section 2.2), and the meta-data
    /// beside it.
    CetpService {
        /// `com.clawseed.tools.authority`.
        authority: Option<ManifestMetaData>,
        /// `com.clawseed.tools.version`.
        version: Option<ManifestMetaData>,
    },
    /// A provider for `android.intent.action.VIEW` and the type `application/vnd.mcp.tool`.
    McpMimeType {
        /// Its authorities, as the manifest has them: several are joined by `;`.
        authorities: String,
    },
    /// A provider with the action `se.premex.mcp.MCP_PROVIDER`.
    McpAction {
        /// Its authorities, as the manifest has them: several are joined by `;`.
        authorities: String,
    },
}

/// The provider that serves an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityOwner {
    /// Its app.
    pub package: String,
    /// Its class.
    pub class: String,
    /// Whether other apps may call it.
    pub exported: bool,
    /// The permission that reading it needs.
    pub read_permission: Option<String>,
    /// The permission that writing it needs.
    pub write_permission: Option<String>,
}

/// What the system threw instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// `SecurityException`: a permission is missing, or the provider is not exported.
    #[error("{0}")]
    Security(String),
    /// Nobody serves the authority, or its process could not be started.
    #[error("{0}")]
    UnknownAuthority(String),
    /// The provider's process died in the middle of the call (`DeadObjectException`).
    #[error("{0}")]
    Died(String),
    /// Arguments or answer were too large to pass (`TransactionTooLargeException`).
    #[error("{0}")]
    TooLarge(String),
    /// The provider threw something else.
    #[error("{class}: {message}")]
    Threw {
        /// The exception's class.
        class: String,
        /// Its message.
        message: String,
    },
    /// This host has no way to make such a call; nothing was sent.
    #[error("{0}")]
    Unsupported(String),
    /// The host took longer than it was given.
    #[error("the provider did not answer in time")]
    TimedOut,
    /// The phone itself is out of reach.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// The system, or the way to it, did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl HostError {
    /// Without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
