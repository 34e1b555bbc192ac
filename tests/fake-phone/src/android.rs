//! What is installed on the phone, and who may call whom.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use parking_lot::Mutex;

/// How its `content` reads the values of `--extra`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraEscaping {
    /// As up to Android 10.
    Raw,
    /// As from Android 11 on.
    Backslash,
}

/// What kind of phone it is.
#[derive(Debug, Clone)]
pub struct PhoneSetup {
    /// Its API level.
    pub api_level: u32,
    /// How its `content` reads values.
    pub escaping: ExtraEscaping,
    /// Whether its shell is root's.
    pub is_root: bool,
    /// Whether its person has allowed this computer.
    pub is_authorized: bool,
    /// Whose apps are in front.
    pub user: u32,
}

impl Default for PhoneSetup {
    fn default() -> Self {
        Self {
            api_level: 35,
            escaping: ExtraEscaping::Backslash,
            is_root: false,
            is_authorized: true,
            user: 0,
        }
    }
}

/// A value that a provider is given.
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

/// One call as a provider got it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedCall {
    /// Whose.
    pub authority: String,
    /// The method.
    pub method: String,
    /// The bundle.
    pub extras: BTreeMap<String, ExtraValue>,
    /// For which user.
    pub user: u32,
}

impl ReceivedCall {
    /// A string among the extras.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.extras.get(key) {
            Some(ExtraValue::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// What a provider does.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderReply {
    /// It answers with these keys, each as Java prints its value.
    Bundle(Vec<(String, String)>),
    /// It answers with none.
    Null,
    /// It throws this (`class: message`).
    Throws(String),
    /// Its process dies.
    Dies,
    /// Nothing ever comes back.
    Hangs,
    /// `content` prints this, whatever it means.
    Prints(String),
}

impl ProviderReply {
    /// A bundle with these values.
    #[must_use]
    pub fn bundle(values: &[(&str, &str)]) -> Self {
        Self::Bundle(values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    /// CETP's answer with data.
    #[must_use]
    pub fn success(data: &str) -> Self {
        Self::bundle(&[("status", "success"), ("data", data)])
    }

    /// CETP's answer with an error.
    #[must_use]
    pub fn error(code: &str, message: &str) -> Self {
        Self::bundle(&[("status", "error"), ("error_code", code), ("error_message", message)])
    }
}

/// What a provider answers.
pub type ReplyHandler = dyn Fn(&ReceivedCall) -> ProviderReply + Send + Sync;

/// A content provider.
#[derive(Clone)]
pub struct ProviderSetup {
    /// Its authority.
    pub authority: String,
    /// Its class, as the system shortens it (`.Name` within the app's package).
    pub class: String,
    /// Whether other apps may call it.
    pub exported: bool,
    /// The permission that calling it needs.
    pub permission: Option<String>,
    /// What is written above it in the table of filters: the section and the action or type.
    pub filters: Vec<(&'static str, String)>,
    /// What it answers.
    pub answer: Arc<ReplyHandler>,
}

impl fmt::Debug for ProviderSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSetup").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl ProviderSetup {
    /// An exported one without a permission and without filters.
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

    /// One that needs a permission.
    #[must_use]
    pub fn guarded(self, permission: &str) -> Self {
        Self { permission: Some(permission.to_owned()), ..self }
    }

    /// One that no other app may call.
    #[must_use]
    pub fn private(self) -> Self {
        Self { exported: false, ..self }
    }

    /// One that is found by an action.
    #[must_use]
    pub fn action(mut self, action: &str) -> Self {
        self.filters.push(("Non-Data Actions:", action.to_owned()));
        self
    }

    /// One that is found by a type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: &str) -> Self {
        self.filters.push(("Full MIME Types:", mime_type.to_owned()));
        self
    }
}

/// An app.
#[derive(Debug, Clone)]
pub struct PhoneApp {
    /// Its package.
    pub package: String,
    /// Its APK.
    pub apk: Vec<u8>,
    /// Its version's number.
    pub version: u32,
    /// Its services by action, as `.Name`.
    pub services: Vec<(String, String)>,
    /// Its activities by action, as `.Name`.
    pub activities: Vec<(String, String)>,
    /// Its providers.
    pub providers: Vec<ProviderSetup>,
    /// The permissions that it defines.
    pub permissions: Vec<String>,
}

impl PhoneApp {
    /// One with nothing in it.
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

    /// With a service for an action.
    #[must_use]
    pub fn service(mut self, action: &str, class: &str) -> Self {
        self.services.push((action.to_owned(), class.to_owned()));
        self
    }

    /// With an activity for an action.
    #[must_use]
    pub fn activity(mut self, action: &str, class: &str) -> Self {
        self.activities.push((action.to_owned(), class.to_owned()));
        self
    }

    /// With a provider.
    #[must_use]
    pub fn provider(mut self, provider: ProviderSetup) -> Self {
        self.providers.push(provider);
        self
    }

    /// With a permission that it defines.
    #[must_use]
    pub fn permission(mut self, permission: &str) -> Self {
        self.permissions.push(permission.to_owned());
        self
    }
}

/// What the commands look at.
#[derive(Debug)]
pub(crate) struct AndroidSystem {
    pub(crate) setup: PhoneSetup,
    /// By package, with the path of the APK.
    pub(crate) apps: Mutex<BTreeMap<String, (PhoneApp, String)>>,
    pub(crate) received_calls: Mutex<Vec<ReceivedCall>>,
    pub(crate) opened_activities: Mutex<Vec<String>>,
    pub(crate) installations: AtomicU32,
}
