//! What a provider's tools are called on this phone: `name__tool`. Grants hang on names, so one that was given
//! stays with its app and with whoever signed it, also while the app is away, and no other ever gets it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Longest name, in characters, before a mark that tells it from another.
const MAX_NAME_LENGTH: usize = 32;
/// Most names that are remembered, of apps that are gone as well.
pub const MAX_REMEMBERED: usize = 4_096;
/// What stands in for a label and a package of which nothing can be used.
const DEFAULT_NAME: &str = "app";

/// Who a name belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NameOwner {
    /// The app.
    pub package: String,
    /// The authority; an app may have several.
    pub authority: String,
    /// Who signed the app; nothing where the host can't tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
}

/// Somebody who wants a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameClaim {
    /// Who.
    pub owner: NameOwner,
    /// The app's label, from which the name is made.
    pub label: Option<String>,
    /// Whether it speaks CETP. Of an app that offers its tools in several dialects this is the one that goes by the plain
    /// name.
    pub is_cetp: bool,
}

/// The names that were given, as they are kept from one start to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderNames(BTreeMap<String, NameOwner>);

impl ProviderNames {
    /// The name of an owner who has one.
    #[must_use]
    pub fn get(&self, owner: &NameOwner) -> Option<&str> {
        self.0.iter().find(|(_, known)| *known == owner).map(|(name, _)| name.as_str())
    }

    /// Gives a name to each of those who have none; whether any was given. It depends on who they are and on what was
    /// given before, never on their order: where several apps want the same, or where it is another's, all of them get
    /// it with a mark made from package and authority. Where it is several authorities of one app, the only one of them
    /// that speaks CETP gets it as it is. Those beyond [`REMEMBERED`] get none, nor does
    /// one of whom it is not known who signed it: its name could pass to another signer.
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

    /// The name with a mark, longer where that one is taken: by an earlier certificate of the same app, say.
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

/// Who of those that want the same name gets it without a mark, if anybody does.
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

/// The name that an app would have if it were alone: from its label, else from its package's last part.
#[must_use]
pub fn plain(label: Option<&str>, package: &str) -> String {
    let last = package.rsplit('.').next().unwrap_or_default();
    [label.unwrap_or_default(), last]
        .iter()
        .map(|text| normalize(text))
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| DEFAULT_NAME.to_owned())
}

/// Lower case, `_` for each run of other characters than `a-z0-9`, none at either end.
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
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn short(hash: &str) -> &str {
    hash.get(..6).unwrap_or(hash)
}

#[cfg(test)]
mod tests;
