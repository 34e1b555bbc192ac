//! The names under which the secrets of an imported file are stored.

use std::collections::{BTreeMap, BTreeSet};

use toolway_types::Slug;

/// Maximum length of a secret's name, in bytes.
const MAX_SECRET_NAME: usize = 64;

/// The names that are used in one file.
#[derive(Debug, Default)]
pub(super) struct SecretNames {
    used: BTreeSet<String>,
    /// The last number of each name that was used several times.
    numbers: BTreeMap<String, usize>,
}

impl SecretNames {
    /// Returns an unused name for the secret in this field of a server. Different fields can have the same one: those of
    /// long names, `a.key` and `a-key`, or `b-key` of the server `a` and `key` of the server `a-b`.
    pub(super) fn add(&mut self, slug: &Slug, field: &str) -> String {
        let first = secret_name(slug, field);
        if self.used.insert(first.clone()) {
            return first;
        }
        let number = self.numbers.entry(first.clone()).or_insert(1);
        loop {
            *number += 1;
            let suffix = format!("-{number}");
            let start = first.get(..MAX_SECRET_NAME.saturating_sub(suffix.len())).unwrap_or(&first);
            let name = format!("{start}{suffix}");
            if self.used.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The name of a server's secret: `mcp-SERVER-FIELD`.
#[must_use]
pub fn secret_name(slug: &Slug, field: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = format!("mcp-{slug}-{field}").chars().map(plain).collect();
    name.get(..MAX_SECRET_NAME).unwrap_or(&name).to_owned()
}
