//! What clients want to hear from a server: which resources they watch and from which level on they want its log.
//! Several who want the same are one to the server.

use std::collections::BTreeMap;

use rmcp::model::LoggingLevel;

/// Most resources of one server that are watched at a time.
pub(super) const MAX_WATCHED: usize = 1000;

/// What is wanted, and how often.
#[derive(Debug, Default)]
pub(super) struct UpstreamInterest {
    resources: BTreeMap<String, usize>,
    level_counts: [usize; LEVELS.len()],
}

/// The lowest first.
const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

impl UpstreamInterest {
    /// One more watches a resource: true where nobody did. None where too many are watched.
    pub(super) fn watch(&mut self, uri: &str) -> Option<bool> {
        if let Some(count) = self.resources.get_mut(uri) {
            *count += 1;
            return Some(false);
        }
        if self.resources.len() == MAX_WATCHED {
            return None;
        }
        self.resources.insert(uri.to_owned(), 1);
        Some(true)
    }

    /// One less does: true where nobody does any more.
    pub(super) fn unwatch(&mut self, uri: &str) -> bool {
        match self.resources.get_mut(uri) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            Some(_) => self.resources.remove(uri).is_some(),
            None => false,
        }
    }

    /// All that are watched.
    pub(super) fn watched_resources(&self) -> Vec<String> {
        self.resources.keys().cloned().collect()
    }

    /// One more wants the log from this level on.
    pub(super) fn add_level(&mut self, level: LoggingLevel) {
        self.change_count(level, |count| *count += 1);
    }

    /// One less does.
    pub(super) fn remove_level(&mut self, level: LoggingLevel) {
        self.change_count(level, |count| *count = count.saturating_sub(1));
    }

    /// The lowest level that anybody wants.
    pub(super) fn lowest_level(&self) -> Option<LoggingLevel> {
        let mut levels = LEVELS.iter().zip(self.level_counts);
        levels.find(|(_, count)| *count > 0).map(|(level, _)| *level)
    }

    fn change_count(&mut self, level: LoggingLevel, change: impl FnOnce(&mut usize)) {
        let at = LEVELS.iter().position(|one| *one == level);
        if let Some(count) = at.and_then(|at| self.level_counts.get_mut(at)) {
            change(count);
        }
    }
}

#[cfg(test)]
mod tests;
