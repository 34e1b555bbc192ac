//! Access to the apps: on a phone through JNI, from a computer through `adb`, in tests in memory. The trait's
//! methods block; they run on their own threads, and callers enforce deadlines.
//!
//! A host reports the system's answers and makes no decisions. Validation of declarations, naming of
//! providers and interpretation of answers are the same for all hosts, and happen above this layer.

pub mod adb;
pub mod memory;
mod package_changes;

use std::time::Duration;

use crate::bundle::Bundle;

pub use crate::manifest::ManifestMetaData;

pub use package_changes::{ChangedPackages, PackageChanges};

/// Access to the app providers of one phone.
pub trait ProviderHost: Send + Sync + 'static {
    /// Returns the declarations of the installed apps, in any order: all of them, or only those of these
    /// packages.
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn discover(&self, packages: Option<&[String]>) -> Result<Vec<ProviderDeclaration>, HostError>;

    /// Returns the owner of an authority, as resolved by the system (`resolveContentProvider`), if it has
    /// one.
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn resolve(&self, authority: &str) -> Result<Option<AuthorityOwner>, HostError>;

    /// Runs `ContentResolver.call`. Returns `None` if the provider returned no bundle.
    ///
    /// # Errors
    /// [`CallFailure`] with the exception of the system.
    fn call(&self, call: &HostCall) -> Result<Option<Bundle>, CallFailure>;

    /// Makes the system start a provider's process (`acquireContentProviderClient`). Returns true if it was
    /// started.
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn wake(&self, authority: &str) -> Result<bool, HostError>;

    /// Opens an app's start screen. Returns true if it was opened.
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn launch(&self, package: &str) -> Result<bool, HostError>;

    /// Opens an app's authorization screen: the activity of this package for `action`, if there is one. The
    /// package is always set, so that no other app can be opened. Returns once it is open.
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn open_authorization(&self, package: &str, action: &str) -> Result<bool, HostError>;

    /// Looks for the screen that [`Self::open_authorization`] would open. Opens nothing.
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn find_authorization_screen(
        &self,
        _package: &str,
        _action: &str,
    ) -> Result<AuthorizationScreen, HostError> {
        Ok(AuthorizationScreen::Unknown)
    }

    /// Returns a hint for calls that failed because of a missing permission.
    fn permission_hint(&self) -> &'static str {
        "grant this app the permission; where no app defines it, or another app was installed first, install the \
         variant of the bridge that fits"
    }

    /// Reports packages that are added, replaced, removed or changed to `changes`, until its receiver is
    /// closed ([`PackageChanges::is_closed`]).
    ///
    /// # Errors
    /// [`HostError`] if the system can't be reached.
    fn watch(&self, changes: PackageChanges) -> Result<(), HostError>;
}

/// The screen of an app for an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorizationScreen {
    /// The host can't look for it.
    Unknown,
    /// No activity of the app has this action.
    Missing,
    /// An activity has this action, but other apps can't open it.
    Closed {
        /// Class of the activity.
        class: String,
        /// Reason as text.
        reason: String,
    },
    /// An activity that other apps can open.
    Found {
        /// Class of the activity.
        class: String,
    },
}

/// One call to a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// Authority of the provider.
    pub authority: String,
    /// Method, such as `list_tools` or `execute_tool`.
    pub method: String,
    /// Typed arguments; null if there are none.
    pub extras: Option<Bundle>,
    /// Timeout of the caller. A host that can cancel a call does so then; others may ignore it.
    pub timeout: Duration,
}

/// An entry of an app's manifest that declares tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderDeclaration {
    /// Package of the app.
    pub package: String,
    /// Resolved label of the application, if it has one.
    pub label: Option<String>,
    /// SHA-256 of the certificate that the installed app is signed with, in lower-case hexadecimal; for
    /// several simultaneous signers, all of them, sorted and joined by `,`. It is the current signer, as
    /// verified by the phone, and never an earlier one: an app with a new key gets a new name, so that a
    /// holder of the old key does not get its grants. `None` if the host can't determine it.
    pub certificate: Option<String>,
    /// Class of the service or provider.
    pub component: String,
    /// True if the component is exported according to the manifest.
    pub exported: bool,
    /// Kind of the entry.
    pub entry: DeclarationEntry,
}

/// Way in which an app declares tools.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclarationEntry {
    /// A service with the action `com.clawseed.action.TOOL_PROVIDER` (CETP, section 2.2) and its meta-data.
    CetpService {
        /// `com.clawseed.tools.authority`.
        authority: Option<ManifestMetaData>,
        /// `com.clawseed.tools.version`.
        version: Option<ManifestMetaData>,
    },
    /// A provider for `android.intent.action.VIEW` and the type `application/vnd.mcp.tool`.
    McpMimeType {
        /// Authorities as written in the manifest, joined by `;`.
        authorities: String,
    },
    /// A provider with the action `se.premex.mcp.MCP_PROVIDER`.
    McpAction {
        /// Authorities as written in the manifest, joined by `;`.
        authorities: String,
    },
}

/// The provider that serves an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityOwner {
    /// Package of the app.
    pub package: String,
    /// Class of the provider.
    pub class: String,
    /// True if other apps may call it.
    pub exported: bool,
    /// Permission for reading.
    pub read_permission: Option<String>,
    /// Permission for writing.
    pub write_permission: Option<String>,
}

/// Exception of the system instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    /// `SecurityException`: a permission is missing, or the provider is not exported.
    #[error("{0}")]
    Security(String),
    /// The authority is unknown, or its process could not be started.
    #[error("{0}")]
    UnknownAuthority(String),
    /// The provider's process died during the call (`DeadObjectException`).
    #[error("{0}")]
    Died(String),
    /// Arguments or answer were too large (`TransactionTooLargeException`).
    #[error("{0}")]
    TooLarge(String),
    /// The provider threw another exception.
    #[error("{class}: {message}")]
    Threw {
        /// Class of the exception.
        class: String,
        /// Message of the exception.
        message: String,
    },
    /// This host does not support such a call; nothing was sent.
    #[error("{0}")]
    Unsupported(String),
    /// The host exceeded the timeout.
    #[error("the provider did not answer in time")]
    TimedOut,
    /// The phone can't be reached.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Error of the system or of the connection to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// Description of the error.
    pub message: String,
    /// Next step for the user.
    pub hint: Option<String>,
}

impl HostError {
    /// Creates an error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds the next step for the user.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
