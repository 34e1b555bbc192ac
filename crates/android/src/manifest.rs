//! What an app's manifest says, read from its APK: the binary form that compilers make of `AndroidManifest.xml`,
//! with the values that it takes from the app's resources. Android's own rules for what is left out (whether a
//! component is exported, whose permission guards it) are applied, so what is here is what the phone sees.
//!
//! An APK is a stranger's file. Reading one never panics and never takes more time or memory than the constants of
//! the modules below allow. Nothing here installs or runs anything.

mod apk;
mod bytes;
mod manifest_reader;
mod meta_data;
mod resources;
mod signature;
mod strings;
mod value;
mod xml;

use crate::mcp;

pub use apk::{Apk, ApkError};
pub use meta_data::ManifestMetaData;

/// An app's manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppManifest {
    /// The app's package.
    pub package: String,
    /// `versionCode`, where it is given.
    pub version_code: Option<i32>,
    /// The oldest API level that it runs on; 1 where it does not say.
    pub min_sdk: u32,
    /// The API level that it is made for; the oldest one where it does not say.
    pub target_sdk: u32,
    /// The application's label, resolved; nothing where it has none, or takes it from the system.
    pub label: Option<String>,
    /// The permissions that it defines.
    pub permissions: Vec<PermissionDefinition>,
    /// The permissions that it asks for.
    pub uses_permissions: Vec<String>,
    /// What it wants to see of other apps.
    pub queries: QueriesElement,
    /// Its activities, and their aliases.
    pub activities: Vec<AppComponent>,
    /// Its services.
    pub services: Vec<AppComponent>,
    /// Its broadcast receivers.
    pub receivers: Vec<AppComponent>,
    /// Its content providers.
    pub providers: Vec<ProviderElement>,
}

impl AppManifest {
    /// Reads a manifest alone, in binary form; what it takes from resources stays unknown.
    ///
    /// # Errors
    /// [`ApkError::Manifest`] says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, ApkError> {
        Self::read_with(bytes, &[])
    }

    /// Reads a manifest in binary form with the app's resource table.
    ///
    /// # Errors
    /// [`ApkError::Manifest`] says what is wrong with it. A table that can't be read counts as empty.
    pub fn read_with(bytes: &[u8], table: &[u8]) -> Result<Self, ApkError> {
        let resources = resources::ResourceTable::read(table).unwrap_or_else(resources::ResourceTable::none);
        manifest_reader::read_manifest(&xml::read(bytes)?, &resources).map_err(ApkError::Manifest)
    }
}

/// `<permission>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionDefinition {
    /// Its name.
    pub name: String,
    /// `protectionLevel` as a number; 0 is `normal`.
    pub protection_level: i32,
    /// Whether it has a label and a description for the person who is asked.
    pub is_described: bool,
}

/// `<queries>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueriesElement {
    /// `<package>`.
    pub packages: Vec<String>,
    /// `<intent>`.
    pub intents: Vec<IntentFilter>,
    /// `<provider>`.
    pub authorities: Vec<String>,
}

/// What a component answers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntentFilter {
    /// `<action>`.
    pub actions: Vec<String>,
    /// `<category>`.
    pub categories: Vec<String>,
    /// `<data android:mimeType>`.
    pub mime_types: Vec<String>,
}

impl IntentFilter {
    /// Whether it names the type by which tools are found, with the action for it.
    #[must_use]
    pub fn is_mcp_type(&self) -> bool {
        self.actions.iter().any(|action| action == mcp::ACTION_VIEW)
            && self.mime_types.iter().any(|it| it == mcp::MIME_TYPE)
    }
}

/// A part of an app.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppComponent {
    /// Its class, with its package.
    pub class: String,
    /// Whether it is in use from the start.
    pub enabled: bool,
    /// What the manifest says of whether other apps may use it.
    pub exported_as_written: Option<bool>,
    /// Whether they may: as written, else by Android's rule for its kind.
    pub exported: bool,
    /// The permission that using it needs.
    pub permission: Option<String>,
    /// What it answers to.
    pub filters: Vec<IntentFilter>,
    /// `<meta-data>`, in its order.
    pub meta_data: Vec<(String, ManifestMetaData)>,
}

impl AppComponent {
    /// Whether one of its filters has an action.
    #[must_use]
    pub fn has_action(&self, action: &str) -> bool {
        self.filters.iter().any(|filter| filter.actions.iter().any(|known| known == action))
    }

    /// A value of its meta-data; the last of that name, as Android keeps it.
    #[must_use]
    pub fn meta(&self, name: &str) -> Option<&ManifestMetaData> {
        self.meta_data.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// `<provider>`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderElement {
    /// What all parts of an app have. Its permission is that for reading and writing, as written.
    pub component: AppComponent,
    /// `authorities` as written: several are joined by `;`.
    pub authorities: String,
    /// The permission that reading it needs.
    pub read_permission: Option<String>,
    /// The permission that writing it needs.
    pub write_permission: Option<String>,
    /// `initOrder`: the higher, the earlier.
    pub init_order: i32,
}

impl ProviderElement {
    /// Whether it is found as a tool of the dialect that goes by its MIME type.
    #[must_use]
    pub fn is_mcp_type(&self) -> bool {
        self.component.filters.iter().any(IntentFilter::is_mcp_type)
    }

    /// Its authorities, one by one.
    pub fn each_authority(&self) -> impl Iterator<Item = &str> {
        self.authorities.split(';').filter(|authority| !authority.is_empty())
    }
}

#[cfg(test)]
mod tests;
