//! Names of providers, which prefix their tools on this phone: `name__tool`. Grants refer to names, so a name
//! stays with its app and signer, even while the app is uninstalled, and is never reused for another one.
//!
//! Each provider has a name of its own. Several providers of one app share the app's plain name, and use their
//! own names only for tools that another one of them has too (see [`crate::prefixes`]).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolway_types::text::hex;

/// Maximum length of a name without a hash suffix, in characters.
const MAX_NAME_LENGTH: usize = 32;
/// Maximum number of remembered names, including those of uninstalled apps.
pub const MAX_REMEMBERED: usize = 4_096;
/// Name for an app whose label and package are both unusable.
const DEFAULT_NAME: &str = "app";

/// Owner of a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NameOwner {
    /// Package of the app.
    pub package: String,
    /// Authority; an app may have several.
    pub authority: String,
    /// Certificate of the app's signer; `None` if the host can't determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// A request for a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameClaim {
    /// The future owner.
    pub owner: NameOwner,
    /// Label of the app, from which the name is derived.
    pub label: Option<String>,
    /// True if it speaks CETP. If an app offers its tools in several dialects, this one gets the name without
    /// a suffix.
    pub is_cetp: bool,
}

/// A name with its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GivenName {
    #[serde(flatten)]
    owner: NameOwner,
    /// Name of another provider of the same app and kind, for the tools that no other one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<String>,
}

/// The names that were given, as they are stored between starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderNames(BTreeMap<String, GivenName>);

impl ProviderNames {
    /// Returns the name of an owner, if it has one.
    #[must_use]
    pub fn get(&self, owner: &NameOwner) -> Option<&str> {
        self.entry(owner).map(|(name, _)| name)
    }

    /// Returns the name of another provider of the same app that an owner shares, if it shares one.
    #[must_use]
    pub fn shared(&self, owner: &NameOwner) -> Option<&str> {
        self.entry(owner)?.1.shared.as_deref()
    }

    fn entry(&self, owner: &NameOwner) -> Option<(&str, &GivenName)> {
        self.0.iter().find(|(_, known)| known.owner == *owner).map(|(name, known)| (name.as_str(), known))
    }

    /// Gives a name to each owner without one. Returns true if any was given. The names depend on the owners
    /// and on earlier names, never on the order of the claims: if several apps request the same name, or it
    /// belongs to another one, each gets it with a hash of package and authority as a suffix. Among several
    /// authorities of one app, one gets it without a suffix: one that speaks CETP if there is any, and the first
    /// in alphabetical order. The others of the same kind (CETP, or a dialect whose tools may act) share it.
    /// Above [`MAX_REMEMBERED`] no names are given, nor to apps with an unknown signer: another signer could
    /// take over such a name.
    pub fn assign(&mut self, claims: &[NameClaim]) -> bool {
        let known: BTreeSet<NameOwner> = self.0.values().map(|known| known.owner.clone()).collect();
        let kinds: BTreeMap<&NameOwner, bool> =
            claims.iter().map(|claim| (&claim.owner, claim.is_cetp)).collect();
        let mut new: BTreeMap<&NameOwner, (String, bool)> = BTreeMap::new();
        for NameClaim { owner, label, is_cetp } in claims {
            if owner.certificate.is_some() && !known.contains(owner) {
                new.entry(owner).or_insert_with(|| (plain(label.as_deref(), &owner.package), *is_cetp));
            }
        }
        let mut wanting: BTreeMap<&str, Vec<(&NameOwner, bool)>> = BTreeMap::new();
        for (owner, (plain, is_cetp)) in &new {
            wanting.entry(plain).or_default().push((owner, *is_cetp));
        }
        let heirs: BTreeMap<&str, &NameOwner> = wanting
            .iter()
            .filter_map(|(plain, wanting)| Some((*plain, unmarked_owner(wanting)?)))
            .filter(|(plain, _)| !self.0.contains_key(*plain))
            .collect();
        let mut changed = false;
        for (owner, (plain, is_cetp)) in &new {
            if self.0.len() >= MAX_REMEMBERED {
                break;
            }
            let heir = heirs.get(plain.as_str()).copied();
            let (name, shared) = if heir == Some(*owner) {
                (plain.clone(), None)
            } else {
                let holder = heir.or_else(|| self.0.get(plain).map(|known| &known.owner));
                let shares = holder.is_some_and(|holder| {
                    holder.package == owner.package
                        && holder.certificate == owner.certificate
                        && kinds.get(holder) == Some(is_cetp)
                });
                (self.name_with_hash(plain, owner), shares.then(|| plain.clone()))
            };
            self.0.insert(name, GivenName { owner: (*owner).clone(), shared });
            changed = true;
        }
        changed
    }

    /// Returns the name with a suffix, a longer one if it is taken, for example by an earlier certificate of
    /// the same app.
    fn name_with_hash(&self, plain: &str, owner: &NameOwner) -> String {
        let certificate = owner.certificate.as_deref().unwrap_or_default();
        let mut mark = hash(&[&owner.package, &owner.authority]);
        let mut name = format!("{plain}_{}", short(&mark));
        while self.0.contains_key(&name) {
            mark = hash(&[&mark, certificate]);
            name = format!("{plain}_{}", short(&mark));
        }
        name
    }
}

/// Returns the owner that gets the name without a suffix: none if several apps want it.
fn unmarked_owner<'a>(wanting: &[(&'a NameOwner, bool)]) -> Option<&'a NameOwner> {
    let (first, _) = wanting.first()?;
    let is_one_app = wanting
        .iter()
        .all(|(owner, _)| owner.package == first.package && owner.certificate == first.certificate);
    if !is_one_app {
        return None;
    }
    let cetp = wanting.iter().find(|(_, is_cetp)| *is_cetp);
    Some(cetp.map_or(*first, |(owner, _)| *owner))
}

/// Returns an app's name without suffix: from its label, or from the last part of its package.
#[must_use]
pub fn plain(label: Option<&str>, package: &str) -> String {
    let last = package.rsplit('.').next().unwrap_or_default();
    [label.unwrap_or_default(), last]
        .iter()
        .map(|text| normalize(text))
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| DEFAULT_NAME.to_owned())
}

/// Returns the text in lower case, with `_` for each run of characters other than `a-z0-9`, except at the
/// ends.
fn normalize(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        if name.len() == MAX_NAME_LENGTH {
            break;
        }
    }
    name.truncate(name.trim_end_matches('_').len());
    name
}

fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    hex(&hasher.finalize())
}

fn short(hash: &str) -> &str {
    hash.get(..6).unwrap_or(hash)
}

#[cfg(test)]
mod tests;
