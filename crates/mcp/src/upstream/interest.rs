//! The clients' interest in a server: watched resources, and the lowest wanted log level. Several clients with the
//! same interest count as one.

use std::collections::BTreeMap;

use rmcp::model::LoggingLevel;

/// Maximum number of watched resources of one server.
pub(super) const MAX_WATCHED: usize = 1000;

/// The interest, with the number of clients.
#[derive(Debug, Default)]
pub(super) struct UpstreamInterest {
    resources: BTreeMap<String, usize>,
    level_counts: [usize; LEVELS.len()],
}

/// All levels, lowest first.
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
    /// Adds a watch of a resource. Returns true if it is the first one, `None` if there are too many.
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

    /// Removes a watch of a resource. Returns true if it was the last one.
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

    /// Returns true if a client watches this resource.
    pub(super) fn is_watched(&self, uri: &str) -> bool {
        self.resources.contains_key(uri)
    }

    /// All watched resources.
    pub(super) fn watched_resources(&self) -> Vec<String> {
        self.resources.keys().cloned().collect()
    }

    /// Adds a request for log messages of this level and above.
    pub(super) fn add_level(&mut self, level: LoggingLevel) {
        self.change_count(level, |count| *count += 1);
    }

    /// Removes such a request.
    pub(super) fn remove_level(&mut self, level: LoggingLevel) {
        self.change_count(level, |count| *count = count.saturating_sub(1));
    }

    /// The lowest requested level.
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
