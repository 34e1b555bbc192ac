//! Converts the XML elements of a manifest to their meaning. Attributes are identified by resource id, as in
//! Android: their names may be anything.

use super::ManifestMetaData;
use super::resources::ResourceTable;
use super::value::ResourceValue;
use super::xml::{XmlAttribute, XmlElement};
use super::{AppComponent, AppManifest, IntentFilter, PermissionDefinition, ProviderElement, QueriesElement};

/// Ids of the platform's attributes (`android.R.attr`), which never change.
mod attr {
    pub(super) const LABEL: u32 = 0x0101_0001;
    pub(super) const NAME: u32 = 0x0101_0003;
    pub(super) const PERMISSION: u32 = 0x0101_0006;
    pub(super) const READ_PERMISSION: u32 = 0x0101_0007;
    pub(super) const WRITE_PERMISSION: u32 = 0x0101_0008;
    pub(super) const PROTECTION_LEVEL: u32 = 0x0101_0009;
    pub(super) const ENABLED: u32 = 0x0101_000e;
    pub(super) const EXPORTED: u32 = 0x0101_0010;
    pub(super) const AUTHORITIES: u32 = 0x0101_0018;
    pub(super) const INIT_ORDER: u32 = 0x0101_001a;
    pub(super) const DESCRIPTION: u32 = 0x0101_0020;
    pub(super) const VALUE: u32 = 0x0101_0024;
    pub(super) const RESOURCE: u32 = 0x0101_0025;
    pub(super) const MIME_TYPE: u32 = 0x0101_0026;
    pub(super) const MIN_SDK: u32 = 0x0101_020c;
    pub(super) const VERSION_CODE: u32 = 0x0101_021b;
    pub(super) const TARGET_SDK: u32 = 0x0101_0270;
}

/// API level from which providers are exported only if the manifest says so.
const PROVIDERS_PRIVATE_SINCE: u32 = 17;
/// Maximum number of references that are resolved in one manifest; further ones count as unresolved.
const MAX_REFERENCES: usize = 500;

/// Returns true if anything in it refers to resources.
pub(super) fn has_references(element: &XmlElement) -> bool {
    element.attributes.iter().any(|attribute| attribute.value.is_reference())
        || element.children.iter().any(has_references)
}

/// Reads a manifest, or returns the problem.
pub(super) fn read_manifest(root: &XmlElement, resources: &ResourceTable<'_>) -> Result<AppManifest, String> {
    if root.name != "manifest" {
        return Err("the root element is not <manifest>".to_owned());
    }
    let package = root.attributes.iter().find(|it| it.name == "package").and_then(|it| it.text.clone());
    let package = package.filter(|it| !it.is_empty()).ok_or("the package name is missing")?;
    let mut reader = ManifestReader { resources, package, references: 0 };
    Ok(reader.manifest(root))
}

struct ManifestReader<'a> {
    resources: &'a ResourceTable<'a>,
    package: String,
    references: usize,
}

