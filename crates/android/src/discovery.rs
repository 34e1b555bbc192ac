//! From what apps declare to the providers that may be asked, and those that are refused for what they declare.

use std::collections::BTreeMap;

use crate::bounds::{self, cut};
use crate::dialect::Dialect;
use crate::host::{AuthorityOwner, Declaration, Entry, HostError, MetaData};
use crate::note::Notes;
use crate::provider::{Provider, State};
use crate::version;

const AUTHORITY_HINT: &str = "write the authority of the app's own <provider> as a string";
const VERSION_HINT: &str = "android:value=\"1\" for the meta-data com.clawseed.tools.version";

/// The providers that these declarations stand for, sorted by authority. One authority is one provider: where it is
/// declared in several ways, CETP goes first.
///
/// # Errors
/// [`HostError`] where `resolve` has one.
pub fn declared(
    declarations: Vec<Declaration>,
    mut resolve: impl FnMut(&str) -> Result<Option<AuthorityOwner>, HostError>,
) -> Result<Vec<Provider>, HostError> {
    let mut found: BTreeMap<(String, String), Provider> = BTreeMap::new();
    let mut all: Vec<Provider> = declarations.into_iter().flat_map(of_declaration).collect();
    all.sort_by(|a, b| (a.dialect, &a.authority, &a.package).cmp(&(b.dialect, &b.authority, &b.package)));
    for provider in all {
        // Without an authority, or with another's, an entry is told from others by its package.
        let key = (provider.authority.clone(), provider.package.clone());
        match found.get_mut(&key) {
            Some(first) if provider.dialect != first.dialect => {
                let also = provider.dialect;
                first
                    .notes
                    .flag(None, format!("it is declared as {also} as well; {} is used", first.dialect));
            }
            Some(first) => first.notes.flag(None, "it is declared more than once"),
            None => {
                found.insert(key, provider);
            }
        }
    }
    let mut checked: Vec<Provider> = Vec::new();
    let mut of_package: BTreeMap<String, usize> = BTreeMap::new();
    for mut provider in found.into_values() {
        let count = of_package.entry(provider.package.clone()).or_default();
        *count += 1;
        if *count > bounds::PROVIDERS_OF_ONE {
            let first = checked.iter_mut().find(|first| first.package == provider.package);
            if let Some(first) = first.filter(|_| *count == bounds::PROVIDERS_OF_ONE + 1) {
                let reason = format!(
                    "its app declares more than {} providers; the others are not asked",
                    bounds::PROVIDERS_OF_ONE
                );
                first.notes.refuse(None, reason);
            }
            continue;
        }
        if checked.len() == bounds::PROVIDERS {
            break;
        }
        if !provider.is_declared_wrongly() {
            match resolve(&provider.authority)? {
                None => {
                    provider.state = State::refused(
                        "no provider serves its authority",
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

fn check(provider: &mut Provider, owner: AuthorityOwner) {
    if owner.package != provider.package {
        let other = cut(&owner.package, bounds::TEXT);
        provider.state = State::refused(
            format!("its authority belongs to another app, {other}"),
            "name an authority of the app's own <provider>",
        );
        return;
    }
    if !owner.exported {
        provider.state = State::refused(
            "its provider is not exported, so that no other app may call it",
            "android:exported=\"true\" on the <provider>",
        );
        return;
    }
    provider.permission = owner.read_permission.or(owner.write_permission);
}

fn of_declaration(declaration: Declaration) -> Vec<Provider> {
    let Declaration { package, label, certificate, exported, entry, .. } = declaration;
    let provider = |authority: String, dialect| Provider {
        package: package.clone(),
        label: label.as_deref().map(|label| cut(label, 200)),
        certificate: certificate.clone(),
        authority,
        dialect,
        version: None,
        permission: None,
        prefix: None,
        state: State::Unavailable { reason: "it has not been asked yet".to_owned() },
        info: None,
        tools: Vec::new(),
        notes: Notes::default(),
    };
    match entry {
        Entry::CetpService { authority, version } => {
            let mut notes = Notes::default();
            if !exported {
                notes.flag(None, "the service that it is found by is not exported");
            }
            let read = read_authority(authority).and_then(|authority| {
                let version = version::read(version.as_ref(), &mut notes);
                match version {
                    Ok(version) => Ok((authority, version)),
                    Err(reason) => Err((authority, reason, VERSION_HINT)),
                }
            });
            vec![match read {
                Ok((authority, version)) => {
                    Provider { version: Some(version), notes, ..provider(authority, Dialect::Cetp) }
                }
                Err((authority, reason, hint)) => {
                    let state = State::refused(reason, hint);
                    Provider { state, notes, ..provider(authority, Dialect::Cetp) }
                }
            }]
        }
        Entry::McpMimeType { authorities } => each(&authorities, |one| provider(one, Dialect::McpA)),
        Entry::McpAction { authorities } => each(&authorities, |one| provider(one, Dialect::McpB)),
    }
}

/// What there is of an authority that can't be used, why it can't, and what to do.
type Unusable = (String, String, &'static str);

/// An authority that is usable.
fn read_authority(value: Option<MetaData>) -> Result<String, Unusable> {
    let unusable = |reason: String| Err((String::new(), reason, AUTHORITY_HINT));
    let text = match value {
        None => return unusable("it does not say its authority".to_owned()),
        Some(MetaData::Text(text)) => text.trim().to_owned(),
        // The compiler takes an authority of digits for a number.
        Some(MetaData::Int(number)) => number.to_string(),
        Some(MetaData::Float(number)) => return unusable(format!("its authority is a number, {number}")),
        Some(MetaData::Boolean(value)) => return unusable(format!("its authority is a boolean, {value}")),
        Some(MetaData::Other(what)) => {
            return unusable(format!("its authority can't be read: {}", cut(&what, bounds::TEXT)));
        }
    };
    usable(&text)?;
    Ok(text)
}

fn usable(authority: &str) -> Result<(), Unusable> {
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

fn each(authorities: &str, provider: impl Fn(String) -> Provider) -> Vec<Provider> {
    authorities
        .split(';')
        .map(|authority| match usable(authority.trim()) {
            Ok(()) => provider(authority.trim().to_owned()),
            Err((authority, reason, hint)) => {
                Provider { state: State::refused(reason, hint), ..provider(authority) }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
