//! The folder of an agent: the shared one, or one of its own.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use toolway_types::text::hex;

/// Name of the folder that agents and calls outside an agent share.
const SHARED: &str = "shared";
/// Stands for all agents.
const ALL: &str = "*";
/// Longest name that is used as it is.
const MAX_PLAIN: usize = 64;
/// Maximum length of the readable part of a changed name.
const MAX_STEM: usize = 32;

/// The agents that have a folder of their own. All others share one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFolders {
    agents: HashSet<String>,
}

impl AgentFolders {
    /// Creates the set of agents; `*` stands for all of them.
    #[must_use]
    pub fn new<A: Into<String>>(agents: impl IntoIterator<Item = A>) -> Self {
        Self { agents: agents.into_iter().map(Into::into).collect() }
    }

    /// True if an agent has a folder of its own.
    #[must_use]
    pub fn includes(&self, agent: &str) -> bool {
        self.agents.contains(ALL) || self.agents.contains(agent)
    }

    /// Returns the name of an agent's folder under `files`.
    pub(super) fn folder_of(&self, agent: Option<&str>) -> String {
        folder_name(agent.filter(|agent| self.includes(agent)))
    }
}

/// Returns the name of an agent's own folder under `files`; `shared` if there is no agent. No two agents have the same.
/// A name is never a path or hidden, and is different on file systems that ignore case.
///
/// Names of `a-z`, `0-9`, `-` and `_` stay unchanged. Others are converted to lower case, lose all other characters,
/// and get `~` and a hash.
#[must_use]
pub fn folder_name(agent: Option<&str>) -> String {
    let Some(agent) = agent else { return SHARED.to_owned() };
    let usable = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let plain = (1..=MAX_PLAIN).contains(&agent.len())
        && agent.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && agent.chars().all(usable)
        && agent != SHARED
        && !is_a_device_of_windows(agent);
    if plain {
        return agent.to_owned();
    }
    let stem = agent.chars().map(|c| c.to_ascii_lowercase()).filter(|c| usable(*c)).take(MAX_STEM);
    let mut name: String = stem.collect();
    name.push('~');
    let mut hash = hex(&Sha256::digest(agent.as_bytes()));
    hash.truncate(32);
    name + &hash
}

/// Returns true for names that Windows reserves for devices.
fn is_a_device_of_windows(name: &str) -> bool {
    let numbered = |device: &str| name.strip_prefix(device).is_some_and(|rest| rest.len() == 1);
    matches!(name, "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

#[cfg(test)]
mod tests;