impl ManifestReader<'_> {
    fn manifest(&mut self, root: &XmlElement) -> AppManifest {
        let mut manifest = AppManifest { package: self.package.clone(), ..AppManifest::default() };
        manifest.version_code = self.int(root, attr::VERSION_CODE);
        let sdk = root.named("uses-sdk").last();
        let level = |it: Option<i32>| it.and_then(|level| u32::try_from(level).ok());
        manifest.min_sdk = sdk.and_then(|sdk| level(self.int(sdk, attr::MIN_SDK))).unwrap_or(1);
        manifest.target_sdk =
            sdk.and_then(|sdk| level(self.int(sdk, attr::TARGET_SDK))).unwrap_or(manifest.min_sdk);
        for child in &root.children {
            match child.name.as_str() {
                "permission" => manifest.permissions.extend(self.permission(child)),
                "uses-permission" | "uses-permission-sdk-23" => {
                    manifest.uses_permissions.extend(self.text(child, attr::NAME));
                }
                "queries" => self.queries(child, &mut manifest.queries),
                _ => {}
            }
        }
        if let Some(application) = root.named("application").next() {
            self.application(application, &mut manifest);
        }
        manifest
    }

    fn permission(&mut self, element: &XmlElement) -> Option<PermissionDefinition> {
        Some(PermissionDefinition {
            name: self.text(element, attr::NAME)?,
            protection_level: self.int(element, attr::PROTECTION_LEVEL).unwrap_or_default(),
            is_described: element.attribute(attr::LABEL).is_some()
                && element.attribute(attr::DESCRIPTION).is_some(),
        })
    }

    fn queries(&mut self, element: &XmlElement, queries: &mut QueriesElement) {
        for child in &element.children {
            match child.name.as_str() {
                "package" => queries.packages.extend(self.text(child, attr::NAME)),
                "intent" => queries.intents.push(self.filter(child)),
                "provider" => queries.authorities.extend(self.text(child, attr::AUTHORITIES)),
                _ => {}
            }
        }
    }

    fn application(&mut self, application: &XmlElement, manifest: &mut AppManifest) {
        manifest.label = self.text(application, attr::LABEL);
        let permission = self.text(application, attr::PERMISSION).filter(|it| !it.is_empty());
        let enabled = self.boolean(application, attr::ENABLED).unwrap_or(true);
        for child in &application.children {
            let list = match child.name.as_str() {
                "activity" | "activity-alias" => &mut manifest.activities,
                "service" => &mut manifest.services,
                "receiver" => &mut manifest.receivers,
                "provider" => {
                    let provider = self.provider(child, permission.as_deref(), manifest.target_sdk);
                    manifest.providers.extend(provider.map(|mut provider| {
                        provider.component.enabled &= enabled;
                        provider
                    }));
                    continue;
                }
                _ => continue,
            };
            if let Some(mut component) = self.component(child, permission.as_deref()) {
                component.enabled &= enabled;
                // By default, a component with a filter is exported.
                component.exported = component.exported_as_written.unwrap_or(!component.filters.is_empty());
                list.push(component);
            }
        }
    }

    fn component(&mut self, element: &XmlElement, inherited: Option<&str>) -> Option<AppComponent> {
        let exported_as_written = self.boolean(element, attr::EXPORTED);
        let permission = self.text(element, attr::PERMISSION);
        Some(AppComponent {
            class: self.class(&self.text_of(element, attr::NAME)?),
            enabled: self.boolean(element, attr::ENABLED).unwrap_or(true),
            exported_as_written,
            exported: exported_as_written.unwrap_or_default(),
            permission: or_inherited(permission, inherited),
            filters: element.named("intent-filter").map(|filter| self.filter(filter)).collect(),
            meta_data: element.named("meta-data").filter_map(|meta| self.meta(meta)).collect(),
        })
    }

    fn provider(
        &mut self,
        element: &XmlElement,
        inherited: Option<&str>,
        target: u32,
    ) -> Option<ProviderElement> {
        let mut component = self.component(element, None)?;
        component.exported = component.exported_as_written.unwrap_or(target < PROVIDERS_PRIVATE_SINCE);
        let both = self.text(element, attr::PERMISSION);
        let read = self.text(element, attr::READ_PERMISSION).or_else(|| both.clone());
        let write = self.text(element, attr::WRITE_PERMISSION).or(both);
        Some(ProviderElement {
            component,
            authorities: self.text(element, attr::AUTHORITIES).unwrap_or_default(),
            read_permission: or_inherited(read, inherited),
            write_permission: or_inherited(write, inherited),
            init_order: self.int(element, attr::INIT_ORDER).unwrap_or_default(),
        })
    }

    fn filter(&mut self, element: &XmlElement) -> IntentFilter {
        let mut filter = IntentFilter::default();
        for child in &element.children {
            match child.name.as_str() {
                "action" => filter.actions.extend(self.text(child, attr::NAME)),
                "category" => filter.categories.extend(self.text(child, attr::NAME)),
                "data" => filter.mime_types.extend(self.text(child, attr::MIME_TYPE)),
                _ => {}
            }
        }
        filter
    }

    /// Reads meta-data like `PackageParser.parseMetaData`: a resource as its id, a value with its resolved
    /// type.
    fn meta(&mut self, element: &XmlElement) -> Option<(String, ManifestMetaData)> {
        let name = self.text(element, attr::NAME)?;
        if let Some(resource) = element.attribute(attr::RESOURCE).filter(|it| it.value.is_reference()) {
            return Some((name, ManifestMetaData::Int(resource.value.data.cast_signed())));
        }
        let value = match self.value(element.attribute(attr::VALUE)?)? {
            ResourceValue::Text(text) => ManifestMetaData::Text(text),
            ResourceValue::Int(number) => ManifestMetaData::Int(number),
            ResourceValue::Float(number) => ManifestMetaData::Float(number),
            ResourceValue::Boolean(is) => ManifestMetaData::Boolean(is),
            ResourceValue::Reference(id) => {
                ManifestMetaData::Other(format!("the resource @{id:#010x}, which is not in the app"))
            }
            ResourceValue::Other(kind) => ManifestMetaData::Other(format!("a value of type {kind:#04x}")),
        };
        Some((name, value))
    }

    /// Returns an attribute's value with references resolved.
    fn value(&mut self, attribute: &XmlAttribute) -> Option<ResourceValue> {
        if attribute.value.is_reference() {
            self.references += 1;
            let id = attribute.value.data;
            let followed = self.references <= MAX_REFERENCES;
            return Some(if followed { self.resources.resolve(id) } else { ResourceValue::Reference(id) });
        }
        ResourceValue::of(attribute.value, |_| attribute.text.clone())
    }

    fn text(&mut self, element: &XmlElement, id: u32) -> Option<String> {
        match self.value(element.attribute(id)?)? {
            ResourceValue::Text(text) => Some(text),
            ResourceValue::Int(number) => Some(number.to_string()),
            ResourceValue::Boolean(is) => Some(is.to_string()),
            ResourceValue::Float(number) => Some(number.to_string()),
            ResourceValue::Reference(_) | ResourceValue::Other(_) => None,
        }
    }

    /// Returns an attribute's text. Class names can't refer to resources.
    fn text_of(&self, element: &XmlElement, id: u32) -> Option<String> {
        element.attribute(id)?.text.clone().filter(|text| !text.is_empty())
    }

    fn int(&mut self, element: &XmlElement, id: u32) -> Option<i32> {
        match self.value(element.attribute(id)?)? {
            ResourceValue::Int(number) => Some(number),
            ResourceValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn boolean(&mut self, element: &XmlElement, id: u32) -> Option<bool> {
        match self.value(element.attribute(id)?)? {
            ResourceValue::Boolean(is) => Some(is),
            ResourceValue::Int(number) => Some(number != 0),
            ResourceValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the full class name: `.Name` and `Name` are within the app's package.
    fn class(&self, name: &str) -> String {
        match name.find('.') {
            Some(0) => format!("{}{name}", self.package),
            None => format!("{}.{name}", self.package),
            Some(_) => name.to_owned(),
        }
    }
}

/// Returns the permission of a component, by default that of the application; an empty one means none.
fn or_inherited(own: Option<String>, inherited: Option<&str>) -> Option<String> {
    match own {
        Some(own) => Some(own).filter(|own| !own.is_empty()),
        None => inherited.map(str::to_owned),
    }
}
