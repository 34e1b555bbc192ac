//! Converts declarations of apps to providers, and refuses those with an invalid declaration.

use std::collections::BTreeMap;

use crate::bounds::{self, cut};
use crate::dialect::ProviderDialect;
use crate::host::{AuthorityOwner, DeclarationEntry, HostError, ManifestMetaData, ProviderDeclaration};
use crate::note::ProviderNotes;
use crate::provider::{ProviderState, ToolProvider};
use crate::version;

const AUTHORITY_HINT: &str = "use the authority of a <provider> in this app, as a string";
const VERSION_HINT: &str = "set android:value=\"1\" for the meta-data com.clawseed.tools.version";

/// Returns the declared providers, sorted by authority. One authority is one provider; if it is declared in
/// several ways, CETP is preferred.
///
/// # Errors
/// [`HostError`] if `resolve` fails.
pub fn declared_providers(
    declarations: Vec<ProviderDeclaration>,
    mut resolve: impl FnMut(&str) -> Result<Option<AuthorityOwner>, HostError>,
) -> Result<Vec<ToolProvider>, HostError> {
    let mut found: BTreeMap<(String, String), ToolProvider> = BTreeMap::new();
    let mut all: Vec<ToolProvider> = declarations.into_iter().flat_map(of_declaration).collect();
    all.sort_by(|a, b| (a.dialect, &a.authority, &a.package).cmp(&(b.dialect, &b.authority, &b.package)));
    for provider in all {
        // Without a valid authority, entries are distinguished by package.
        let key = (provider.authority.clone(), provider.package.clone());
        match found.get_mut(&key) {
            Some(first) if provider.dialect != first.dialect => {
                let also = provider.dialect;
                first.notes.flag(None, format!("it is also declared as {also}; {} is used", first.dialect));
            }
            Some(first) => first.notes.flag(None, "it is declared more than once"),
            None => {
                found.insert(key, provider);
            }
        }
    }
    let mut checked: Vec<ToolProvider> = Vec::new();
    let mut of_package: BTreeMap<String, usize> = BTreeMap::new();
    for mut provider in found.into_values() {
        let count = of_package.entry(provider.package.clone()).or_default();
        *count += 1;
        if *count > bounds::PROVIDERS_OF_ONE {
            let first = checked.iter_mut().find(|first| first.package == provider.package);
            if let Some(first) = first.filter(|_| *count == bounds::PROVIDERS_OF_ONE + 1) {
                let reason = format!(
                    "its app declares more than {} providers; the others are ignored",
                    bounds::PROVIDERS_OF_ONE
                );
                first.notes.refuse(None, reason);
            }
            continue;
        }
        if checked.len() == bounds::PROVIDERS {
            break;
        }
        if !provider.has_invalid_declaration() {
            match resolve(&provider.authority)? {
                None => {
                    provider.state = ProviderState::refused(
                        "its authority has no <provider>",
                        "declare a <provider> with exactly this authority in the same app, and enable it",
                    );
                }
                Some(owner) => check(&mut provider, owner),
            }
        }
        checked.push(provider);
    }
    Ok(checked)
}

fn check(provider: &mut ToolProvider, owner: AuthorityOwner) {
    if owner.package != provider.package {
        let other = cut(&owner.package, bounds::TEXT);
        provider.state = ProviderState::refused(
            format!("its authority belongs to another app, {other}"),
            "use the authority of a <provider> in this app",
        );
        return;
    }
    if !owner.exported {
        provider.state = ProviderState::refused(
            "its provider is not exported, so other apps can't call it",
            "add android:exported=\"true\" to the <provider>",
        );
        return;
    }
    provider.permission = owner.read_permission.or(owner.write_permission);
}

fn of_declaration(declaration: ProviderDeclaration) -> Vec<ToolProvider> {
    let ProviderDeclaration { package, label, certificate, exported, entry, .. } = declaration;
    let provider = |authority: String, dialect| ToolProvider {
        package: package.clone(),
        label: label.as_deref().map(|label| cut(label, 200)),
        certificate: certificate.clone(),
        authority,
        dialect,
        version: None,
        permission: None,
        prefix: None,
        tool_prefixes: BTreeMap::new(),
        state: ProviderState::Unavailable { reason: "not scanned yet".to_owned() },
        info: None,
        tools: Vec::new(),
        notes: ProviderNotes::default(),
    };
    match entry {
        DeclarationEntry::CetpService { authority, version } => {
            let mut notes = ProviderNotes::default();
            if !exported {
                notes.flag(None, "its <service> is not exported");
            }
            let read = read_authority(authority).and_then(|authority| {
                let version = version::read(version.as_ref(), &mut notes);
                match version {
                    Ok(version) => Ok((authority, version)),
                    Err(reason) => Err((authority, reason, VERSION_HINT)),
                }
            });
            vec![match read {
                Ok((authority, version)) => ToolProvider {
                    version: Some(version),
                    notes,
                    ..provider(authority, ProviderDialect::Cetp)
                },
                Err((authority, reason, hint)) => {
                    let state = ProviderState::refused(reason, hint);
                    ToolProvider { state, notes, ..provider(authority, ProviderDialect::Cetp) }
                }
            }]
        }
        DeclarationEntry::McpMimeType { authorities } => {
            one_per_authority(&authorities, |one| provider(one, ProviderDialect::McpA))
        }
        DeclarationEntry::McpAction { authorities } => {
            one_per_authority(&authorities, |one| provider(one, ProviderDialect::McpB))
        }
    }
}

/// The invalid authority, the problem, and a hint.
type UnusableAuthority = (String, String, &'static str);

/// Checks an authority.
fn read_authority(value: Option<ManifestMetaData>) -> Result<String, UnusableAuthority> {
    let unusable = |reason: String| Err((String::new(), reason, AUTHORITY_HINT));
    let text = match value {
        None => return unusable("its authority is missing".to_owned()),
        Some(ManifestMetaData::Text(text)) => text.trim().to_owned(),
        // The compiler converts an authority of digits to a number.
        Some(ManifestMetaData::Int(number)) => number.to_string(),
        Some(ManifestMetaData::Float(number)) => {
            return unusable(format!("its authority is a number, {number}"));
        }
        Some(ManifestMetaData::Boolean(value)) => {
            return unusable(format!("its authority is a boolean, {value}"));
        }
        Some(ManifestMetaData::Other(what)) => {
            return unusable(format!("its authority can't be read: {}", cut(&what, bounds::TEXT)));
        }
    };
    check_authority(&text)?;
    Ok(text)
}

fn check_authority(authority: &str) -> Result<(), UnusableAuthority> {
    let reason = if authority.is_empty() {
        "its authority is empty"
    } else if authority.chars().count() > 255 {
        "its authority is longer than 255 characters"
    } else if !authority.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')) {
        "its authority has characters other than letters, digits, '.', '_' and '-'"
    } else {
        return Ok(());
    };
    Err((cut(authority, 255), reason.to_owned(), AUTHORITY_HINT))
}

fn one_per_authority(authorities: &str, provider: impl Fn(String) -> ToolProvider) -> Vec<ToolProvider> {
    authorities
        .split(';')
        .map(|authority| match check_authority(authority.trim()) {
            Ok(()) => provider(authority.trim().to_owned()),
            Err((authority, reason, hint)) => {
                ToolProvider { state: ProviderState::refused(reason, hint), ..provider(authority) }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
