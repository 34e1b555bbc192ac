//! From what apps declare to the providers that may be asked.

use std::collections::BTreeMap;

use crate::bounds::{self, cut};
use crate::dialect::Dialect;
use crate::host::{AuthorityOwner, Declaration, Entry, HostError, MetaData};
use crate::note::Notes;
use crate::version;

/// A declared provider: one authority in one dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The app.
    pub package: String,
    /// Its label.
    pub label: Option<String>,
    /// Who signed it.
    pub certificate: Option<String>,
    /// The authority; empty where none is declared.
    pub authority: String,
    /// The dialect, as far as the entry tells it: B where it may be C.
    pub dialect: Dialect,
    /// The version of CETP.
    pub version: Option<u32>,
    /// The permission that calling it needs.
    pub permission: Option<String>,
    /// Why it is not asked at all.
    pub refused: Option<String>,
    /// What was noticed.
    pub notes: Notes,
}

/// The providers that these declarations stand for, sorted by authority. One authority is one provider: where it is
/// declared in several ways, CETP goes first.
///
/// # Errors
/// [`HostError`] where `resolve` has one.
pub fn candidates(
    declarations: Vec<Declaration>,
    mut resolve: impl FnMut(&str) -> Result<Option<AuthorityOwner>, HostError>,
) -> Result<Vec<Candidate>, HostError> {
    let mut found: BTreeMap<(String, String), Candidate> = BTreeMap::new();
    let mut all: Vec<Candidate> = declarations.into_iter().flat_map(of_declaration).collect();
    all.sort_by(|a, b| (a.dialect, &a.authority, &a.package).cmp(&(b.dialect, &b.authority, &b.package)));
    for candidate in all {
        // Without an authority, or with another's, an entry is told from others by its package.
        let key = (candidate.authority.clone(), candidate.package.clone());
        match found.get_mut(&key) {
            Some(first) if candidate.dialect != first.dialect => {
                let also = candidate.dialect;
                first
                    .notes
                    .flag(None, format!("it is declared as {also} as well; {} is used", first.dialect));
            }
            Some(first) => first.notes.flag(None, "it is declared more than once"),
            None => {
                found.insert(key, candidate);
            }
        }
    }
    let mut checked = Vec::new();
    for mut candidate in found.into_values() {
        if candidate.refused.is_none() {
            match resolve(&candidate.authority)? {
                None => candidate.refused = Some("no provider serves its authority".to_owned()),
                Some(owner) => check(&mut candidate, owner),
            }
        }
        checked.push(candidate);
    }
    Ok(checked)
}

fn check(candidate: &mut Candidate, owner: AuthorityOwner) {
    if owner.package != candidate.package {
        candidate.refused =
            Some(format!("its authority belongs to another app, {}", cut(&owner.package, bounds::TEXT)));
        return;
    }
    if !owner.exported {
        candidate.refused = Some("its provider is not exported, so that no other app may call it".to_owned());
        return;
    }
    candidate.permission = owner.read_permission.or(owner.write_permission);
}

fn of_declaration(declaration: Declaration) -> Vec<Candidate> {
    let Declaration { package, label, certificate, exported, entry, .. } = declaration;
    let candidate = |authority: String, dialect| Candidate {
        package: package.clone(),
        label: label.as_deref().map(|label| cut(label, 200)),
        certificate: certificate.clone(),
        authority,
        dialect,
        version: None,
        permission: None,
        refused: None,
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
                    Err(reason) => Err((authority, reason)),
                }
            });
            vec![match read {
                Ok((authority, version)) => {
                    Candidate { version: Some(version), notes, ..candidate(authority, Dialect::Cetp) }
                }
                Err((authority, reason)) => {
                    Candidate { refused: Some(reason), notes, ..candidate(authority, Dialect::Cetp) }
                }
            }]
        }
        Entry::McpMimeType { authorities } => each(&authorities, |one| candidate(one, Dialect::McpA)),
        Entry::McpAction { authorities } => each(&authorities, |one| candidate(one, Dialect::McpB)),
    }
}

/// An authority that is usable, or what there is of one and why it is not.
fn read_authority(value: Option<MetaData>) -> Result<String, (String, String)> {
    let text = match value {
        None => return Err((String::new(), "it does not say its authority".to_owned())),
        Some(MetaData::Text(text)) => text.trim().to_owned(),
        // The compiler takes an authority of digits for a number.
        Some(MetaData::Int(number)) => number.to_string(),
        Some(MetaData::Float(_) | MetaData::Boolean(_) | MetaData::Other(_)) => {
            return Err((String::new(), "its authority is not a string".to_owned()));
        }
    };
    usable(&text)?;
    Ok(text)
}

fn usable(authority: &str) -> Result<(), (String, String)> {
    let reason = if authority.is_empty() {
        "its authority is empty"
    } else if authority.chars().count() > 255 {
        "its authority is longer than 255 characters"
    } else if !authority.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')) {
        "its authority has characters other than letters, digits, '.', '_' and '-'"
    } else {
        return Ok(());
    };
    Err((cut(authority, 255), reason.to_owned()))
}

fn each(authorities: &str, candidate: impl Fn(String) -> Candidate) -> Vec<Candidate> {
    authorities
        .split(';')
        .map(|authority| match usable(authority.trim()) {
            Ok(()) => candidate(authority.trim().to_owned()),
            Err((authority, reason)) => Candidate { refused: Some(reason), ..candidate(authority) },
        })
        .collect()
}

#[cfg(test)]
mod tests;
