//! The installed apps and their permissions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use parking_lot::Mutex;

/// Parsing of `--extra` values in `content`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraEscaping {
    /// Up to Android 10.
    Raw,
    /// From Android 11.
    Backslash,
}

/// Properties of the phone.
#[derive(Debug, Clone)]
pub struct PhoneSetup {
    /// API level.
    pub api_level: u32,
    /// Parsing of values in `content`.
    pub escaping: ExtraEscaping,
    /// True if its shell is root.
    pub is_root: bool,
    /// True if its build allows a root shell (`ro.debuggable`).
    pub is_debuggable: bool,
    /// True if its user has authorized this computer.
    pub is_authorized: bool,
    /// The user in the foreground.
    pub user: u32,
}

impl Default for PhoneSetup {
    fn default() -> Self {
        Self {
            api_level: 35,
            escaping: ExtraEscaping::Backslash,
            is_root: false,
            is_debuggable: true,
            is_authorized: true,
            user: 0,
        }
    }
}

/// A value for a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtraValue {
    /// `s`.
    Text(String),
    /// `b`.
    Boolean(bool),
    /// `i`.
    Int(i32),
    /// `l`, and `i` up to Android 10.
    Long(i64),
    /// `f`.
    Float(f32),
    /// `d`, and `f` up to Android 10.
    Double(f64),
    /// `n`.
    Null,
}

/// A call that a provider received.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedCall {
    /// Authority of the provider.
    pub authority: String,
    /// Method of the call.
    pub method: String,
    /// Bundle of the call.
    pub extras: BTreeMap<String, ExtraValue>,
    /// The user.
    pub user: u32,
}

impl ReceivedCall {
    /// Returns a string in the extras.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.extras.get(key) {
            Some(ExtraValue::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Reply of a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderReply {
    /// A bundle with these keys and printed values.
    Bundle(Vec<(String, String)>),
    /// No bundle.
    Null,
    /// An exception (`class: message`).
    Throws(String),
    /// The process dies.
    Dies,
    /// No reply.
    Hangs,
    /// `content` prints this text.
    Prints(String),
}

impl ProviderReply {
    /// Creates a bundle with these values.
    #[must_use]
    pub fn bundle(values: &[(&str, &str)]) -> Self {
        Self::Bundle(values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    /// Creates CETP's answer with data.
    #[must_use]
    pub fn success(data: &str) -> Self {
        Self::bundle(&[("status", "success"), ("data", data)])
    }

    /// Creates CETP's answer with an error.
    #[must_use]
    pub fn error(code: &str, message: &str) -> Self {
        Self::bundle(&[("status", "error"), ("error_code", code), ("error_message", message)])
    }
}

/// Function that answers calls.
pub type ReplyHandler = dyn Fn(&ReceivedCall) -> ProviderReply + Send + Sync;

/// A content provider.
#[derive(Clone)]
pub struct ProviderSetup {
    /// Its authority.
    pub authority: String,
    /// Class, as abbreviated by the system (`.Name` within the app's package).
    pub class: String,
    /// True if other apps may call it.
    pub exported: bool,
    /// Permission for calling it.
    pub permission: Option<String>,
    /// Titles in the table of filters: the section, and the action or type.
    pub filters: Vec<(&'static str, String)>,
    /// Function that answers its calls.
    pub answer: Arc<ReplyHandler>,
}

impl fmt::Debug for ProviderSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSetup").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl ProviderSetup {
    /// Creates an exported provider without a permission and without filters.
    pub fn new(
        authority: &str,
        class: &str,
        answer: impl Fn(&ReceivedCall) -> ProviderReply + Send + Sync + 'static,
    ) -> Self {
        Self {
            authority: authority.to_owned(),
            class: class.to_owned(),
            exported: true,
            permission: None,
            filters: Vec::new(),
            answer: Arc::new(answer),
        }
    }

    /// Requires a permission.
    #[must_use]
    pub fn guarded(self, permission: &str) -> Self {
        Self { permission: Some(permission.to_owned()), ..self }
    }

    /// Makes the provider private to its app.
    #[must_use]
    pub fn private(self) -> Self {
        Self { exported: false, ..self }
    }

    /// Adds an action by which it is found.
    #[must_use]
    pub fn action(mut self, action: &str) -> Self {
        self.filters.push(("Non-Data Actions:", action.to_owned()));
        self
    }

    /// Adds a type by which it is found.
    #[must_use]
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        self.filters.push(("Full MIME Types:", mime_type.to_owned()));
        self
    }
}

/// An app.
#[derive(Debug, Clone)]
pub struct PhoneApp {
    /// Package name.
    pub package: String,
    /// Its APK.
    pub apk: Vec<u8>,
    /// Version code.
    pub version: u32,
    /// Services by action, as `.Name`.
    pub services: Vec<(String, String)>,
    /// Activities by action, as `.Name`.
    pub activities: Vec<(String, String)>,
    /// Its providers.
    pub providers: Vec<ProviderSetup>,
    /// Permissions that the app defines.
    pub permissions: Vec<String>,
}

impl PhoneApp {
    /// Creates an app without components.
    #[must_use]
    pub fn new(package: &str, apk: &[u8]) -> Self {
        Self {
            package: package.to_owned(),
            apk: apk.to_vec(),
            version: 1,
            services: Vec::new(),
            activities: Vec::new(),
            providers: Vec::new(),
            permissions: Vec::new(),
        }
    }

    /// Adds a service for an action.
    #[must_use]
    pub fn service(mut self, action: &str, class: &str) -> Self {
        self.services.push((action.to_owned(), class.to_owned()));
        self
    }

    /// Adds an activity for an action.
    #[must_use]
    pub fn activity(mut self, action: &str, class: &str) -> Self {
        self.activities.push((action.to_owned(), class.to_owned()));
        self
    }

    /// Adds a provider.
    #[must_use]
    pub fn provider(mut self, provider: ProviderSetup) -> Self {
        self.providers.push(provider);
        self
    }

    /// Adds a permission that the app defines.
    #[must_use]
    pub fn permission(mut self, permission: &str) -> Self {
        self.permissions.push(permission.to_owned());
        self
    }
}

/// State that the commands read.
#[derive(Debug)]
pub(crate) struct AndroidSystem {
    pub(crate) setup: PhoneSetup,
    /// Apps by package, with the paths of their APKs.
    pub(crate) apps: Mutex<BTreeMap<String, (PhoneApp, String)>>,
    pub(crate) received_calls: Mutex<Vec<ReceivedCall>>,
    pub(crate) opened_activities: Mutex<Vec<String>>,
    pub(crate) installations: AtomicU32,
}
