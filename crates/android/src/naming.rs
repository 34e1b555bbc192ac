//! Names of providers, which prefix their tools on this phone: `name__tool`. Grants refer to names, so a name
//! stays with its app and signer, even while the app is uninstalled, and is never reused for another one.

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

/// The names that were given, as they are stored between starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderNames(BTreeMap<String, NameOwner>);

impl ProviderNames {
    /// Returns the name of an owner, if it has one.
    #[must_use]
    pub fn get(&self, owner: &NameOwner) -> Option<&str> {
        self.0.iter().find(|(_, known)| *known == owner).map(|(name, _)| name.as_str())
    }

    /// Gives a name to each owner without one. Returns true if any was given. The names depend on the owners
    /// and on earlier names, never on the order of the claims: if several apps request the same name, or it
    /// belongs to another one, each gets it with a hash of package and authority as a suffix. Among several
    /// authorities of one app, the only one that speaks CETP gets it without a suffix. Above
    /// [`MAX_REMEMBERED`] no names are given, nor to apps with an unknown signer: another signer could take
    /// over such a name.
    pub fn assign(&mut self, claims: &[NameClaim]) -> bool {
        let known: BTreeSet<NameOwner> = self.0.values().cloned().collect();
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
        let heirs: BTreeSet<&NameOwner> =
            wanting.values().filter_map(|wanting| unmarked_owner(wanting)).collect();
        let mut changed = false;
        for (owner, (plain, _)) in &new {
            if self.0.len() >= MAX_REMEMBERED {
                break;
            }
            let name = if heirs.contains(*owner) && !self.0.contains_key(plain) {
                plain.clone()
            } else {
                self.name_with_hash(plain, owner)
            };
            self.0.insert(name, (*owner).clone());
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

/// Returns the owner that gets the name without a suffix, if any.
fn unmarked_owner<'a>(wanting: &[(&'a NameOwner, bool)]) -> Option<&'a NameOwner> {
    if let [(only, _)] = wanting {
        return Some(*only);
    }
    let (first, _) = wanting.first()?;
    let one_app = wanting
        .iter()
        .all(|(owner, _)| owner.package == first.package && owner.certificate == first.certificate);
    let mut of_cetp = wanting.iter().filter(|(_, is_cetp)| *is_cetp);
    match (one_app, of_cetp.next(), of_cetp.next()) {
        (true, Some((owner, _)), None) => Some(*owner),
        _ => None,
    }
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
