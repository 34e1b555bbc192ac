//! Reads an app's manifest from its APK: the binary form of `AndroidManifest.xml`, with the values that it
//! takes from the app's resources. Android's defaults for missing values (whether a component is exported,
//! which permission it requires) are applied, so the result is what the phone sees.
//!
//! An APK is untrusted. Reading it never panics, and takes no more time or memory than the constants of the
//! submodules allow. Nothing here installs or runs anything.

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
    /// Package of the app.
    pub package: String,
    /// `versionCode`, if present.
    pub version_code: Option<i32>,
    /// Minimum API level; 1 if missing.
    pub min_sdk: u32,
    /// Target API level; the minimum one if missing.
    pub target_sdk: u32,
    /// Resolved label of the application; `None` if it has none or takes it from the system.
    pub label: Option<String>,
    /// Permissions that the app defines.
    pub permissions: Vec<PermissionDefinition>,
    /// Permissions that the app requests.
    pub uses_permissions: Vec<String>,
    /// Apps that the app wants to see.
    pub queries: QueriesElement,
    /// Activities and their aliases.
    pub activities: Vec<AppComponent>,
    /// Services.
    pub services: Vec<AppComponent>,
    /// Broadcast receivers.
    pub receivers: Vec<AppComponent>,
    /// Content providers.
    pub providers: Vec<ProviderElement>,
}

impl AppManifest {
    /// Reads a binary manifest alone; values from resources stay unknown.
    ///
    /// # Errors
    /// [`ApkError::Manifest`] if the manifest is invalid.
    pub fn read(bytes: &[u8]) -> Result<Self, ApkError> {
        Self::read_with(bytes, &[])
    }

    /// Reads a binary manifest with the app's resource table.
    ///
    /// # Errors
    /// [`ApkError::Manifest`] if the manifest is invalid. An unreadable table counts as empty.
    pub fn read_with(bytes: &[u8], table: &[u8]) -> Result<Self, ApkError> {
        let resources = resources::ResourceTable::read(table).unwrap_or_else(resources::ResourceTable::none);
        manifest_reader::read_manifest(&xml::read(bytes)?, &resources).map_err(ApkError::Manifest)
    }
}

/// A `<permission>` element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionDefinition {
    /// Name of the permission.
    pub name: String,
    /// `protectionLevel` as a number; 0 is `normal`.
    pub protection_level: i32,
    /// True if it has a label and a description for users.
    pub is_described: bool,
}

/// A `<queries>` element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueriesElement {
    /// Names of `<package>` elements.
    pub packages: Vec<String>,
    /// `<intent>` elements.
    pub intents: Vec<IntentFilter>,
    /// Authorities of `<provider>` elements.
    pub authorities: Vec<String>,
}

/// An `<intent-filter>` element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IntentFilter {
    /// `<action>` elements.
    pub actions: Vec<String>,
    /// `<category>` elements.
    pub categories: Vec<String>,
    /// Types in `<data android:mimeType>`.
    pub mime_types: Vec<String>,
}

impl IntentFilter {
    /// Returns true if it has the MIME type of tools with its action.
    #[must_use]
    pub fn is_mcp_type(&self) -> bool {
        self.actions.iter().any(|action| action == mcp::ACTION_VIEW)
            && self.mime_types.iter().any(|it| it == mcp::MIME_TYPE)
    }
}

/// A component of an app.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AppComponent {
    /// Class with its package.
    pub class: String,
    /// True if the component is enabled by default.
    pub enabled: bool,
    /// `exported` as written in the manifest.
    pub exported_as_written: Option<bool>,
    /// True if other apps may use it: as written, or by Android's default for its kind.
    pub exported: bool,
    /// Permission for using it.
    pub permission: Option<String>,
    /// Intent filters.
    pub filters: Vec<IntentFilter>,
    /// `<meta-data>` elements, in order.
    pub meta_data: Vec<(String, ManifestMetaData)>,
}

impl AppComponent {
    /// Returns true if one of its filters has this action.
    #[must_use]
    pub fn has_action(&self, action: &str) -> bool {
        self.filters.iter().any(|filter| filter.actions.iter().any(|known| known == action))
    }

    /// Returns a value of its meta-data. The last one with this name wins, as in Android.
    #[must_use]
    pub fn meta(&self, name: &str) -> Option<&ManifestMetaData> {
        self.meta_data.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// A `<provider>` element.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderElement {
    /// The common part. Its permission is that for reading and writing, as written.
    pub component: AppComponent,
    /// `authorities` as written, joined by `;`.
    pub authorities: String,
    /// Permission for reading.
    pub read_permission: Option<String>,
    /// Permission for writing.
    pub write_permission: Option<String>,
    /// `initOrder`: higher values start earlier.
    pub init_order: i32,
}

impl ProviderElement {
    /// Returns true if it is found by its MIME type as a tool.
    #[must_use]
    pub fn is_mcp_type(&self) -> bool {
        self.component.filters.iter().any(IntentFilter::is_mcp_type)
    }

    /// Returns its authorities one by one.
    pub fn each_authority(&self) -> impl Iterator<Item = &str> {
        self.authorities.split(';').filter(|authority| !authority.is_empty())
    }
}

#[cfg(test)]
mod tests;
