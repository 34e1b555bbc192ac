//! Prefixes of tools on this phone. A provider's tools have the prefix of its name, or of the name that it shares
//! with another provider of its app. A tool that several providers with one prefix have keeps it only once.

use std::collections::{BTreeSet, HashMap};

use crate::naming::ProviderNames;
use crate::provider::ToolProvider;

/// Sets the prefixes of these providers, which must contain all providers of each package. Of several tools with
/// the same name, the one of the shared name's owner keeps it or, without one, that of the first authority in
/// alphabetical order. The others get their provider's own name as prefix.
pub fn set_prefixes(names: &ProviderNames, providers: &mut [ToolProvider]) {
    let mut sorted: Vec<(bool, &mut ToolProvider)> =
        providers.iter_mut().map(|provider| (names.shared(&provider.owner()).is_some(), provider)).collect();
    sorted
        .sort_by(|(shares, a), (other_shares, b)| (shares, &a.authority).cmp(&(other_shares, &b.authority)));
    let mut taken: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for (_, provider) in sorted {
        provider.tool_prefixes.clear();
        let owner = provider.owner();
        let Some(own) = names.get(&owner) else {
            provider.prefix = None;
            continue;
        };
        let prefix = names.shared(&owner).unwrap_or(own);
        provider.prefix = Some(prefix.to_owned());
        let taken = taken.entry(prefix).or_default();
        for tool in &provider.tools {
            if !taken.insert(tool.name.clone()) {
                provider.tool_prefixes.insert(tool.name.clone(), own.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests;
