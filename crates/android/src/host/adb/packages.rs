//! Parses the output of the phone's package manager.
//!
//! Facts (`PackageManagerShellCommand.java`, `ComponentResolver.java`, `PermissionManagerService.java` of the
//! platform): `cmd package query-services --components` prints one component per line, or `No services
//! found`; `query-activities` likewise. There is no such command for content providers, but `dumpsys package resolvers content` lists
//! their filters. Neither prints meta-data. `pm list packages -f` prints the path of an app's APK, which
//! changes with each installation. Classes within the app's package are abbreviated to `.Name`.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of rows that are read; phones have some hundreds of packages.
const MAX_ROWS: usize = 50_000;

/// Name of an app's component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ComponentName {
    pub(super) package: String,
    pub(super) class: String,
}

impl ComponentName {
    /// Parses `package/class` or `package/.Class`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (package, class) = text.split_once('/')?;
        let is_name = |text: &str| {
            !text.is_empty()
                && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-'))
        };
        if !is_name(package) || !is_name(class) {
            return None;
        }
        let class = if class.starts_with('.') { format!("{package}{class}") } else { class.to_owned() };
        Some(Self { package: package.to_owned(), class })
    }
}

/// An installed app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstalledApp {
    /// Path of its APK, or of the base APK if there are several.
    pub(super) path: String,
    /// Version code as text.
    pub(super) version: String,
}

/// Parses `pm list packages -f --show-versioncode`: lines of `package:PATH=NAME versionCode:NUMBER`.
pub(super) fn installed(text: &str) -> BTreeMap<String, InstalledApp> {
    let row = |line: &str| {
        let mut words = line.trim().strip_prefix("package:")?.split(' ');
        // Paths may contain `=`, package names may not.
        let (path, package) = words.next()?.rsplit_once('=')?;
        let version = words.find_map(|word| word.strip_prefix("versionCode:")).unwrap_or_default();
        let installed = InstalledApp { path: path.to_owned(), version: version.to_owned() };
        Some((package.to_owned(), installed))
    };
    text.lines().take(MAX_ROWS).filter_map(row).collect()
}

/// Parses `cmd package query-services --components` or `query-activities --components`.
pub(super) fn components(text: &str) -> BTreeSet<ComponentName> {
    text.lines().take(MAX_ROWS).filter_map(|line| ComponentName::parse(line.trim())).collect()
}

/// Parses `dumpsys package resolvers content`: the providers under these titles, which are actions or types.
pub(super) fn resolvers(text: &str, titles: &[&str]) -> BTreeSet<ComponentName> {
    let mut found = BTreeSet::new();
    let mut is_wanted = false;
    for line in text.lines().take(MAX_ROWS) {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        match words.as_slice() {
            [title] if title.ends_with(':') => {
                is_wanted = titles.contains(&title.trim_end_matches(':'));
            }
            // A number, the component, `filter` and another number.
            [_, component, ..] if is_wanted => found.extend(ComponentName::parse(component)),
            _ => {}
        }
    }
    found
}

/// Parses `dumpsys package providers`: the component of each authority.
pub(super) fn authorities(text: &str) -> BTreeMap<String, ComponentName> {
    let mut served = BTreeMap::new();
    let mut lines =
        text.lines().take(MAX_ROWS).skip_while(|line| line.trim() != "ContentProvider Authorities:");
    lines.next();
    let mut authority: Option<&str> = None;
    for line in lines {
        let line = line.trim();
        if let Some(named) = line.strip_prefix('[').and_then(|line| line.strip_suffix("]:")) {
            authority = Some(named);
        } else if let Some(provider) = line.strip_prefix("Provider{").and_then(|line| line.strip_suffix('}'))
        {
            let component = provider.split(' ').nth(1).and_then(ComponentName::parse);
            if let (Some(authority), Some(component)) = (authority.take(), component) {
                served.entry(authority.to_owned()).or_insert(component);
            }
        }
    }
    served
}

/// The app that defines a permission, and the protection level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionOwner {
    /// Package of the app.
    pub package: String,
    /// Protection level: `normal`, `dangerous` or `signature`, with its flags.
    pub protection: String,
}

/// Parses `dumpsys package permission NAME`: the block of that name, not of others that may follow.
pub(super) fn permission(text: &str, name: &str) -> Option<PermissionOwner> {
    let title = format!("Permission [{name}]");
    let mut lines = text.lines().take(MAX_ROWS).map(str::trim).skip_while(|line| !line.starts_with(&title));
    lines.next()?;
    let (mut package, mut protection) = (None, String::new());
    for line in lines.take_while(|line| !line.starts_with("Permission [") && !line.is_empty()) {
        for word in line.split(' ') {
            if let Some(source) = word.strip_prefix("sourcePackage=") {
                package = Some(source.to_owned());
            } else if let Some(level) = word.strip_prefix("prot=") {
                level.clone_into(&mut protection);
            }
        }
    }
    let package = package.filter(|package| !package.is_empty() && package != "null")?;
    Some(PermissionOwner { package, protection })
}

#[cfg(test)]
mod tests;
